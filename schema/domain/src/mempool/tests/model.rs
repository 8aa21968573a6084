//! A mempool as a plain list, in which everything is found by looking at everything.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cairn_model::{MempoolInput, MempoolOutput, MempoolTx, Txid, is_unspendable};

use crate::{
    FeeRate,
    mempool::{Mempool, ScriptEffect, Template},
    script_sha256,
};

#[derive(Debug, Default, Clone)]
pub(super) struct Model {
    pub(super) txs: Vec<Arc<MempoolTx>>,
}

fn spends(child: &MempoolTx, parent: &MempoolTx) -> bool {
    let of_parent = |vout: u32| (vout as usize) < parent.outputs.len();
    child.inputs.iter().any(|input| input.prev_txid == parent.txid && of_parent(input.prev_vout))
}

fn share_a_coin(a: &MempoolTx, b: &MempoolTx) -> bool {
    let coins = |tx: &MempoolTx| -> BTreeSet<_> { tx.inputs.iter().map(|i| (i.prev_txid, i.prev_vout)).collect() };
    !coins(a).is_disjoint(&coins(b))
}

impl Model {
    pub(super) fn get(&self, txid: Txid) -> &Arc<MempoolTx> {
        self.txs.iter().find(|tx| tx.txid == txid).unwrap()
    }

    pub(super) fn has(&self, txid: Txid) -> bool {
        self.txs.iter().any(|tx| tx.txid == txid)
    }

    pub(super) fn parents(&self, tx: &MempoolTx) -> BTreeSet<Txid> {
        self.txs.iter().filter(|other| spends(tx, other)).map(|other| other.txid).collect()
    }

    pub(super) fn children(&self, tx: &MempoolTx) -> BTreeSet<Txid> {
        self.txs.iter().filter(|other| spends(other, tx)).map(|other| other.txid).collect()
    }

    fn closure(&self, start: Txid, next: impl Fn(&MempoolTx) -> BTreeSet<Txid>) -> BTreeSet<Txid> {
        let mut all = BTreeSet::from([start]);
        loop {
            let more: BTreeSet<Txid> = all.iter().flat_map(|txid| next(self.get(*txid))).collect();
            let before = all.len();
            all.extend(more);
            if all.len() == before {
                all.remove(&start);
                return all;
            }
        }
    }

    pub(super) fn ancestors(&self, txid: Txid) -> BTreeSet<Txid> {
        self.closure(txid, |tx| self.parents(tx))
    }

    pub(super) fn descendants(&self, txid: Txid) -> BTreeSet<Txid> {
        self.closure(txid, |tx| self.children(tx))
    }

    pub(super) fn remove(&mut self, txid: Txid) {
        self.txs.retain(|tx| tx.txid != txid);
    }

    /// Rivals leave with all that depends on them.
    pub(super) fn add(&mut self, tx: &Arc<MempoolTx>) -> BTreeSet<Txid> {
        let rivals: BTreeSet<Txid> = self.txs.iter().filter(|o| share_a_coin(o, tx)).map(|o| o.txid).collect();
        let mut gone = rivals.clone();
        gone.extend(rivals.iter().flat_map(|rival| self.descendants(*rival)));
        for txid in &gone {
            self.remove(*txid);
        }
        self.txs.push(Arc::clone(tx));
        gone
    }

    /// Every script with the effect of each transaction on it, newest first.
    pub(super) fn by_script(&self) -> BTreeMap<[u8; 32], Vec<ScriptEffect>> {
        let mut all: BTreeMap<[u8; 32], Vec<ScriptEffect>> = BTreeMap::new();
        for tx in &self.txs {
            let received = tx.outputs.iter().filter(|o| !is_unspendable(&o.script)).map(|o| (&o.script, o.value, 0));
            let sent = tx.inputs.iter().map(|i| (&i.script, 0, i.value));
            for (script, received, sent) in received.chain(sent) {
                let list = all.entry(script_sha256(script)).or_default();
                match list.iter_mut().find(|effect| effect.txid == tx.txid) {
                    Some(effect) => {
                        effect.received_sats += received;
                        effect.sent_sats += sent;
                    }
                    None => list.push(ScriptEffect {
                        txid: tx.txid,
                        first_seen_ms: tx.first_seen_ms,
                        received_sats: received,
                        sent_sats: sent,
                    }),
                }
            }
        }
        for list in all.values_mut() {
            list.sort_by_key(|effect| Reverse((effect.first_seen_ms, effect.txid)));
        }
        all
    }

    /// Blocks filled by the rules of the miner; every package and every score is computed again at every step.
    pub(super) fn mine(&self, template: &Template) -> Vec<Vec<(Txid, FeeRate)>> {
        let ancestors: BTreeMap<Txid, BTreeSet<Txid>> =
            self.txs.iter().map(|tx| (tx.txid, self.ancestors(tx.txid))).collect();
        let mut mined: BTreeSet<Txid> = BTreeSet::new();
        let mut blocks = Vec::new();
        while blocks.len() < template.max_blocks.into() {
            let block = self.mine_one(template, &ancestors, &mut mined);
            if block.is_empty() {
                break;
            }
            blocks.push(block);
        }
        blocks
    }

