//! Reads transactions and claims, and keeps them: the addresses of a batch share much.

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use cairn_domain::{
    coinjoin::is_coinjoin,
    exposure::{MAX_TRANSACTIONS, SharedTraces, TracedInput, TracedOutput, TracedTx},
};
use cairn_model::{ScriptId, ScriptPrefix};
use cairn_reader::{ClaimDocument, ClaimWalk, ClusterClaimWalk, FoundScript, ReadError, ScriptClaims, StoredTx};
use cairn_tables::{block_log::BlockLog, claims::ListVersion, events::Documents};

use super::{
    claimed::{ClaimedScript, direct_claims, extends_service},
    counted_clusters::CountedClusters,
    moment::{Known, Moment},
};
use crate::{operation::prelude::*, wallets::coinjoin_tx::CoinJoinTx};

/// Inputs and outputs of transactions that are kept.
const MAX_KEPT_PARTS: usize = 400_000;
const MAX_KEPT_SCRIPTS: usize = 100_000;
/// Scripts of a cluster whose claims are read.
const MAX_INHERITED: usize = 16;
/// Clusters whose claims count for one address.
const MAX_CLUSTERS: usize = 1_000;
/// Scripts that are looked up together.
const CHUNK: usize = 1_024;

/// Facts about a script that decide its role.
#[derive(Clone, Default)]
pub(crate) struct ScriptFacts {
    /// Its own claims that stand; `None` if there are none.
    pub(crate) claimed: Option<Rc<ClaimedScript>>,
    /// True if claims about other scripts of its cluster make it a service's.
    pub(crate) is_inherited_service: bool,
    /// True if it has more than [`MAX_TRANSACTIONS`].
    pub(crate) is_busy: bool,
}

/// A script that was read. It is the same for all traces, but for the clusters that count (see [`MAX_CLUSTERS`]).
struct KnownScript {
    claimed: Option<Rc<ClaimedScript>>,
    is_busy: bool,
    /// True if it has more claims than are read.
    is_cut: bool,
    /// The top of the part of a cluster that it is in; `None` if it is in none, or has claims of its own.
    top: Option<TxNum>,
    /// The round that `inherited` is of; 0 before the first.
    round: u32,
    inherited: Inherited,
}

/// Claims about other scripts of a cluster.
#[derive(Clone, Copy, Default)]
struct Inherited {
    is_service: bool,
    /// True if there are more claims than are read.
    is_cut: bool,
}

struct ClaimCache<'r> {
    walk: ClaimWalk<'r>,
    /// Begins with the first cluster.
    cluster_walk: Option<ClusterClaimWalk<'r>>,
    /// The last script whose claims were asked for by its SHA-256.
    of_hash: Option<([u8; 32], Claimed)>,
    documents: BTreeMap<ListVersion, ClaimDocument>,
    seqs: BTreeMap<ListVersion, Option<u64>>,
    /// The claims that reach the top of a part of a cluster.
    clusters: HashMap<TxNum, Inherited>,
    is_empty: bool,
    /// False if no claim extends to a cluster, or while clusters are being made.
    has_inherited: bool,
    /// True while clusters are being made: claims that extend to a cluster are missing.
    is_unfinished: bool,
}

/// The claims about a script that stand, and whether it has more than are read.
type Claimed = (Option<Rc<ClaimedScript>>, bool);

/// Reads what traces need, for one moment. Each script and each cluster is read once, however many traces meet it.
pub(crate) struct ExposureReader<'r> {
    pub(crate) ctx: &'r Ctx<'r>,
    pub(crate) view: &'r View<'r>,
    pub(crate) moment: Moment,
    txs: HashMap<TxNum, Rc<TracedTx>>,
    spenders: HashMap<TxNum, Rc<[(u32, TxNum)]>>,
    scripts: HashMap<ScriptId, KnownScript>,
    /// Traces around the address, for other choices of claims.
    pub(crate) traces: SharedTraces,
    counted: CountedClusters,
    parts: usize,
    claims: ClaimCache<'r>,
    /// True if claims were left out since the last [`ExposureReader::tidy_up`]: more than are read.
    pub(crate) is_cut: bool,
}

