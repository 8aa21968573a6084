//! The current feed, with the operators' decisions about its rows.

use std::{collections::BTreeSet, sync::Arc};

use cairn_domain::{
    address_of,
    claims::FEED_STALE_AFTER,
    sanctions::{Approval, Coverage, party},
    script_sha256,
};
use cairn_events::{Claim, DocumentHash};
use cairn_model::Network;
use cairn_reader::{Reader, View};
use cairn_state::{Approvals, ApprovedRow, FeedCheck, SeenRow, State};

use crate::{
    commands::operator::now,
    config::Sanctions,
    exit::{Exit, Failure},
    out::harmless,
};

/// Maximum number of rows that a command reads.
const MAX_ROWS: usize = 250_000;

pub(super) struct Row {
    pub(super) seen: SeenRow,
    pub(super) approval: Approval,
    /// The operators who approved the row, oldest approval first.
    pub(super) approvers: Vec<String>,
}

pub(super) struct Feed {
    /// `source/name`.
    pub(super) list: String,
    pub(super) hash: DocumentHash,
    pub(super) retrieved_at: u32,
    pub(super) checked_at: u32,
    pub(super) check: Option<FeedCheck>,
    pub(super) rows: Vec<Row>,
    pub(super) coverage: Coverage,
    /// Approved addresses that the feed no longer has.
    pub(super) removed: Vec<ApprovedRow>,
    pub(super) approvals: Arc<Approvals>,
}

/// Next step if there is no feed.
pub(super) const IMPORT: &str = "`cairn sanctions import` brings one: download https://www.treasury.gov/ofac/downloads/sanctions/1.0/\
    sdn_advanced.xml, or give its URL";

impl Feed {
    /// Reads the newest complete document of the list; `None` if there is none.
    pub(super) async fn find(reader: &Reader, state: &State, of: &Sanctions) -> Result<Option<Self>, Failure> {
        let (view, list) = (reader.view()?, of.name());
        let Some((version, _)) = view.claims().newest_complete(&of.sanctions_feed.0)? else { return Ok(None) };
        let missing = || Failure::new(Exit::Index, "the ledger lacks a document").hint("run `cairn repair`");
        let document = view.claims().document(&version)?.ok_or_else(missing)?;
        let (hash, retrieved_at) = (document.provenance.document, document.provenance.retrieved_at);
        let (approvals, check) = (state.approvals().await?, state.feed_check(&list, &hash.0).await?);
        let checked_at = check.map_or(0, |check| u32::try_from(check.checked_at).unwrap_or(u32::MAX)).max(retrieved_at);
        let (rows, coverage) = (Vec::new(), Coverage::default());
        let mut feed =
            Feed { list, hash, retrieved_at, checked_at, check, rows, coverage, removed: Vec::new(), approvals };
        loop {
            let claims = view.claims().of_document(&document, feed.rows.len() as u64)?;
            if claims.is_empty() {
                break;
            }
            claims.iter().for_each(|claim| feed.add(claim, &view, of.sanctions_four_eyes));
            if feed.rows.len() > MAX_ROWS {
                return Err(Failure::new(Exit::Other, format!("the feed has more than {MAX_ROWS} rows")));
            }
        }
        let scripts: BTreeSet<[u8; 32]> = feed.rows.iter().map(|row| row.seen.script).collect();
        let needed = Approval::needed(of.sanctions_four_eyes);
        let is_removed = |of: &&ApprovedRow| of.approvals.len() >= needed && !scripts.contains(&of.row.script);
        feed.removed = feed.approvals.rows(&feed.list).filter(is_removed).cloned().collect();
        Ok(Some(feed))
    }

    fn add(&mut self, claim: &Claim, view: &View<'_>, four_eyes: bool) {
        let seen = seen(claim, view.network());
        let given = self.approvals.of_party(&self.list, &seen.script, &seen.party_uid, &seen.party_name);
        let under_another = !self.approvals.of_script(&self.list, &seen.script).is_empty();
        let approval = Approval::of(given.len(), under_another, four_eyes);
        let approvers = given.iter().map(|of| of.approver.clone()).collect();
        self.coverage.add(claim, approval);
        self.rows.push(Row { seen, approval, approvers });
    }

    /// True if the feed was last checked more than `FEED_STALE_AFTER` seconds ago.
    pub(super) fn is_stale(&self) -> bool {
        now().saturating_sub(self.checked_at) > FEED_STALE_AFTER
    }
}

/// Returns a row as an approver sees it.
fn seen(claim: &Claim, network: Network) -> SeenRow {
    let (script, party) = (script_sha256(&claim.script), party(claim));
    let address = address_of(&claim.script, network).unwrap_or_else(|| format!("scripthash:{}", hex::encode(script)));
    SeenRow { script, address, party_uid: party.uid.to_owned(), party_name: party.name.to_owned() }
}

/// Formats the party of a row for people.
pub(super) fn party_of(row: &SeenRow) -> String {
    let name = harmless(&row.party_name);
    match (name.as_str(), row.party_uid.as_str()) {
        ("", "") => "(no party named)".to_owned(),
        ("", uid) => format!("(uid {uid})"),
        (name, "") => name.to_owned(),
        (name, uid) => format!("{name} (uid {uid})"),
    }
}
