//! Whether the mempool takes a transaction: Core's checks in Core's order, without script execution and without the
//! rules on standard forms (as a node with `-acceptnonstdtxn`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bitcoin::{OutPoint, Transaction, TxOut, Txid};
use cairn_chaingen::COINBASE_MATURITY;

use super::{Entry, Mempool, Policy, Reject, RejectKind};
use crate::node::{CoinMap, is_final};

const MAX_REPLACED: usize = 100;
const MAX_SIGOPS: u64 = 16_000;
const MIN_STRIPPED_SIZE: usize = 65;
const SEQUENCE_TYPE_SECONDS: u32 = 1 << 22;
const SEQUENCE_DISABLED: u32 = 1 << 31;

/// The chain as the mempool sees it.
pub(crate) struct Context<'a> {
    pub(crate) coins: &'a CoinMap,
    /// Height of the tip.
    pub(crate) height: u32,
    /// Median time past by height, Unix seconds.
    pub(crate) median: &'a dyn Fn(u32) -> u32,
    pub(crate) policy: &'a Policy,
    /// Unix seconds.
    pub(crate) now: u64,
}

/// A transaction that can be added, and what it pushes out.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) entry: Entry,
    pub(crate) replaced: BTreeSet<Txid>,
}

/// Fee for a size at a rate, rounded up as Core does.
pub(crate) fn fee_at(rate: u64, vsize: u64) -> u64 {
    rate.saturating_mul(vsize).div_ceil(1_000)
}

impl Mempool {
    /// Checks a transaction; `limits` are fee, replacement and chain limits, which transactions of disconnected blocks
    /// need not keep.
    pub(crate) fn check(&self, tx: &Arc<Transaction>, context: &Context<'_>, limits: bool) -> Result<Found, Reject> {
        let txid = tx.compute_txid();
        let entry = self.entry(tx, txid, context)?;
        let conflicts: BTreeSet<Txid> =
            tx.input.iter().filter_map(|input| self.spenders.get(&input.previous_output).copied()).collect();
        if limits {
            self.check_fee(&entry, context.policy)?;
        } else if !conflicts.is_empty() {
            return Err(Reject::rules("txn-mempool-conflict"));
        }
        let replaced = self.check_replacement(&entry, &conflicts, context.policy)?;
        if limits {
            self.check_limits(&entry, &replaced, context.policy)?;
        }
        Ok(Found { entry, replaced })
    }

    fn entry(&self, tx: &Arc<Transaction>, txid: Txid, context: &Context<'_>) -> Result<Entry, Reject> {
        if tx.input.is_empty() {
            return Err(Reject::rules("bad-txns-vin-empty"));
        }
        if tx.output.is_empty() {
            return Err(Reject::rules("bad-txns-vout-empty"));
        }
        if tx.is_coinbase() {
            return Err(Reject::rules("coinbase"));
        }
        if tx.base_size() < MIN_STRIPPED_SIZE {
            return Err(Reject::rules("tx-size-small"));
        }
        if !is_final(tx, context.height + 1, (context.median)(context.height)) {
            return Err(Reject::rules("non-final"));
        }
        let wtxid = tx.compute_wtxid();
        if self.wtxids.contains_key(&wtxid) {
            return Err(Reject::kind(RejectKind::InMempool, "txn-already-in-mempool"));
        }
        if self.contains(&txid) {
            return Err(Reject::kind(RejectKind::InMempool, "txn-same-nonwitness-data-in-mempool"));
        }
        let spent = self.inputs(tx, txid, context)?;
        let income = spent.values().fold(0u64, |sum, txout| sum.saturating_add(txout.value.to_sat()));
        let outgo = tx.output.iter().fold(0u64, |sum, txout| sum.saturating_add(txout.value.to_sat()));
        if outgo > income {
            return Err(Reject::rules("bad-txns-in-belowout"));
        }
        let weight = tx.weight().to_wu();
        let sigops = tx.total_sigop_cost(|outpoint| spent.get(outpoint).cloned()) as u64;
        if sigops > MAX_SIGOPS {
            return Err(Reject::rules("bad-txns-too-many-sigops"));
        }
        Ok(Entry {
            tx: Arc::clone(tx),
            txid,
            wtxid,
            fee: income - outgo,
            weight,
            sigops,
            vsize: weight.max(sigops * 20).div_ceil(4),
            time: context.now,
            height: context.height,
            parents: BTreeSet::new(),
            children: BTreeSet::new(),
        })
    }

    /// The outputs that a transaction spends, all of them checked for existence, maturity and relative locks.
    fn inputs(&self, tx: &Transaction, txid: Txid, context: &Context<'_>) -> Result<BTreeMap<OutPoint, TxOut>, Reject> {
        let next = context.height + 1;
        let mut spent = BTreeMap::new();
        for input in &tx.input {
            let outpoint = input.previous_output;
            let confirmed = context.coins.get(&outpoint);
            let (txout, height) = match (confirmed, self.get(&outpoint.txid)) {
                (Some(coin), _) => (Some(&coin.txout), coin.height),
                (None, Some(parent)) => (parent.tx.output.get(outpoint.vout as usize), next),
                (None, None) => (None, next),
            };
            let Some(txout) = txout else {
                let known =
                    (0..tx.output.len() as u32).any(|vout| context.coins.contains_key(&OutPoint { txid, vout }));
                return Err(match known {
                    true => Reject::kind(RejectKind::InChain, "txn-already-known"),
                    false => Reject::kind(RejectKind::MissingInputs, "bad-txns-inputs-missingorspent"),
                });
            };
            if confirmed.is_some_and(|coin| coin.coinbase && next - coin.height < COINBASE_MATURITY) {
                return Err(Reject::rules("bad-txns-premature-spend-of-coinbase"));
            }
            if has_relative_locks(tx) && !relative_lock_met(input.sequence.0, height, context) {
                return Err(Reject::rules("non-BIP68-final"));
            }
            if spent.insert(outpoint, txout.clone()).is_some() {
                return Err(Reject::rules("bad-txns-inputs-duplicate"));
            }
        }
        Ok(spent)
    }

