//! Claims about a script, for the operations that judge it.

use std::collections::{BTreeMap, HashMap};

use cairn_domain::{
    address_of,
    claims::{At, Facts, Stated, is_heritable},
};
use cairn_events::Claim;
use cairn_model::{day_of, last_second};
use cairn_reader::{ClaimDocument, ClaimedScripts, ListClaims, ReadError, ScriptClaims as FoundClaims};
use cairn_tables::{claims::ListVersion, events::Documents, headers::Headers};

use super::Wallet;
use crate::{operation::prelude::*, parameters::identifier::AddressParam};

/// Most other scripts of the cluster whose claims are read.
const MAX_INHERITED: usize = 16;

/// Most scripts whose claims are kept for other addresses of a batch.
const MAX_CACHED: usize = 20_000;

/// Why inherited claims are missing.
const UNFINISHED: &str = "the clusters are being computed";

/// Claims of a list about a script, or about another one of its cluster.
pub(crate) struct ListedClaims {
    pub(crate) of: ListClaims,
    pub(crate) document: ClaimDocument,
    /// True if it is about another script of the cluster.
    pub(crate) is_inherited: bool,
}

/// Claims that the addresses of a batch share: each document, each script and each part of a cluster is read once. All
/// that use it ask for the same time.
#[derive(Default)]
pub(crate) struct ClaimsCache {
    documents: BTreeMap<ListVersion, ClaimDocument>,
    scripts: HashMap<[u8; 32], FoundClaims>,
    /// The scripts with claims for others, by the part of the cluster.
    heirs: HashMap<(TxNum, bool), ClaimedScripts>,
}

/// The claims of a script and those that it inherits, with their documents.
pub(crate) struct ScriptClaims {
    pub(crate) wallet: Wallet,
    lists: Vec<ListedClaims>,
    /// True if there are more claims than were read.
    pub(crate) is_cut: bool,
    /// The scripts of the cluster with claims for the others; `None` while clusters are being made.
    cluster: Option<ClaimedScripts>,
    pub(crate) facts: Facts,
    as_of: Option<Height>,
}

/// Parameters of these operations.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ClaimsInput {
    pub(crate) address: AddressParam,
    /// Height of a block: only claims asserted by its time (monotone block time) count, from documents known today.
    /// Default: now.
    #[schemars(example = 100)]
    pub(crate) as_of: Option<Height>,
    /// `compact` omits explanatory and nested fields.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: cairn_http::Detail,
}

/// Basis of an answer about claims.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Examined")]
pub(crate) struct ClaimsBasis {
    /// True if labels are loaded; otherwise nothing was examined.
    labels_loaded: bool,
    /// Height of the requested block; null for now.
    as_of_height: Option<Height>,
    /// Time for which the claims count. Without `as_of`, it is the end of the current day (UTC), so that answers do not
    /// change every second.
    as_of: String,
    /// Sequence number of the newest input event that the index has applied.
    seq: u64,
    /// Number of lists that have or had a claim about the script.
    lists: usize,
    /// True if claims were left out. At most 64 lists with 64 claims each are read, for the script and for each of 16
    /// other scripts of its cluster.
    truncated: bool,
    /// Number of claims about other scripts of the same cluster that extend to this one; null while the clusters are
    /// being computed. Only scripts that are on a list today are read.
    inherited_claims: Option<usize>,
    inherited_claims_reason: Option<&'static str>,
    /// True if claims across a merge of two large clusters were left out: such a merge may be a mistake.
    suspect_merge: bool,
}

impl ScriptClaims {
    /// Looks up the claims about an address. Rows read: 2 for the script, about 4 for each list with a claim, 3 for
    /// the document of each, about 5 for the cluster; and again as many for each script from which it inherits claims.
    pub(crate) fn find(ctx: &Ctx<'_>, address: AddressParam, as_of: Option<Height>) -> Result<Self, ApiError> {
        ScriptClaims::find_shared(ctx, address, as_of, &mut ClaimsCache::default())
    }

    /// Like [`ScriptClaims::find`], for several addresses: what they have in common is read once.
    pub(crate) fn find_shared(
        ctx: &Ctx<'_>,
        address: AddressParam,
        as_of: Option<Height>,
        cache: &mut ClaimsCache,
    ) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let wallet = Wallet::find(view, None, address)?;
        let height = as_of.map(|height| ctx.as_of(Some(height))).transpose()?;
        let time = height.map(|height| time_of(view, height)).transpose()?;
        // An error ends the batch, so that a cache which it takes along is not missed.
        let mut reading =
            ClaimsReader { ctx, view, time, cache: std::mem::take(cache), lists: Vec::new(), is_cut: false };
        reading.read(&wallet.script_hash, false)?;
        let cluster = heirs(view, &wallet, ctx.as_of(height)?, &mut reading.cache)?;
        let others = || cluster.iter().flat_map(|of| &of.scripts).filter(|script| script.0 != wallet.script_hash);
        for script in others().take(MAX_INHERITED) {
            reading.read(&script.0, true)?;
        }
        let has_more = others().count() > MAX_INHERITED;
        let ClaimsReader { lists, is_cut, cache: read, .. } = reading;
        *cache = read;
        let first = wallet.found.as_ref().map(|found| found.totals.first.tx_num);
        let seen =
            |height: Height| view.chain().get(height.saturating_add(1)).map_or(view.tip().tx_end, |b| b.first_tx);
        let facts = Facts {
            at: At::time(time.unwrap_or_else(|| last_second(day_of(ctx.now())))),
            has_history: first.is_some_and(|first| height.is_none_or(|height| first < seen(height))),
            examined: !lists.is_empty() || view.claims().has_any()?,
            has_signals: false,
            has_indirect_exposure: false,
            feed_checked_at: None,
        };
        let is_cut = is_cut || has_more || cluster.as_ref().is_some_and(|of| of.is_cut);
        Ok(ScriptClaims { wallet, lists, is_cut, cluster, facts, as_of: height })
    }

    /// The claims, as they are judged.
    pub(crate) fn stated(&self) -> Vec<Stated<'_>> {
        stated(&self.lists)
    }

    /// The list of a claim of [`ScriptClaims::stated`].
    pub(crate) fn list_of(&self, claim: &Claim) -> Option<&ListedClaims> {
        self.lists.iter().find(|list| list.of.claims.iter().any(|of| std::ptr::eq(of, claim)))
    }

    pub(crate) fn examined(&self, view: &View<'_>) -> ClaimsBasis {
        ClaimsBasis {
            labels_loaded: self.facts.examined,
            as_of_height: self.as_of,
            as_of: rfc3339(self.facts.at.time),
            seq: view.tip().seq,
            lists: self.lists.iter().filter(|list| !list.is_inherited).count(),
            truncated: self.is_cut,
            inherited_claims: self
                .cluster
                .is_some()
                .then(|| self.lists.iter().filter(|list| list.is_inherited).map(|list| list.of.claims.len()).sum()),
            inherited_claims_reason: self.cluster.is_none().then_some(UNFINISHED),
            suspect_merge: self.cluster.as_ref().is_some_and(|of| of.has_suspect),
        }
    }
}