impl<'r> ExposureReader<'r> {
    /// Begins with nothing. Up to two row reads.
    pub(crate) fn new(ctx: &'r Ctx<'r>, moment: Moment) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let claims = ClaimCache {
            walk: view.claims().walk()?,
            cluster_walk: None,
            of_hash: None,
            documents: BTreeMap::new(),
            seqs: BTreeMap::new(),
            clusters: HashMap::new(),
            is_empty: !view.claims().has_any()?,
            has_inherited: view.clusters().has_claims()?,
            is_unfinished: false,
        };
        let (txs, spenders, scripts) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (traces, counted) = (SharedTraces::default(), CountedClusters::new(MAX_CLUSTERS));
        let (parts, is_cut) = (0, false);
        Ok(ExposureReader { ctx, view, moment, txs, spenders, scripts, traces, counted, parts, claims, is_cut })
    }

    /// True if there are claims: otherwise nothing can be found.
    pub(crate) fn has_claims(&self) -> bool {
        !self.claims.is_empty
    }

    /// True while clusters are being made: claims that extend to a cluster are missing.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.claims.is_unfinished
    }

    /// Drops what is kept if it is much, and begins the account of claims that are left out. Called before each
    /// address.
    pub(crate) fn tidy_up(&mut self) {
        self.is_cut = self.claims.is_unfinished;
        self.counted.begin();
        if self.parts > MAX_KEPT_PARTS {
            self.txs.clear();
            self.spenders.clear();
            self.parts = 0;
        }
        if self.scripts.len() > MAX_KEPT_SCRIPTS {
            self.scripts.clear();
            self.claims.clusters.clear();
        }
    }

    /// Reads the rows of transactions together that are not kept.
    pub(crate) fn announce(&self, txs: &[TxNum]) -> Result<(), ApiError> {
        let missing: Vec<TxNum> = txs.iter().filter(|tx| !self.txs.contains_key(tx)).copied().collect();
        Ok(self.view.transactions().fetch(&missing)?)
    }

    /// A transaction with at most this many inputs and outputs. Two row reads.
    pub(crate) fn transaction(&mut self, tx: TxNum, most: usize) -> Result<Option<Rc<TracedTx>>, ApiError> {
        self.ctx.work.poll()?;
        let found = match self.txs.get(&tx) {
            Some(known) => Rc::clone(known),
            None => {
                let lacks = || lacks::<BlockLog>(format!("transaction {}", tx.0));
                let stored = self.view.transactions().get(tx)?.ok_or_else(lacks)?;
                if stored.outputs().len() + stored.logged_inputs().len() > most {
                    return Ok(None);
                }
                let traced = Rc::new(traced(self.view, &stored)?);
                self.parts += traced.inputs.len() + traced.outputs.len();
                self.ctx.work.keep(64 * (traced.inputs.len() + traced.outputs.len()))?;
                self.txs.insert(tx, Rc::clone(&traced));
                traced
            }
        };
        Ok(Some(found).filter(|found| found.inputs.len() + found.outputs.len() <= most))
    }

    /// The transactions that spend outputs of a transaction, up to the moment. One row read.
    pub(crate) fn spenders(&mut self, tx: TxNum) -> Result<Rc<[(u32, TxNum)]>, ApiError> {
        if let Some(known) = self.spenders.get(&tx) {
            return Ok(Rc::clone(known));
        }
        self.ctx.work.poll()?;
        let all = self.view.transactions().spenders(tx)?.into_iter();
        let until = all.filter(|(_, spender, _)| *spender < self.moment.chain.tx_end);
        let found: Rc<[(u32, TxNum)]> = until.map(|(vout, spender, _)| (vout, spender)).collect();
        self.spenders.insert(tx, Rc::clone(&found));
        Ok(found)
    }

    /// Facts about scripts, in their order. A row read for the sums of each that is not known, and one for its claims;
    /// more where there are claims.
    pub(crate) fn facts(&mut self, scripts: &[ScriptId]) -> Result<Vec<ScriptFacts>, ApiError> {
        let is_known = |id: &&ScriptId| self.scripts.get(id).is_some_and(|known| known.round == self.counted.round());
        let mut new: Vec<ScriptId> = scripts.iter().filter(|id| !is_known(id)).copied().collect();
        // In this order, rows of claims are mostly passed forward.
        new.sort_unstable();
        new.dedup();
        for some in new.chunks(CHUNK) {
            self.ctx.work.poll()?;
            self.read(some)?;
            self.inherit(some)?;
        }
        let mut is_cut = false;
        let facts = scripts.iter().map(|id| {
            let Some(known) = self.scripts.get(id) else {
                return ScriptFacts::default();
            };
            // Facts that an address of a batch left behind count as cut for the next one, too.
            is_cut |= known.is_cut || known.inherited.is_cut;
            let (claimed, is_inherited_service) = (known.claimed.clone(), known.inherited.is_service);
            ScriptFacts { claimed, is_inherited_service, is_busy: known.is_busy }
        });
        let facts = facts.collect();
        self.is_cut |= is_cut;
        Ok(facts)
    }

    /// Reads ascending scripts, without those that are known.
    fn read(&mut self, scripts: &[ScriptId]) -> Result<(), ApiError> {
        let new: Vec<ScriptId> = scripts.iter().filter(|id| !self.scripts.contains_key(id)).copied().collect();
        let mut read = Vec::with_capacity(new.len());
        for (id, found) in new.iter().zip(self.view.scripts().by_ids(&new)?) {
            let is_busy = found.map_or(Ok(false), |found| self.is_busy(&found))?;
            let (claimed, is_cut) = self.claimed(*id)?;
            let inherited = Inherited::default();
            read.push(KnownScript { claimed, is_busy, is_cut, top: None, round: 0, inherited });
        }
        self.find_tops(&new, &mut read)?;
        self.scripts.extend(new.into_iter().zip(read));
        Ok(())
    }

    fn is_busy(&self, found: &FoundScript) -> Result<bool, ApiError> {
        if found.totals.tx_count <= MAX_TRANSACTIONS || self.moment.is_tip(self.view) {
            return Ok(found.totals.tx_count > MAX_TRANSACTIONS);
        }
        Ok(self.view.scripts().sums_before(found, self.moment.chain.tx_end)?.tx_count > MAX_TRANSACTIONS)
    }

    /// Returns the claims about a script that stand at the moment, and whether it has more claims than are read.
    fn claimed(&mut self, id: ScriptId) -> Result<Claimed, ApiError> {
        if self.claims.is_empty {
            return Ok((None, false));
        }
        match self.claims.walk.hash_of(id)? {
            Some(hash) => self.read_claims(&hash),
            None => Ok((None, false)),
        }
    }

    /// Returns the claims about the script with this SHA-256 that stand at the moment.
    pub(crate) fn claimed_hash(&mut self, hash: &[u8; 32]) -> Result<Option<Rc<ClaimedScript>>, ApiError> {
        if self.claims.is_empty {
            return Ok(None);
        }
        let known = self.claims.of_hash.take().filter(|(of, _)| of == hash);
        let (claimed, is_cut) = known.map_or_else(|| self.read_claims(hash), |(_, known)| Ok(known))?;
        self.claims.of_hash = Some((*hash, (claimed.clone(), is_cut)));
        self.is_cut |= is_cut;
        Ok(claimed)
    }

    fn read_claims(&mut self, hash: &[u8; 32]) -> Result<Claimed, ApiError> {
        let said = self.claims.said(self.view, &self.moment, hash)?;
        let (view, moment) = (self.view, self.moment);
        let document_of = &mut |version: &ListVersion| self.claims.document(view, version);
        Ok((direct_claims(hash, &said, &moment, view.network(), document_of)?, said.is_cut))
    }

    /// Finds the parts of clusters that scripts without a claim of their own are in, if claims may reach them there.
    fn find_tops(&mut self, scripts: &[ScriptId], read: &mut [KnownScript]) -> Result<(), ApiError> {
        if self.claims.is_empty || !self.claims.has_inherited || scripts.is_empty() {
            return Ok(());
        }
        let open: Vec<usize> = (0..scripts.len()).filter(|at| read[*at].claimed.is_none()).collect();
        let ids: Vec<ScriptId> = open.iter().map(|at| scripts[*at]).collect();
        let members = match self.view.clusters().of_scripts(&ids, self.moment.chain) {
            Err(ReadError::Unfinished(_)) => {
                (self.claims.has_inherited, self.claims.is_unfinished) = (false, true);
                self.is_cut = true;
                return Ok(());
            }
            members => members?,
        };
        for (at, member) in open.into_iter().zip(members) {
            read[at].top = member.part().map(|(top, _)| top);
        }
        Ok(())
    }

    /// Lets scripts that are known inherit the claims of their clusters, as far as these count in this round.
    fn inherit(&mut self, scripts: &[ScriptId]) -> Result<(), ApiError> {
        let mut new: Vec<TxNum> = Vec::new();
        for top in scripts.iter().filter_map(|id| self.scripts.get(id)?.top) {
            if self.counted.counts(top) && !self.claims.clusters.contains_key(&top) {
                new.push(top);
            }
        }
        // In this order, rows of claims are mostly passed forward.
        new.sort_unstable();
        new.dedup();
        for top in new {
            self.ctx.work.poll()?;
            let inherited = self.claims.inherited(self.view, &self.moment, top)?;
            self.claims.clusters.insert(top, inherited);
        }
        for id in scripts {
            let Some(known) = self.scripts.get_mut(id) else {
                continue;
            };
            known.round = self.counted.round();
            known.inherited = match known.top {
                None => Inherited::default(),
                Some(top) if self.counted.counts(top) => self.claims.clusters.get(&top).copied().unwrap_or_default(),
                Some(_) => Inherited { is_service: false, is_cut: true },
            };
        }
        Ok(())
    }
}

