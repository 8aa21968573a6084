//! A reader that knows nothing but the deltas, and checks each of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use cairn_model::{MempoolDelta, MempoolTx, NodeFloor, RemoveReason, Txid};

use crate::chain::Chain;

#[derive(Default)]
pub struct Reader {
    pub txs: BTreeMap<Txid, Arc<MempoolTx>>,
    spent: HashMap<(Txid, u32), Txid>,
    pub left: HashMap<Txid, RemoveReason>,
    pub floor: Option<NodeFloor>,
    pub tip: Option<cairn_mempool::IndexTip>,
    pub sequence: Option<u64>,
    pub resets: u32,
    pub adds: u32,
    pub removes: u32,
    /// First-seen times of everything that was ever added.
    seen: HashMap<Txid, u64>,
    /// Our chain moved without a word: what it confirmed may leave for no reason.
    pub forgives: bool,
}

impl Reader {
    /// Applies deltas that belong together. `ours` is the chain after them.
    pub fn apply(&mut self, deltas: &[MempoolDelta], ours: &Chain) {
        let mut removed: HashMap<Txid, RemoveReason> = HashMap::new();
        for delta in deltas {
            match delta {
                MempoolDelta::Reset { .. } => {
                    self.resets += 1;
                    self.txs.clear();
                    self.spent.clear();
                    self.sequence = None;
                }
                MempoolDelta::Add(tx) => {
                    self.check(tx, ours);
                    removed.remove(&tx.txid);
                    let seen = *self.seen.entry(tx.txid).or_insert(tx.first_seen_ms);
                    assert_eq!(seen, tx.first_seen_ms, "{} has another first-seen time", tx.txid);
                    for input in &tx.inputs {
                        let rival = self.spent.insert((input.prev_txid, input.prev_vout), tx.txid);
                        assert_eq!(rival, None, "{} spends what another one spends", tx.txid);
                    }
                    self.left.remove(&tx.txid);
                    self.adds += 1;
                    assert!(self.txs.insert(tx.txid, Arc::clone(tx)).is_none(), "{} is added twice", tx.txid);
                }
                MempoolDelta::Remove { txid, reason } => {
                    let tx = self.txs.remove(txid);
                    let tx = tx.unwrap_or_else(|| panic!("{txid} is removed and was not there"));
                    for input in &tx.inputs {
                        self.spent.remove(&(input.prev_txid, input.prev_vout));
                    }
                    self.removes += 1;
                    self.left.insert(*txid, *reason);
                    removed.insert(*txid, *reason);
                }
                MempoolDelta::Block { height, hash, time } => {
                    self.tip = Some(cairn_mempool::IndexTip { height: *height, hash: *hash, time: *time });
                }
                MempoolDelta::Sequence(sequence) => self.sequence = Some(*sequence),
                MempoolDelta::NodeFloor(floor) => {
                    assert_ne!(self.floor.replace(*floor), Some(*floor), "an unchanged floor is told");
                }
            }
        }
        for (txid, reason) in removed {
            let confirmed = matches!(reason, RemoveReason::Confirmed { .. });
            assert!(self.forgives || confirmed == ours.holds(&txid), "{txid} left as {reason:?}");
            if !confirmed && !self.forgives {
                let orphan = self.spent.iter().find(|((parent, _), _)| *parent == txid);
                assert_eq!(orphan, None, "a child of {txid} stays behind ({reason:?})");
            }
        }
    }

    /// Whatever is added has its parents here, or its coins in the chain.
    fn check(&self, tx: &MempoolTx, ours: &Chain) {
        assert!(!ours.holds(&tx.txid), "{} is confirmed and added", tx.txid);
        let mut income = 0;
        for input in &tx.inputs {
            let coin = ours.has(&(input.prev_txid, input.prev_vout));
            let here = self.txs.get(&input.prev_txid).map(|parent| &parent.outputs[input.prev_vout as usize]);
            match (input.birth, coin, here) {
                (Some(birth), Some(coin), None) => {
                    assert_eq!((birth, input.value, &input.script), (coin.height, coin.value, &coin.script));
                }
                (None, Some(coin), None) => assert_eq!((input.value, &input.script), (coin.value, &coin.script)),
                (None, None, Some(output)) => assert_eq!((input.value, &input.script), (output.value, &output.script)),
                // Its parent was confirmed, and nobody said so.
                (None, Some(coin), Some(_)) if self.forgives => assert_eq!(input.value, coin.value),
                other => panic!("{} is added and spends {}: {other:?}", tx.txid, input.prev_txid),
            }
            income += input.value;
        }
        let outgo: u64 = tx.outputs.iter().map(|output| output.value).sum();
        assert_eq!(income - outgo, tx.fee_sats);
    }

    /// The sender was started again: it remembers only what it had.
    pub fn restarted(&mut self) {
        self.seen.retain(|txid, _| self.txs.contains_key(txid));
        self.floor = None;
    }

    pub fn ids(&self) -> BTreeSet<Txid> {
        self.txs.keys().copied().collect()
    }
}
