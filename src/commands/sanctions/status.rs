//! `cairn sanctions status`.

use std::collections::BTreeMap;

use cairn_domain::sanctions::Approval;
use cairn_model::date_of;
use cairn_state::{Approvals, SeenRow};
use serde::Serialize;

use super::{
    super::db,
    feed::{Feed, IMPORT, party_of},
};
use crate::{
    cli::{SanctionRows, SanctionsStatus},
    exit::{Exit, Failure},
    out::{harmless, print, table, thousands, time},
    with_state::with_state,
};

/// The status, as `--json` prints it.
#[derive(Serialize)]
struct Status {
    list: String,
    four_eyes: bool,
    /// Null if there is no feed.
    feed: Option<FeedStatus>,
    /// Number of approvals that are not withdrawn, by approver.
    approvers: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<RowStatus>>,
}

#[derive(Serialize)]
struct FeedStatus {
    date: String,
    sha256: String,
    retrieved_at: String,
    checked_at: String,
    /// True if the feed was last checked more than 48 hours ago.
    stale: bool,
    listed: u64,
    approved: u64,
    pending: u64,
    pending_second_approval: u64,
    pending_party_changed: u64,
    /// Number of approved addresses that the feed no longer has.
    removed: u64,
    /// Null if unknown, because this database has no record of the import.
    invalid: Option<u64>,
    listed_under_other_asset: Option<u64>,
}

#[derive(Serialize)]
struct RowStatus {
    address: String,
    party_uid: Option<String>,
    party_name: Option<String>,
    state: &'static str,
    approvers: Vec<String>,
}

pub(super) fn status(args: &SanctionsStatus) -> Result<Exit, Failure> {
    let reader = db::open(args.index.datadir()?)?;
    let (feed, approvals) = with_state(&args.state.url(&args.index)?, async |state| {
        Ok::<_, Failure>((Feed::find(&reader, state, &args.sanctions).await?, state.approvals().await?))
    })?;
    let list = args.sanctions.name();
    let status = Status {
        approvers: approvers(&approvals, &list),
        list,
        four_eyes: args.sanctions.sanctions_four_eyes,
        rows: args.rows.zip(feed.as_ref()).map(|(which, feed)| rows(feed, which)),
        feed: feed.as_ref().map(FeedStatus::of),
    };
    if args.json {
        let line = serde_json::to_string(&status).map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
        print(&(line + "\n"))?;
    } else {
        print(&told(&status))?;
    }
    Ok(Exit::Done)
}

impl FeedStatus {
    fn of(feed: &Feed) -> Self {
        let (coverage, check) = (&feed.coverage, feed.check);
        FeedStatus {
            date: date_of(feed.retrieved_at),
            sha256: feed.hash.to_string(),
            retrieved_at: time(feed.retrieved_at.into()),
            checked_at: time(feed.checked_at.into()),
            stale: feed.is_stale(),
            listed: coverage.listed,
            approved: coverage.approved,
            pending: coverage.pending,
            pending_second_approval: coverage.awaiting_second,
            pending_party_changed: coverage.party_changed,
            removed: feed.removed.len() as u64,
            invalid: check.and_then(|check| check.invalid),
            listed_under_other_asset: check.and_then(|check| check.listed_under_other_asset),
        }
    }
}

fn approvers(approvals: &Approvals, list: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for approval in approvals.rows(list).flat_map(|of| &of.approvals) {
        *counts.entry(approval.approver.clone()).or_default() += 1;
    }
    counts
}

fn rows(feed: &Feed, which: SanctionRows) -> Vec<RowStatus> {
    let row = |seen: &SeenRow, state, approvers: Vec<String>| {
        let text = |text: &str| Some(harmless(text)).filter(|text| !text.is_empty());
        let (party_uid, party_name) = (text(&seen.party_uid), text(&seen.party_name));
        RowStatus { address: seen.address.clone(), party_uid, party_name, state, approvers }
    };
    if which == SanctionRows::Removed {
        let names = |of: &cairn_state::ApprovedRow| of.approvals.iter().map(|of| of.approver.clone()).collect();
        return feed.removed.iter().map(|of| row(&of.row, "removed", names(of))).collect();
    }
    let wanted =
        feed.rows.iter().filter(|row| (row.approval == Approval::Approved) == (which == SanctionRows::Approved));
    let word = |approval| match approval {
        Approval::Approved => "approved",
        Approval::AwaitsSecond => "pending_second_approval",
        Approval::Pending => "pending",
        Approval::PartyChanged => "pending_party_changed",
    };
    wanted.map(|of| row(&of.seen, word(of.approval), of.approvers.clone())).collect()
}

/// Formats the status for people.
fn told(status: &Status) -> String {
    let mut text = match &status.feed {
        None => format!("no current feed: no complete document of {}\n  {IMPORT}\n", status.list),
        Some(feed) => feed_told(&status.list, feed),
    };
    let needed = if status.four_eyes { "two operators must approve a row" } else { "one approval is enough" };
    text += &format!("approvals: {needed}\n");
    for (name, count) in &status.approvers {
        text += &format!("  {} by {name}\n", thousands(*count));
    }
    if let Some(rows) = &status.rows {
        let cells = |of: &RowStatus| {
            let [party_uid, party_name] = [&of.party_uid, &of.party_name].map(|text| text.clone().unwrap_or_default());
            let seen = SeenRow { script: [0; 32], address: String::new(), party_uid, party_name };
            vec![of.address.clone(), of.state.to_owned(), party_of(&seen), of.approvers.join(", ")]
        };
        text += &table(&["address", "state", "party", "approved by"], &rows.iter().map(cells).collect::<Vec<_>>());
    }
    text
}

fn feed_told(list: &str, feed: &FeedStatus) -> String {
    let or_unknown = |count: Option<u64>| count.map_or("unknown".to_owned(), thousands);
    let stale = if feed.stale { "; stale: import the list again" } else { "" };
    let counts = [
        ("listed", thousands(feed.listed)),
        ("approved", thousands(feed.approved)),
        ("pending", thousands(feed.pending)),
        ("  await a second approval", thousands(feed.pending_second_approval)),
        ("  approved under another party", thousands(feed.pending_party_changed)),
        ("removed", thousands(feed.removed)),
        ("invalid", or_unknown(feed.invalid)),
        ("listed under another asset", or_unknown(feed.listed_under_other_asset)),
    ];
    let head = format!(
        "feed: {list} of {}, retrieved at {}, checked at {}{stale}\n  SHA-256 {}\n",
        feed.date, feed.retrieved_at, feed.checked_at, feed.sha256
    );
    counts.into_iter().fold(head, |text, (name, count)| text + &format!("  {name}: {count}\n"))
}