impl<'r> ClaimCache<'r> {
    /// The claims about a script, of the documents that count.
    fn said(&mut self, view: &View<'_>, moment: &Moment, hash: &[u8; 32]) -> Result<ScriptClaims, ApiError> {
        let at = match moment.known {
            Known::All(None) => return Ok(self.walk.of(hash, None)?),
            Known::All(time) => time,
            Known::Until(_) | Known::Seq(_) => None,
        };
        if at.is_some() {
            return Ok(self.walk.of(hash, at)?);
        }
        let seqs = &mut self.seqs;
        self.walk.known(hash, |version| {
            moment.knows(version, || {
                if let Some(known) = seqs.get(version) {
                    return Ok(*known);
                }
                let seq = view.claims().seq_of(version)?;
                seqs.insert(*version, seq);
                Ok(seq)
            })
        })
    }

    /// The claims that reach the top of a part of a cluster.
    fn inherited(&mut self, view: &'r View<'r>, moment: &Moment, top: TxNum) -> Result<Inherited, ApiError> {
        let walk = match &mut self.cluster_walk {
            Some(walk) => walk,
            none => none.insert(view.clusters().claim_walk()?),
        };
        let found = walk.scripts_of(top, moment.chain, MAX_INHERITED)?;
        let mut is_service = false;
        for script in &found.scripts {
            let said = self.said(view, moment, &script.0)?;
            is_service |= extends_service(&said, moment, &mut |version| self.document(view, version))?;
        }
        Ok(Inherited { is_service, is_cut: found.is_cut })
    }

