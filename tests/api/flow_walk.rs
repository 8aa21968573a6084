//! A slow walk through the blocks, hop by hop, by the definition of graphs of flows.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use bitcoin::{ScriptBuf, Transaction};
use cairn_model::{TxNum, is_unspendable};
use cairn_support::cospending::paid_by_tx;
use serde_json::{Value, json};

use crate::{
    counterparties::shares,
    priced::time,
    support::{World, address, script_hash},
};

/// A script, in the order of their SHA-256; or one of the ends after all of them.
pub type End = usize;
pub const ENDS: [&str; 4] = ["coinbase", "fee", "coinjoin", "unspendable"];

/// Where a node lies: value comes from there, it is the middle, or value goes there.
const IN: i64 = -1;
const MIDDLE: i64 = 0;
const OUT: i64 = 1;

/// The parameters of a request.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub hops: u32,
    pub direction: &'static str,
    pub limit: usize,
    pub min_sats: u64,
    /// The first height that counts, if not all do.
    pub since: Option<u32>,
    pub fold: &'static str,
}

/// A node that was taken: its hop, its side, and what led to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub hop: u32,
    pub side: i64,
    pub sats: u64,
}

/// The graph that was found.
pub struct Found {
    pub nodes: BTreeMap<End, Place>,
    /// Nodes whose transactions were looked at.
    pub expanded: BTreeSet<End>,
    /// Parts of transactions, each once, by the nodes that pay and are paid.
    pub edges: BTreeMap<(End, End), BTreeMap<TxNum, u64>>,
    pub txs_read: usize,
    /// The satoshis that each script moved.
    pub sums: BTreeMap<End, u64>,
    /// The most scripts of one node that were to be looked at.
    pub most_scripts: usize,
}

/// A chain, taken apart.
pub struct Book<'w> {
    pub world: &'w World,
    pub scripts: Vec<ScriptBuf>,
    /// Of each transaction, who pays whom.
    legs: Vec<Vec<(End, End, u64)>>,
}

impl<'w> Book<'w> {
    pub fn of(world: &'w World) -> Self {
        let tip = world.oracle.tip().unwrap().0;
        let coinjoins = paid_by_tx(&world.oracle, tip);
        let mut scripts: Vec<ScriptBuf> = world.oracle.scripts().cloned().collect();
        scripts.sort_by_cached_key(|script| script_hash(script));
        let places: HashMap<&ScriptBuf, End> = scripts.iter().zip(0..).collect();
        let legs = world.oracle.transactions(tip).map(|(num, _, tx)| {
            let is_coinjoin = coinjoins.get(&num).is_some_and(|(_, is_coinjoin)| *is_coinjoin);
            legs(world, &places, num, tx, is_coinjoin)
        });
        let legs = legs.collect();
        Book { world, legs, scripts }
    }

    pub fn is_end(&self, node: End) -> bool {
        (self.scripts.len()..self.scripts.len() + ENDS.len()).contains(&node)
    }

    pub fn name(&self, end: End) -> String {
        match self.scripts.get(end) {
            Some(script) => address(script).unwrap_or_else(|| script_hash(script)),
            None => ENDS[end - self.scripts.len()].to_owned(),
        }
    }

    /// The walk. `key` is the node of each script, named by one of its scripts.
    pub fn walk(&self, middle: End, asked: Asked, key: &dyn Fn(End) -> End) -> Found {
        let mut found = Found {
            nodes: BTreeMap::from([(key(middle), Place { hop: 0, side: MIDDLE, sats: 0 })]),
            expanded: BTreeSet::new(),
            edges: BTreeMap::new(),
            txs_read: 0,
            sums: BTreeMap::from([(middle, 0)]),
            most_scripts: 1,
        };
        let mut known: BTreeSet<(End, End, TxNum)> = BTreeSet::new();
        let mut frontier = vec![key(middle)];
        let mut spare: Vec<(End, Place)> = Vec::new();
        let pays = |side| side == OUT || side == MIDDLE && asked.direction != "in";
        let is_paid = |side| side == IN || side == MIDDLE && asked.direction != "out";
        for hop in 1..=asked.hops {
            // The scripts of each node that were found so far.
            let mut looked_at: Vec<(End, i64)> = Vec::new();
            for node in frontier.iter().filter(|node| !self.is_end(**node)) {
                let scripts: Vec<End> = match hop {
                    1 => vec![middle],
                    _ => found.sums.keys().copied().filter(|script| key(*script) == *node).collect(),
                };
                found.most_scripts = found.most_scripts.max(scripts.len());
                found.expanded.insert(*node);
                looked_at.extend(scripts.into_iter().map(|script| (script, found.nodes[node].side)));
            }
            for (script, side) in looked_at {
                for row in self.world.oracle.history(&self.scripts[script]) {
                    let counts = pays(side) && row.spent_sats > 0 || is_paid(side) && row.received_sats > 0;
                    if !counts || asked.since.is_some_and(|since| row.height < since) {
                        continue;
                    }
                    found.txs_read += 1;
                    for (from, to, sats) in &self.legs[row.tx_num.0 as usize] {
                        let is_of_it = pays(side) && *from == script || is_paid(side) && *to == script;
                        if is_of_it && known.insert((*from, *to, row.tx_num)) {
                            let edge = found.edges.entry((key(*from), key(*to))).or_default();
                            *edge.entry(row.tx_num).or_default() += sats;
                            for end in [from, to].into_iter().filter(|end| **end < self.scripts.len()) {
                                *found.sums.entry(*end).or_default() += sats;
                            }
                        }
                    }
                }
            }
            // Payees and payers of the last nodes.
            let mut near: BTreeMap<End, [u64; 2]> = BTreeMap::new();
            for ((from, to), txs) in &found.edges {
                let sats: u64 = txs.values().sum();
                if from == to || sats < asked.min_sats.max(1) {
                    continue;
                }
                let is_last = |node: &End| frontier.contains(node).then(|| found.nodes[node].side);
                if is_last(from).is_some_and(pays) && !found.nodes.contains_key(to) {
                    near.entry(*to).or_default()[1] += sats;
                }
                if is_last(to).is_some_and(is_paid) && !found.nodes.contains_key(from) {
                    near.entry(*from).or_default()[0] += sats;
                }
            }
            let place = |(node, [into, out]): (End, [u64; 2])| {
                (node, Place { hop, side: if into > out { IN } else { OUT }, sats: into + out })
            };
            let mut near: Vec<(End, Place)> = near.into_iter().map(place).collect();
            near.sort_by_key(|(node, place)| (Reverse(place.sats), *node));
            // Each hop has its part of the nodes that are left.
            let part = (asked.limit - found.nodes.len()).div_ceil((asked.hops - hop + 1) as usize);
            spare.extend(near.split_off(near.len().min(part)));
            frontier = near.iter().map(|(node, _)| *node).collect();
            found.nodes.extend(near);
        }
        // Places that later hops did not need go to the largest nodes that were left out.
        spare.sort_by_key(|(node, place)| (Reverse(place.sats), *node));
        for (node, place) in spare {
            if found.nodes.len() < asked.limit {
                found.nodes.entry(node).or_insert(place);
            }
        }
        found
    }