    /// Whether a transaction that was accepted once could be in the next block: no coinbase that it spends is too
    /// young, and no lock holds, absolute or relative.
    pub(crate) fn is_still_valid(&self, entry: &Entry, context: &Context<'_>) -> bool {
        let next = context.height + 1;
        is_final(&entry.tx, next, (context.median)(context.height))
            && entry.tx.input.iter().all(|input| {
                let coin = context.coins.get(&input.previous_output);
                let height = coin.map_or(next, |coin| coin.height);
                let mature = coin.is_none_or(|coin| !coin.coinbase || next - coin.height >= COINBASE_MATURITY);
                mature && (!has_relative_locks(&entry.tx) || relative_lock_met(input.sequence.0, height, context))
            })
    }

    fn check_fee(&self, entry: &Entry, policy: &Policy) -> Result<(), Reject> {
        let needed = fee_at(self.raised_fee, entry.vsize);
        if entry.fee < needed {
            return Err(Reject::detailed("mempool min fee not met", format!("{} < {needed}", entry.fee)));
        }
        let needed = fee_at(policy.relay_fee, entry.vsize);
        if entry.fee < needed {
            return Err(Reject::detailed("min relay fee not met", format!("{} < {needed}", entry.fee)));
        }
        Ok(())
    }

    /// The rules of BIP 125 as Core's versions apply them; gives the transactions replaced.
    fn check_replacement(
        &self,
        entry: &Entry,
        conflicts: &BTreeSet<Txid>,
        policy: &Policy,
    ) -> Result<BTreeSet<Txid>, Reject> {
        if conflicts.is_empty() {
            return Ok(BTreeSet::new());
        }
        let rivals = || conflicts.iter().filter_map(|txid| self.entries.get(txid));
        if !policy.full_rbf() && rivals().any(|rival| !signals_replacement(&rival.tx)) {
            return Err(Reject::rules("txn-mempool-conflict"));
        }
        let parents = entry.tx.input.iter().map(|input| input.previous_output.txid);
        let ancestors = self.closure(parents, |parent| &parent.parents);
        if let Some(both) = conflicts.intersection(&ancestors).next() {
            let details = format!("{} spends conflicting transaction {both}", entry.txid);
            return Err(Reject::detailed("bad-txns-spends-conflicting-tx", details));
        }
        let insufficient =
            |why: String| Reject::detailed("insufficient fee", format!("rejecting replacement {}{why}", entry.txid));
        for rival in rivals() {
            if u128::from(entry.fee) * u128::from(rival.vsize) <= u128::from(rival.fee) * u128::from(entry.vsize) {
                return Err(insufficient("; new feerate is not above the old one".to_owned()));
            }
        }
        let replaced = self.closure(conflicts.iter().copied(), |rival| &rival.children);
        if replaced.len() > MAX_REPLACED {
            let details = format!(
                "rejecting replacement {}; too many potential replacements ({} > {MAX_REPLACED})",
                entry.txid,
                replaced.len()
            );
            return Err(Reject::detailed("too many potential replacements", details));
        }
        if !policy.clusters() {
            let old: BTreeSet<OutPoint> =
                rivals().flat_map(|rival| rival.tx.input.iter().map(|input| input.previous_output)).collect();
            let adds = |outpoint: &OutPoint| self.contains(&outpoint.txid) && !old.contains(outpoint);
            if entry.tx.input.iter().any(|input| adds(&input.previous_output)) {
                return Err(Reject::rules("replacement-adds-unconfirmed"));
            }
        }
        let paid = self.sums(&replaced).fee;
        if entry.fee < paid {
            return Err(insufficient(format!(", less fees than conflicting txs; {} < {paid}", entry.fee)));
        }
        let relay = fee_at(policy.relay_fee, entry.vsize);
        if entry.fee - paid < relay {
            return Err(insufficient(format!(", not enough additional fees to relay; {} < {relay}", entry.fee - paid)));
        }
        Ok(replaced)
    }
}

/// BIP 125's opt-in.
pub(crate) fn signals_replacement(tx: &Transaction) -> bool {
    tx.input.iter().any(|input| input.sequence.is_rbf())
}

/// BIP 68 is for version 2 and above, the version being read as unsigned.
fn has_relative_locks(tx: &Transaction) -> bool {
    tx.version.0.cast_unsigned() >= 2
}

/// BIP 68, for a coin created at `height` and spent in the next block.
fn relative_lock_met(sequence: u32, height: u32, context: &Context<'_>) -> bool {
    if sequence & SEQUENCE_DISABLED != 0 {
        return true;
    }
    let span = sequence & 0xffff;
    if sequence & SEQUENCE_TYPE_SECONDS == 0 {
        context.height + 1 >= height + span
    } else {
        let from = (context.median)(height.saturating_sub(1).min(context.height));
        u64::from((context.median)(context.height)) >= u64::from(from) + u64::from(span) * 512
    }
}
