//! Walks through the index hop by hop, and takes transactions apart.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};

use cairn_domain::{
    coinjoin::is_coinjoin,
    flow_graph::{Building, Direction, End, Graph, Leg, Limits, Parties, Side, legs_from, legs_to},
};
use cairn_model::{ScriptId, ScriptPrefix};
use cairn_reader::{StoredTx, Tie};
use cairn_tables::block_log::BlockLog;

use super::super::coinjoin_tx::CoinJoinTx;
use crate::operation::prelude::*;

/// Transactions of the history of a script that are looked at, the newest.
pub(super) const HISTORY: usize = 1_000;
/// Edges that are looked at in a hop.
pub(super) const CANDIDATES: usize = 5_000;
pub(super) const MAX_TXS: usize = 10_000;
/// Inputs and outputs that are taken apart for one answer.
pub(super) const MAX_PARTS: usize = 200_000;
/// Time after which no more is read: where tables are not in memory, an answer has less then, and says so.
const MAX_TIME: Duration = Duration::from_millis(1_200);
/// Scripts of a node of several that are followed, those with the largest sums.
const MAX_OF_NODE: usize = 20;
/// Scripts whose owners or clusters are looked up in a hop, those with the largest sums.
const MAX_FOLDED: usize = 5_000;

/// Grouping of scripts into nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "GraphFold")]
pub(super) enum Fold {
    #[default]
    None,
    Cluster,
    Entity,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Key {
    Script(ScriptId),
    /// A cluster of several scripts, by its root.
    Cluster(TxNum),
    Entity(String),
    Coinbase,
    Fee,
    CoinJoin,
    Burned,
}

cairn_model::words! {
    /// Why the graph is incomplete.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub(super) enum CutReason {
        HistoryCap = "history_cap",
        EdgeCandidateCap = "edge_candidates_cap",
        NodeLimit = "node_limit",
        TransactionBudget = "transaction_budget",
        LargeTransaction = "large_transaction",
        NodeMembers = "node_members",
        FoldCap = "fold_cap",
        TimeBudget = "time_budget",
    }
    pub(super) fn name;
}

pub(super) struct WalkResult {
    pub(super) graph: Graph<Key>,
    pub(super) cuts: BTreeSet<CutReason>,
    /// The scripts of each node that were found, the one with the most first.
    pub(super) scripts: HashMap<Key, Vec<ScriptId>>,
    /// Nodes whose transactions were looked at.
    pub(super) expanded: HashSet<Key>,
    pub(super) txs_read: usize,
    /// Transactions that were not taken apart since they are too large, and what the nodes moved in them.
    pub(super) not_followed: (u64, u128),
}

#[derive(Clone, Copy)]
pub(super) struct WalkRequest {
    pub(super) direction: Direction,
    pub(super) limits: Limits,
    /// The first transaction that counts.
    pub(super) since: TxNum,
    pub(super) fold: Fold,
}

pub(super) struct Walk<'w> {
    ctx: &'w Ctx<'w>,
    view: &'w View<'w>,
    asked: WalkRequest,
    keys: HashMap<ScriptId, Key>,
    /// Sums that moved to or from each script.
    sums: HashMap<ScriptId, Sats>,
    /// Parts that were added: each is found from both of its ends.
    known: HashSet<(End, End, TxNum)>,
    /// Transactions that were not taken apart, with the scripts that would have been looked at.
    skipped: HashSet<(TxNum, ScriptId)>,
    parts: usize,
    walked: WalkResult,
}

fn parties(view: &View<'_>, tx: &StoredTx) -> Parties {
    let length = view.facts().script_prefix;
    let output = |output: &cairn_model::OutputMeta| {
        let id = || ScriptId { prefix: ScriptPrefix::of(tx.script(output), length), ordinal: output.id.ordinal };
        (if output.spendable { End::Script(id()) } else { End::Burned }, output.value)
    };
    let outputs: Vec<(End, Sats)> = tx.outputs().iter().filter(|output| output.value > 0).map(output).collect();
    if tx.is_coinbase() {
        return Parties::Coinbase(outputs);
    }
    let inputs = tx.logged_inputs().iter().map(|input| (input.script, input.value)).collect();
    if is_coinjoin(&CoinJoinTx(tx)) { Parties::CoinJoin(inputs, outputs) } else { Parties::Payment(inputs, outputs) }
}