    fn document(&mut self, view: &View<'_>, version: &ListVersion) -> Result<ClaimDocument, ApiError> {
        if let Some(known) = self.documents.get(version) {
            return Ok(known.clone());
        }
        let found = view.claims().document(version)?;
        let found = found.ok_or_else(|| lacks::<Documents>("the document of a claim".to_owned()))?;
        self.documents.insert(*version, found.clone());
        Ok(found)
    }
}

/// A transaction as traces see it. One row read for the coins that it spends.
fn traced(view: &View<'_>, tx: &StoredTx) -> Result<TracedTx, ApiError> {
    let length = view.facts().script_prefix;
    let output = |output: &cairn_model::OutputMeta| {
        let id = || ScriptId { prefix: ScriptPrefix::of(tx.script(output), length), ordinal: output.id.ordinal };
        TracedOutput { value: output.value, script: output.spendable.then(id) }
    };
    let inputs = view.transactions().inputs(tx)?.into_iter().map(|input| TracedInput {
        coin: input.outpoint,
        value: input.value,
        script: input.script,
        is_coinbase: input.flags.coinbase,
    });
    Ok(TracedTx {
        tx_num: tx.tx_num,
        is_coinbase: tx.is_coinbase(),
        is_coinjoin: !tx.is_coinbase() && is_coinjoin(&CoinJoinTx(tx)),
        inputs: inputs.collect(),
        outputs: tx.outputs().iter().map(output).collect(),
    })
}