    fn mine_one(
        &self,
        template: &Template,
        ancestors: &BTreeMap<Txid, BTreeSet<Txid>>,
        mined: &mut BTreeSet<Txid>,
    ) -> Vec<(Txid, FeeRate)> {
        let (mut weight, mut sigops) = (template.reserved_weight, template.reserved_sigops);
        let mut block = Vec::new();
        // Until one of its ancestors is mined, a candidate that failed fails again.
        let mut failed: BTreeSet<(Txid, BTreeSet<Txid>)> = BTreeSet::new();
        let mut failures = 0;
        loop {
            let mut best: Option<(u64, u64, Txid, BTreeSet<Txid>)> = None;
            for tx in self.txs.iter().filter(|tx| !mined.contains(&tx.txid)) {
                let mut package: BTreeSet<Txid> = &ancestors[&tx.txid] - mined;
                package.insert(tx.txid);
                if failed.contains(&(tx.txid, package.clone())) {
                    continue;
                }
                let (fee, vsize) = self.sums(&package);
                let (own_fee, own_vsize) = (tx.fee_sats, tx.adjusted_vsize());
                let own_is_lower = own_fee * vsize <= fee * own_vsize;
                let (fee, vsize) = if own_is_lower { (own_fee, own_vsize) } else { (fee, vsize) };
                let better = best.as_ref().is_none_or(|(best_fee, best_vsize, txid, _)| {
                    let (mine, best) = (fee * best_vsize, best_fee * vsize);
                    mine > best || mine == best && tx.txid < *txid
                });
                if better {
                    best = Some((fee, vsize, tx.txid, package));
                }
            }
            let Some((_, _, tip, package)) = best else { return block };
            let (fee, vsize) = self.sums(&package);
            if fee * 1000 < template.min_rate.0 * vsize {
                return block;
            }
            let cost: u64 = package.iter().map(|txid| u64::from(self.get(*txid).sigop_cost)).sum();
            if weight + 4 * vsize >= template.max_weight || sigops + cost >= template.max_sigops {
                failed.insert((tip, package));
                failures += 1;
                if failures > 1000 && weight > template.max_weight - 4000 {
                    return block;
                }
                continue;
            }
            failures = 0;
            weight += package.iter().map(|txid| self.get(*txid).weight()).sum::<u64>();
            sigops += cost;
            let rate = FeeRate::of(fee, vsize).unwrap();
            let mut package: Vec<Txid> = package.into_iter().collect();
            package.sort_by_key(|txid| ((&ancestors[txid] - mined).len(), *txid));
            mined.extend(&package);
            block.extend(package.into_iter().map(|txid| (txid, rate)));
        }
    }

    fn sums(&self, package: &BTreeSet<Txid>) -> (u64, u64) {
        let txs = || package.iter().map(|txid| self.get(*txid));
        (txs().map(|tx| tx.fee_sats).sum(), txs().map(|tx| tx.adjusted_vsize()).sum())
    }

    /// Compares everything that can be asked.
    pub(super) fn assert_equals(&self, pool: &Mempool) {
        let stats = pool.stats(0);
        assert_eq!(stats.count, self.txs.len() as u64);
        assert_eq!(stats.vsize, self.txs.iter().map(|tx| tx.adjusted_vsize()).sum::<u64>());
        assert_eq!(stats.weight, self.txs.iter().map(|tx| tx.weight()).sum::<u64>());
        assert_eq!(stats.fees_sats, self.txs.iter().map(|tx| tx.fee_sats).sum::<u64>());
        assert_eq!(stats.usage_bytes == 0, self.txs.is_empty());
        for tx in &self.txs {
            assert_eq!(pool.get(&tx.txid), Some(tx));
            for input in &tx.inputs {
                assert_eq!(pool.spender(&input.prev_txid, input.prev_vout), Some(tx.txid));
            }
            let relatives = pool.relatives(&tx.txid, usize::MAX).unwrap();
            let sorted = |set: BTreeSet<Txid>| set.into_iter().collect::<Vec<_>>();
            assert_eq!(relatives.parents, sorted(self.parents(tx)));
            assert_eq!(relatives.children, sorted(self.children(tx)));
            let sides =
                [(relatives.ancestors, self.ancestors(tx.txid)), (relatives.descendants, self.descendants(tx.txid))];
            for (package, expected) in sides {
                assert_eq!((package.fees_sats, package.vsize), self.sums(&expected));
                assert_eq!((package.txids, package.truncated), (sorted(expected), false));
            }
        }
        for (script, effects) in self.by_script() {
            let totals = pool.script_totals(&script);
            assert_eq!(totals.tx_count, effects.len() as u64);
            let net: i128 = effects.iter().map(|e| i128::from(e.received_sats) - i128::from(e.sent_sats)).sum();
            assert_eq!(totals.net_sats(), net);
            let spendable = |o: &&MempoolOutput| !is_unspendable(&o.script) && script_sha256(&o.script) == script;
            let received: usize = self.txs.iter().map(|tx| tx.outputs.iter().filter(spendable).count()).sum();
            let of_script = |i: &&MempoolInput| script_sha256(&i.script) == script;
            let sent: usize = self.txs.iter().map(|tx| tx.inputs.iter().filter(of_script).count()).sum();
            assert_eq!((totals.received_count, totals.sent_count), (received as u64, sent as u64));
            assert_eq!(pool.script_txs(&script, None, usize::MAX), effects);
            // Page by page it is the same list.
            let mut pages = Vec::new();
            while let Some(next) =
                pool.script_txs(&script, pages.last().map(|e: &ScriptEffect| (e.first_seen_ms, e.txid)), 1).first()
            {
                pages.push(*next);
            }
            assert_eq!(pages, effects);
        }
    }
}