impl<'w> Walk<'w> {
    pub(super) fn around(
        ctx: &'w Ctx<'w>,
        view: &'w View<'w>,
        center: ScriptId,
        asked: WalkRequest,
    ) -> Result<WalkResult, ApiError> {
        let empty = Graph { nodes: Vec::new(), edges: Vec::new(), accounting: Default::default(), is_cut: false };
        let walked = WalkResult {
            graph: empty,
            cuts: BTreeSet::new(),
            scripts: HashMap::new(),
            expanded: HashSet::new(),
            txs_read: 0,
            not_followed: (0, 0),
        };
        let mut walk = Walk {
            ctx,
            view,
            asked,
            keys: HashMap::new(),
            sums: HashMap::new(),
            known: HashSet::new(),
            skipped: HashSet::new(),
            parts: 0,
            walked,
        };
        walk.fold(&[center])?;
        let key = walk.key(End::Script(center));
        walk.walked.scripts.entry(key.clone()).or_default().push(center);
        let mut building = Building::around(key.clone(), asked.direction, asked.limits);
        let mut frontier = vec![(key, Side::Center)];
        for hop in 1..=asked.limits.hops {
            let left = MAX_TXS.saturating_sub(walk.walked.txs_read);
            let budget = left.div_ceil((asked.limits.hops - hop + 1) as usize);
            let legs = walk.expand(&frontier, budget)?;
            for (tx, Leg { from, to, sats }) in legs {
                let (from, to) = (walk.key(from), walk.key(to));
                building.add(from, to, tx, sats);
            }
            frontier = building.next_hop();
            walk.gather(&frontier);
            if frontier.is_empty() {
                break;
            }
        }
        let graph = building.finish();
        walk.walked.cuts.extend(graph.is_cut.then_some(CutReason::EdgeCandidateCap));
        walk.walked.cuts.extend((graph.accounting.omitted_nodes > 0).then_some(CutReason::NodeLimit));
        let keys: Vec<(Key, Side)> = graph.nodes.iter().map(|node| (node.key.clone(), node.side)).collect();
        walk.gather(&keys);
        Ok(WalkResult { graph, ..walk.walked })
    }

    fn key(&self, end: End) -> Key {
        match end {
            End::Script(id) => self.keys.get(&id).cloned().unwrap_or(Key::Script(id)),
            End::Coinbase => Key::Coinbase,
            End::Fee => Key::Fee,
            End::CoinJoin => Key::CoinJoin,
            End::Burned => Key::Burned,
        }
    }

    /// Finds the scripts of nodes, those with the largest sums first.
    fn gather(&mut self, nodes: &[(Key, Side)]) {
        let mut of_folded: HashMap<&Key, Vec<ScriptId>> = HashMap::new();
        if self.asked.fold != Fold::None {
            for (id, key) in &self.keys {
                of_folded.entry(key).or_default().push(*id);
            }
        }
        for (key, _) in nodes {
            let mut scripts = match key {
                Key::Script(id) => vec![*id],
                _ => of_folded.remove(key).unwrap_or_default(),
            };
            let sum = |id: &ScriptId| self.sums.get(id).copied().unwrap_or_default();
            scripts.sort_unstable_by_key(|id| (std::cmp::Reverse(sum(id)), *id));
            self.walked.scripts.insert(key.clone(), scripts);
        }
    }

    /// Looks up what scripts are folded into.
    fn fold(&mut self, scripts: &[ScriptId]) -> Result<(), ApiError> {
        if self.asked.fold == Fold::None || scripts.is_empty() {
            return Ok(());
        }
        self.ctx.work.poll()?;
        let at = self.view.as_of_tip();
        let members = self.view.clusters().of_scripts(scripts, at)?;
        let standings = match self.asked.fold {
            Fold::Entity => self.view.labels().standings(scripts)?,
            _ => Vec::new(),
        };
        for (place, (id, member)) in scripts.iter().zip(members).enumerate() {
            let owner = standings.get(place).and_then(|standing| standing.owner.as_ref());
            let cluster = member.root.filter(|_| !member.path.iter().any(Tie::is_suspect));
            let key = match (owner, cluster) {
                (Some(owner), _) => Key::Entity(owner.entity.to_string()),
                (None, Some(root)) => Key::Cluster(root.0),
                (None, None) => Key::Script(*id),
            };
            self.keys.insert(*id, key);
        }
        Ok(())
    }

    /// Takes the transactions of nodes apart, at most as many as the budget has. Gives the parts that are new.
    fn expand(&mut self, nodes: &[(Key, Side)], budget: usize) -> Result<Vec<(TxNum, Leg)>, ApiError> {
        let (mut found, mut left) = (Vec::new(), budget);
        for (key, side) in nodes {
            let scripts = self.walked.scripts.get(key).cloned().unwrap_or_default();
            if matches!(key, Key::Coinbase | Key::Fee | Key::CoinJoin | Key::Burned) {
                continue;
            }
            if scripts.len() > MAX_OF_NODE {
                self.walked.cuts.insert(CutReason::NodeMembers);
            }
            for script in scripts.into_iter().take(MAX_OF_NODE) {
                let cut = match left {
                    0 => Some(CutReason::TransactionBudget),
                    _ => (self.ctx.work.elapsed() > MAX_TIME).then_some(CutReason::TimeBudget),
                };
                if let Some(cut) = cut {
                    self.walked.cuts.insert(cut);
                    return self.fold_new(found);
                }
                self.script(script, *side, &mut left, &mut found)?;
            }
            self.walked.expanded.insert(key.clone());
        }
        self.fold_new(found)
    }