/// The claims of lists, as they are judged.
fn stated(lists: &[ListedClaims]) -> Vec<Stated<'_>> {
    let mut all = Vec::with_capacity(lists.iter().map(|list| list.of.claims.len()).sum());
    for ListedClaims { of, document, is_inherited } in lists {
        let provenance = &document.provenance;
        all.extend(of.claims.iter().map(|claim| Stated {
            claim,
            source: &provenance.source,
            licence: &provenance.licence,
            document: &provenance.document,
            retrieved_at: provenance.retrieved_at,
            ended_at: of.ended_at,
            is_contested: of.is_contested(claim),
            inherited: *is_inherited,
        }));
    }
    all
}

impl ListedClaims {
    /// The address that a claim of it is about, else its script; `None` if the claim is about the script that was asked
    /// for.
    pub(crate) fn inherited_from(&self, view: &View<'_>, claim: &Claim) -> Option<String> {
        let script = || address_of(&claim.script, view.network()).unwrap_or_else(|| hex::encode(&claim.script));
        self.is_inherited.then(script)
    }
}

/// The scripts of the cluster of a wallet with claims for the others, one more than are read; `None` while clusters are
/// being made.
fn heirs(
    view: &View<'_>,
    wallet: &Wallet,
    height: Height,
    cache: &mut ClaimsCache,
) -> Result<Option<ClaimedScripts>, ApiError> {
    let Some(found) = &wallet.found else { return Ok(Some(ClaimedScripts::default())) };
    if !view.clusters().has_claims()? {
        return Ok(Some(ClaimedScripts::default()));
    }
    let Some(at) = view.as_of(height) else { return Ok(Some(ClaimedScripts::default())) };
    let of = match view.clusters().of_script(found.id, at) {
        Err(ReadError::Unfinished(_)) => return Ok(None),
        of => of?,
    };
    let Some(part) = of.part() else { return Ok(Some(ClaimedScripts::default())) };
    if let Some(known) = cache.heirs.get(&part) {
        return Ok(Some(known.clone()));
    }
    let found = view.clusters().claimed_scripts(&of, at, MAX_INHERITED + 1)?;
    cache.heirs.insert(part, found.clone());
    Ok(Some(found))
}

/// Reads the claims about one script after another.
struct ClaimsReader<'r, 'v> {
    ctx: &'r Ctx<'r>,
    view: &'r View<'v>,
    time: Option<u32>,
    /// Lists repeat their documents.
    cache: ClaimsCache,
    lists: Vec<ListedClaims>,
    is_cut: bool,
}

impl ClaimsReader<'_, '_> {
    fn read(&mut self, script: &[u8; 32], is_inherited: bool) -> Result<(), ApiError> {
        let found = match self.cache.scripts.get(script) {
            Some(known) => known.clone(),
            None => {
                let found = self.view.claims().of_hash(script, self.time)?;
                if self.cache.scripts.len() < MAX_CACHED {
                    self.cache.scripts.insert(*script, found.clone());
                }
                found
            }
        };
        self.is_cut |= found.is_cut;
        for mut of in found.lists {
            self.ctx.work.poll()?;
            if is_inherited {
                // Contested claims do not extend to other scripts.
                let is_contested = |claim: &Claim| of.is_contested(claim) && !claim.is_incontestable();
                let extends: Vec<Claim> =
                    of.claims.iter().filter(|claim| is_heritable(claim) && !is_contested(claim)).cloned().collect();
                of.claims = extends;
            }
            if of.claims.is_empty() {
                continue;
            }
            let document = match self.cache.documents.get(&of.version) {
                Some(known) => known.clone(),
                None => {
                    let found = self.view.claims().document(&of.version)?;
                    let found = found.ok_or_else(|| lacks::<Documents>("the document of a claim".to_owned()))?;
                    self.cache.documents.insert(of.version, found.clone());
                    found
                }
            };
            self.lists.push(ListedClaims { of, document, is_inherited });
        }
        Ok(())
    }
}

fn time_of(view: &View<'_>, height: Height) -> Result<u32, ApiError> {
    let found = view.chain().get(height).map(|brief| brief.mono_time);
    Ok(found.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?)
}