    /// Edges as answers have them, by their ends; and the accounting.
    pub fn told(&self, found: &Found, min_sats: u64) -> (BTreeMap<(End, End), Value>, Value, [usize; 3]) {
        let (mut edges, mut omitted) = (BTreeMap::new(), BTreeSet::new());
        let (mut seen, mut shown, mut own, mut below, mut left_out, mut candidates) = (0, 0, 0, 0, 0, [0, 0]);
        let tip = self.world.oracle.tip().unwrap().0;
        let height = |num: TxNum| self.world.oracle.txs()[num.0 as usize].height;
        let at = |num: TxNum| time(self.world.oracle.monotone_time(height(num)));
        for ((from, to), txs) in &found.edges {
            let sats: u64 = txs.values().sum();
            seen += sats;
            if from == to {
                own += sats;
                continue;
            }
            candidates[0] += 1;
            if sats < min_sats.max(1) {
                candidates[1] += 1;
                below += sats;
                continue;
            }
            let missing: Vec<End> = [*from, *to].into_iter().filter(|end| !found.nodes.contains_key(end)).collect();
            if !missing.is_empty() {
                omitted.extend(missing);
                left_out += sats;
                continue;
            }
            shown += sats;
            let (first, last) = (*txs.keys().next().unwrap(), *txs.keys().next_back().unwrap());
            let txids = txs.keys().rev().take(5).map(|num| self.world.oracle.txs()[num.0 as usize].txid.to_string());
            let edge = json!({
                "value_sats": sats,
                "count": txs.len(),
                "txids": txids.collect::<Vec<_>>(),
                "first": at(first),
                "last": at(last),
                "provisional": tip - height(last) + 1 < 6,
            });
            edges.insert((*from, *to), edge);
        }
        let accounting = json!({
            "seen_sats": seen,
            "shown_sats": shown,
            "self_sats": own,
            "below_min_btc_sats": below,
            "omitted_sats": left_out,
            "transactions_not_followed": 0,
            "not_followed_sats": 0,
        });
        (edges, accounting, [candidates[0], candidates[1], omitted.len()])
    }
}

/// Who pays whom in a transaction.
fn legs(
    world: &World,
    places: &HashMap<&ScriptBuf, End>,
    num: TxNum,
    tx: &Transaction,
    is_coinjoin: bool,
) -> Vec<(End, End, u64)> {
    let [coinbase, fee, coinjoin, unspendable] = std::array::from_fn(|at| places.len() + at);
    let (mut payers, mut payees): (BTreeMap<End, u64>, BTreeMap<End, u64>) = Default::default();
    for output in &tx.output {
        let is_lost = is_unspendable(output.script_pubkey.as_bytes());
        // The first block's output does not make a coin, so its script may not be there.
        let Some(script) = places.get(&output.script_pubkey).copied().or(is_lost.then_some(unspendable)) else {
            continue;
        };
        let payee = if is_lost { unspendable } else { script };
        *payees.entry(payee).or_default() += output.value.to_sat();
    }
    for coin in world.oracle.spent(num) {
        *payers.entry(places[&coin.script]).or_default() += coin.value_sats;
    }
    let mut legs: Vec<(End, End, u64)> = Vec::new();
    if tx.is_coinbase() {
        legs.extend(payees.into_iter().map(|(payee, sats)| (coinbase, payee, sats)));
    } else if is_coinjoin {
        legs.extend(payers.into_iter().map(|(payer, sats)| (payer, coinjoin, sats)));
        legs.extend(payees.into_iter().map(|(payee, sats)| (coinjoin, payee, sats)));
    } else if payers.values().sum::<u64>() > 0 {
        let lacks = payers.values().sum::<u64>() - payees.values().sum::<u64>();
        // The fee is one more output, the last one.
        let payees: Vec<(End, u64)> = payees.into_iter().chain([(fee, lacks)]).collect();
        let weights: Vec<u64> = payees.iter().map(|(_, sats)| *sats).collect();
        for (payer, sats) in payers {
            let parts = shares(sats, &weights);
            legs.extend(payees.iter().zip(parts).map(|((payee, _), sats)| (payer, *payee, sats)));
        }
    }
    legs.retain(|(.., sats)| *sats > 0);
    legs
}