    fn fold_new(&mut self, found: Vec<(TxNum, Leg)>) -> Result<Vec<(TxNum, Leg)>, ApiError> {
        let mut new: HashMap<ScriptId, Sats> = HashMap::new();
        for (_, leg) in &found {
            for end in [leg.from, leg.to] {
                if let End::Script(id) = end {
                    let sum = self.sums.entry(id).or_default();
                    *sum = sum.saturating_add(leg.sats);
                    if !self.keys.contains_key(&id) {
                        let sum = new.entry(id).or_default();
                        *sum = sum.saturating_add(leg.sats);
                    }
                }
            }
        }
        if self.asked.fold != Fold::None {
            let mut new: Vec<(ScriptId, Sats)> = new.into_iter().collect();
            new.sort_unstable_by_key(|(id, sats)| (std::cmp::Reverse(*sats), *id));
            if new.len() > MAX_FOLDED {
                self.walked.cuts.insert(CutReason::FoldCap);
                // Scripts that are not looked up stay nodes of their own.
                for (id, _) in new.split_off(MAX_FOLDED) {
                    self.keys.insert(id, Key::Script(id));
                }
            }
            let new: Vec<ScriptId> = new.into_iter().map(|(id, _)| id).collect();
            for some in new.chunks(1_024) {
                self.fold(some)?;
            }
        }
        Ok(found)
    }

    /// Takes the transactions of a script apart.
    fn script(
        &mut self,
        script: ScriptId,
        side: Side,
        left: &mut usize,
        found: &mut Vec<(TxNum, Leg)>,
    ) -> Result<(), ApiError> {
        let Some(of) = self.view.scripts().by_id(script)? else { return Ok(()) };
        let (outwards, inwards) = (side.grows_out(self.asked.direction), side.grows_in(self.asked.direction));
        let entries = self.view.scripts().history(&of, 0, HISTORY)?;
        if of.totals.tx_count > entries.len() as u64
            && entries.last().is_none_or(|entry| entry.tx_num >= self.asked.since)
        {
            self.walked.cuts.insert(CutReason::HistoryCap);
        }
        let counts = |entry: &cairn_tables::history::HistoryEntry| {
            entry.tx_num >= self.asked.since && (outwards && entry.sent > 0 || inwards && entry.received > 0)
        };
        let entries: Vec<_> = entries.into_iter().filter(counts).collect();
        for some in entries.chunks(128) {
            let numbers: Vec<TxNum> = some.iter().map(|entry| entry.tx_num).collect();
            self.view.transactions().fetch(&numbers)?;
            for entry in some {
                if *left == 0 {
                    self.walked.cuts.insert(CutReason::TransactionBudget);
                    return Ok(());
                }
                self.ctx.work.poll()?;
                *left -= 1;
                self.walked.txs_read += 1;
                let lacks = || lacks::<BlockLog>(format!("transaction {}", entry.tx_num.0));
                let tx = self.view.transactions().get(entry.tx_num)?.ok_or_else(lacks)?;
                let parts = tx.outputs().len() + tx.logged_inputs().len();
                let legs = if self.parts + parts > MAX_PARTS {
                    None
                } else {
                    self.parts += parts;
                    let parties = parties(self.view, &tx);
                    let mut legs = Vec::new();
                    let out = if outwards { legs_from(&parties, script) } else { Ok(Vec::new()) };
                    let into = if inwards { legs_to(&parties, script) } else { Ok(Vec::new()) };
                    out.and_then(|out| {
                        legs.extend(out);
                        legs.extend(into?);
                        Ok(legs)
                    })
                    .ok()
                };
                let Some(legs) = legs else {
                    self.walked.cuts.insert(CutReason::LargeTransaction);
                    if self.skipped.insert((entry.tx_num, script)) {
                        let moved = u128::from(if outwards { entry.sent } else { 0 })
                            + u128::from(if inwards { entry.received } else { 0 });
                        self.walked.not_followed.0 += 1;
                        self.walked.not_followed.1 += moved;
                    }
                    continue;
                };
                let new = legs.into_iter().filter(|leg| self.known.insert((leg.from, leg.to, entry.tx_num)));
                found.extend(new.map(|leg| (entry.tx_num, leg)));
            }
        }
        Ok(())
    }
}
