//! What is said of a script, for the operations that judge it.

use cairn_domain::claims::{At, Facts, Stated};
use cairn_events::DocumentHash;
use cairn_http::ApiError;
use cairn_model::Height;
use cairn_reader::{ClaimDocument, ListClaims, View};
use cairn_tables::{events::Documents, headers::Headers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Wallet;
use crate::{
    context::{Ctx, lacks},
    parameters::identifier::AddressParam,
    values::rfc3339,
};

/// Why inherited claims are missing.
const NOT_INHERITED: &str = "claims of other scripts of the cluster are not looked up yet";

/// The claims of a script, with their documents.
pub(super) struct Said {
    pub(super) wallet: Wallet,
    lists: Vec<(ListClaims, ClaimDocument)>,
    /// True if there are more claims than were read.
    pub(super) is_cut: bool,
    pub(super) facts: Facts,
    as_of: Option<Height>,
}

/// Parameters of these operations.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ClaimsInput {
    pub(super) address: AddressParam,
    /// Height of a block: what had been asserted by its time (monotone block time), by documents that are known today.
    /// Default: now.
    #[schemars(example = 100)]
    pub(super) as_of: Option<Height>,
    /// `compact` omits explanatory and nested fields.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: cairn_http::Detail,
}

/// What an answer about claims is based on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Examined {
    /// True if labels are loaded: otherwise nothing was examined.
    labels_loaded: bool,
    /// Height of the block that was asked for; null for now.
    as_of_height: Option<Height>,
    /// The time that the answer is for. Now is the end of the present day (UTC), so that an answer does not change with every
    /// second.
    as_of: String,
    /// Sequence number of the newest input event that the index has taken.
    seq: u64,
    /// Lists that say something of the script, or did.
    lists: usize,
    /// True if there are more claims than were read: 64 lists, and 64 claims of each, are read at most.
    truncated: bool,
    /// Claims of other scripts of the same cluster: null, and why.
    inherited_claims: Option<usize>,
    inherited_claims_reason: &'static str,
}

impl Said {
    /// Looks up what is said of an address. Two row reads for the script, some four for each list that says something, three
    /// for its document.
    pub(super) fn find(ctx: &Ctx<'_>, address: AddressParam, as_of: Option<Height>) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let wallet = Wallet::find(view, None, address)?;
        let height = as_of.map(|height| ctx.as_of(Some(height))).transpose()?;
        let time = height.map(|height| time_of(view, height)).transpose()?;
        let found = view.claims_of_hash(&wallet.script_hash, time)?;
        let mut lists = Vec::with_capacity(found.lists.len());
        for of in found.lists {
            ctx.work.poll()?;
            let document = view.claim_document(&of.version)?;
            lists.push((of, document.ok_or_else(|| lacks::<Documents>("the document of a claim".to_owned()))?));
        }
        let first = wallet.found.as_ref().map(|found| found.totals.first.tx_num);
        let seen =
            |height: Height| view.chain().get(height.saturating_add(1)).map_or(view.tip().tx_end, |b| b.first_tx);
        let facts = Facts {
            at: At::time(time.unwrap_or_else(|| end_of_day(ctx.now()))),
            has_history: first.is_some_and(|first| height.is_none_or(|height| first < seen(height))),
            examined: !lists.is_empty() || view.has_claims()?,
            has_signals: false,
            has_indirect_exposure: false,
            feed_checked_at: None,
        };
        Ok(Said { wallet, lists, is_cut: found.is_cut, facts, as_of: height })
    }

    /// The claims, as they are judged.
    pub(super) fn stated(&self) -> Vec<Stated<'_>> {
        let mut all = Vec::with_capacity(self.lists.iter().map(|(of, _)| of.claims.len()).sum());
        for (of, document) in &self.lists {
            let provenance = &document.provenance;
            all.extend(of.claims.iter().map(|claim| Stated {
                claim,
                source: &provenance.source,
                licence: &provenance.licence,
                document: &provenance.document,
                retrieved_at: provenance.retrieved_at,
                ended_at: of.ended_at,
                is_contested: of.is_contested(claim),
                inherited: false,
            }));
        }
        all
    }

    /// The list of a document.
    pub(super) fn list_of(&self, document: &DocumentHash) -> Option<&ListClaims> {
        self.lists.iter().find(|(_, of)| of.provenance.document == *document).map(|(of, _)| of)
    }

    /// What the answer is based on.
    pub(super) fn examined(&self, view: &View<'_>) -> Examined {
        Examined {
            labels_loaded: self.facts.examined,
            as_of_height: self.as_of,
            as_of: rfc3339(self.facts.at.time),
            seq: view.tip().seq,
            lists: self.lists.len(),
            truncated: self.is_cut,
            inherited_claims: None,
            inherited_claims_reason: NOT_INHERITED,
        }
    }
}

/// The monotone time of a block.
fn time_of(view: &View<'_>, height: Height) -> Result<u32, ApiError> {
    let found = view.chain().get(height).map(|brief| brief.mono_time);
    Ok(found.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?)
}

/// The last second of a day (UTC).
fn end_of_day(now: u32) -> u32 {
    (now / 86_400).saturating_mul(86_400).saturating_add(86_399)
}
