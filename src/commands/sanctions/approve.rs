//! `cairn sanctions approve`.

use std::collections::BTreeMap;

use cairn_clock::now_secs;
use cairn_domain::{Subject, parse_address, sanctions::Approval, script_sha256};
use cairn_model::Network;
use cairn_state::{SeenRow, State};

use super::{
    super::db,
    feed::{Feed, IMPORT, party_of},
};
use crate::{
    cli::{ApprovedDocument, SanctionsApprove},
    exit::{Exit, Failure},
    out::{print, thousands, time},
    with_state::with_state,
};

pub(super) fn approve(args: &SanctionsApprove) -> Result<Exit, Failure> {
    // Report a wrong folder before a database is created.
    let reader = db::open(args.index.datadir()?)?;
    let network = reader.facts().network;
    with_state(&args.state.url(&args.index)?, async |state| {
        if args.withdraw {
            withdraw(args, state, network).await?;
        } else if let Some(feed) = Feed::find(&reader, state, &args.sanctions).await? {
            give(args, state, &feed, network).await?;
        } else {
            let message = format!("there is no current feed: no complete document of {}", args.sanctions.name());
            return Err(Failure::new(Exit::Other, message).hint(IMPORT));
        }
        Ok(Exit::Done)
    })
}

/// Returns the SHA-256 of an address's script.
fn script_of(address: &str, network: Network) -> Result<[u8; 32], Failure> {
    match parse_address(address, Some(network)).map_err(|error| Failure::usage(format!("{address}: {error}")))? {
        Subject::Script(script) => Ok(script_sha256(&script)),
        Subject::ScriptHash(hash) => Ok(hash),
    }
}

async fn give(args: &SanctionsApprove, state: &State, feed: &Feed, network: Network) -> Result<(), Failure> {
    if let ApprovedDocument::Document(hash) = args.feed
        && hash != feed.hash
    {
        let message = format!("the current feed is {}, not {hash}: nothing is approved", feed.hash);
        return Err(Failure::new(Exit::Other, message)
            .hint("check the rows with `cairn sanctions status --rows pending`, then approve the current feed"));
    }
    let rows: Vec<SeenRow> = match args.all {
        true => feed.rows.iter().map(|row| row.seen.clone()).collect(),
        false => chosen(args, feed, network)?,
    };
    let new = state.approve(&feed.list, &rows, &feed.hash.0, &args.approver, now_secs()).await?;
    let approvals = state.approvals().await?;
    let (mut text, mut given, mut counts) = (String::new(), 0u64, 0u64);
    for (row, is_new) in rows.iter().zip(&new) {
        let all = approvals.of_party(&feed.list, &row.script, &row.party_uid, &row.party_name).len();
        let needed = Approval::needed(args.sanctions.sanctions_four_eyes);
        given += u64::from(*is_new);
        counts += u64::from(all >= needed);
        if *is_new {
            let missing = if all < needed { ": another operator must approve it as well" } else { "" };
            text += &format!("approved {} {}{missing}\n", row.address, party_of(row));
        }
    }
    let (before, by) = (rows.len() as u64 - given, args.approver.as_str());
    text += &format!(
        "{} new approvals by {by}, {} were there before; {} of these {} rows count as approved\n",
        thousands(given),
        thousands(before),
        thousands(counts),
        thousands(rows.len() as u64)
    );
    text += &format!("feed {} of {}\n", feed.hash, time(feed.retrieved_at.into()));
    if feed.is_stale() {
        let checked = time(feed.checked_at.into());
        text += &format!("the feed is stale: it was last checked at {checked}; import the list again\n");
    }
    print(&text)
}

/// Returns the rows of the addresses on the command line. Fails if an address is invalid or not in the feed.
fn chosen(args: &SanctionsApprove, feed: &Feed, network: Network) -> Result<Vec<SeenRow>, Failure> {
    let mut by_script: BTreeMap<[u8; 32], Vec<&SeenRow>> = BTreeMap::new();
    feed.rows.iter().for_each(|row| by_script.entry(row.seen.script).or_default().push(&row.seen));
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for address in &args.addresses {
        // An address that is named twice counts once.
        match by_script.get(&script_of(address, network)?) {
            Some(found) => rows
                .extend(found.iter().filter(|row| !rows.contains(**row)).map(|row| (*row).clone()).collect::<Vec<_>>()),
            None => missing.push(address.as_str()),
        }
    }
    if missing.is_empty() {
        return Ok(rows);
    }
    let message = format!("the feed {} does not have {}: nothing is approved", feed.hash, missing.join(", "));
    Err(Failure::new(Exit::Other, message)
        .hint("`cairn sanctions status --rows pending` prints the rows that can be approved"))
}

async fn withdraw(args: &SanctionsApprove, state: &State, network: Network) -> Result<(), Failure> {
    let (list, approvals) = (args.sanctions.name(), state.approvals().await?);
    let mut scripts: BTreeMap<[u8; 32], String> = BTreeMap::new();
    if args.all {
        scripts.extend(approvals.rows(&list).map(|of| (of.row.script, of.row.address.clone())));
    }
    for address in &args.addresses {
        scripts.insert(script_of(address, network)?, address.clone());
    }
    let hashes: Vec<[u8; 32]> = scripts.keys().copied().collect();
    let withdrawn = state.withdraw_approvals(&list, &hashes, &args.approver, now_secs()).await?;
    let mut text = String::new();
    for (address, count) in scripts.values().zip(&withdrawn) {
        text += &match count {
            0 => format!("{address} has no approval\n"),
            1 => format!("withdrew the approval of {address}\n"),
            count => format!("withdrew {count} approvals of {address}\n"),
        };
    }
    let count: u64 = withdrawn.iter().sum();
    print(&(text + &format!("{} approvals withdrawn by {}\n", thousands(count), args.approver.as_str())))
}
