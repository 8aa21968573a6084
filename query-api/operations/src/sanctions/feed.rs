//! The current feed, and what is approved of it.

use std::sync::Arc;

use crate::operation::prelude::*;
use cairn_domain::{
    claims::{ClaimCaveat, FEED_STALE_AFTER, authority},
    sanctions::{Approval, Party, party},
    script_sha256,
};
use cairn_events::Claim;
use cairn_model::date_of;
use cairn_reader::ClaimDocument;
use cairn_state::{self as state, Approvals, FeedCheck};
use cairn_tables::{claims::ListKey, events::Documents};

/// The current feed: the newest complete document of the list that is configured.
pub(super) struct CurrentFeed<'a> {
    view: &'a View<'a>,
    pub(super) list: ListKey,
    /// `source/name`, as approvals name the list.
    name: String,
    document: ClaimDocument,
    rows: u32,
    pub(super) check: Option<FeedCheck>,
    /// When it was last known to be the publisher's list, in seconds since 1970.
    checked_at: u32,
    pub(super) approvals: Arc<Approvals>,
    pub(super) four_eyes: bool,
    now: u32,
}

/// The document that answers are based on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SanctionsFeed")]
pub(crate) struct Feed {
    /// Authority that publishes the list.
    authority: String,
    /// Source under which the document was imported.
    source: String,
    list: String,
    /// Day (UTC) on which the document was retrieved: the date of the snapshot.
    date: String,
    retrieved_at: String,
    /// Time at which the document was last known to be current: its last import, or the last answer of the publisher's
    /// server that it was unchanged.
    checked_at: String,
    /// True if `checked_at` is more than 48 hours ago.
    stale: bool,
    /// Whole hours since `checked_at`.
    age_hours: u32,
    /// Date given in the document; null if unknown.
    issued_on: Option<String>,
    /// SHA-256 of the document.
    sha256: String,
    /// Number of valid rows in the document.
    rows: u32,
}

const NOT_CONFIGURED: &str = "no list is configured as the feed";
const NOT_IMPORTED: &str = "source not re-fetched: the list was not imported, and copies of unknown date do not count";

impl<'a> CurrentFeed<'a> {
    /// The feed; without one, why. Seven row reads, and two queries of the service state.
    pub(super) fn find(ctx: &Ctx<'a>) -> Result<Result<Self, &'static str>, ApiError> {
        let view = ctx.view()?;
        let config = &ctx.chain.sanctions;
        let Some(list) = config.list.clone() else { return Ok(Err(NOT_CONFIGURED)) };
        let Some((version, size)) = view.claims().newest_complete(&list)? else { return Ok(Err(NOT_IMPORTED)) };
        let document = view.claims().document(&version)?;
        let document = document.ok_or_else(|| lacks::<Documents>("the document of a list of sanctions".to_owned()))?;
        let (name, hash) = (format!("{}/{}", list.source, list.list), document.provenance.document.0);
        let (approvals, check) =
            ctx.with_state(async |state| Ok((state.approvals().await?, state.feed_check(&name, &hash).await?)))?;
        let checked = check.map_or(0, |check| u32::try_from(check.checked_at).unwrap_or(u32::MAX));
        let checked_at = checked.max(document.provenance.retrieved_at);
        let (rows, four_eyes, now) = (size.claims, config.four_eyes, ctx.now());
        Ok(Ok(CurrentFeed { view, list, name, document, rows, check, checked_at, approvals, four_eyes, now }))
    }

    /// Seconds since it was checked.
    fn age(&self) -> u32 {
        self.now.saturating_sub(self.checked_at)
    }

    /// SHA-256 of the document.
    pub(super) fn sha256(&self) -> &[u8; 32] {
        &self.document.provenance.document.0
    }

    /// When the document was retrieved, in seconds since 1970.
    pub(super) fn retrieved_at(&self) -> u32 {
        self.document.provenance.retrieved_at
    }

    pub(super) fn authority(&self) -> &str {
        authority(self.list.source.as_str(), None)
    }

    /// The document, as answers have it.
    pub(super) fn told(&self) -> Feed {
        let issued = self.check.and_then(|check| u32::try_from(check.issued_at?).ok());
        Feed {
            authority: self.authority().to_owned(),
            source: self.list.source.to_string(),
            list: self.list.list.to_string(),
            date: date_of(self.retrieved_at()),
            retrieved_at: rfc3339(self.retrieved_at()),
            checked_at: rfc3339(self.checked_at),
            stale: self.age() > FEED_STALE_AFTER,
            age_hours: self.age() / 3_600,
            issued_on: issued.map(date_of),
            sha256: self.document.provenance.document.to_string(),
            rows: self.rows,
        }
    }

    pub(super) fn caveats(&self) -> Vec<ClaimCaveat<'static>> {
        let stale = (self.age() > FEED_STALE_AFTER).then_some(ClaimCaveat::FeedStale { checked_at: self.checked_at });
        stale.into_iter().chain([ClaimCaveat::ListNotExhaustive]).collect()
    }

    /// Rows from a place on, as many as stand together; none at the end. Two row reads.
    pub(super) fn rows_from(&self, place: u64) -> Result<Vec<Claim>, ApiError> {
        Ok(self.view.claims().of_document(&self.document, place)?)
    }

    /// A row's party, its approvals, and whether they suffice.
    pub(super) fn judged<'r>(&'r self, claim: &'r Claim) -> ReviewedRow<'r> {
        let (script, party) = (script_sha256(&claim.script), party(claim));
        let of_script = self.approvals.of_script(&self.name, &script);
        let given = self.approvals.of_party(&self.name, &script, party.uid, party.name);
        let approval = Approval::of(given.len(), !of_script.is_empty(), self.four_eyes);
        ReviewedRow { script, party, given, approval }
    }

    /// The approved rows of any document, by script: those that the feed has no longer among them.
    pub(super) fn approved_scripts(&self) -> impl Iterator<Item = &[u8; 32]> {
        let needed = Approval::needed(self.four_eyes);
        self.approvals.rows(&self.name).filter(move |of| of.approvals.len() >= needed).map(|of| &of.row.script)
    }
}

/// A row of the feed with what operators decided.
pub(super) struct ReviewedRow<'r> {
    /// SHA-256 of the script.
    pub(super) script: [u8; 32],
    pub(super) party: Party<'r>,
    /// The approvals, the oldest first.
    pub(super) given: &'r [state::Approval],
    pub(super) approval: Approval,
}
