//! Makes transactions, and whole histories of a mempool from a list of numbers.

use std::sync::Arc;

use cairn_model::{BlockHash, MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, NodeFloor, RemoveReason, Txid};
use proptest::{collection::vec, prelude::*};

use super::model::Model;
use crate::script_sha256;

/// Inputs, size and fee of a transaction to build.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    /// Coin: txid, vout, value.
    pub(super) coins: Vec<(Txid, u32, u64)>,
    pub(super) outputs: usize,
    pub(super) fee: u64,
    pub(super) base_size: u32,
    pub(super) witness: u32,
    pub(super) sigop_cost: u32,
    pub(super) seen: u64,
    /// Its coins were unconfirmed when it came.
    pub(super) unconfirmed: bool,
}

pub(super) fn txid(number: u64) -> Txid {
    Txid(script_sha256(&number.to_le_bytes()))
}

/// A few scripts, so that they are shared; one is unspendable.
fn script(number: u64) -> Box<[u8]> {
    match number % 7 {
        0 => [0x6a, 1, 2].into(),
        n => vec![0x51, n as u8].into(),
    }
}

pub(super) fn tx(number: u64, plan: &Plan) -> Arc<MempoolTx> {
    let input = |(prev_txid, prev_vout, value): &(Txid, u32, u64)| MempoolInput {
        prev_txid: *prev_txid,
        prev_vout: *prev_vout,
        sequence: 0xffff_fffd,
        value: *value,
        script: script(u64::from(prev_txid.0[0]) + u64::from(*prev_vout)),
        birth: (!plan.unconfirmed).then_some(7),
    };
    let id = txid(number);
    let spent: u64 = plan.coins.iter().map(|(.., value)| value).sum();
    let left = spent - plan.fee;
    let share = left / plan.outputs as u64;
    let output = |n: usize| MempoolOutput {
        value: if n == 0 { left - share * (plan.outputs as u64 - 1) } else { share },
        script: script(u64::from(id.0[0]) + n as u64),
    };
    Arc::new(MempoolTx {
        txid: id,
        wtxid: id,
        size: plan.base_size + plan.witness,
        base_size: plan.base_size,
        sigop_cost: plan.sigop_cost,
        fee_sats: plan.fee,
        version: 2,
        lock_time: 0,
        first_seen_ms: plan.seen,
        inputs: plan.coins.iter().map(input).collect(),
        outputs: (0..plan.outputs).map(output).collect(),
        raw: None,
    })
}

/// One step, as numbers that the state gives a meaning to.
pub(super) type RandomStep = (u8, [prop::sample::Index; 4], u64);

pub(super) fn steps(max: usize) -> impl Strategy<Value = Vec<RandomStep>> {
    vec((0u8..16, any::<[prop::sample::Index; 4]>(), any::<u64>()), 1..max)
}

/// A history in the making.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) model: Model,
    /// Confirmed ones, which a reorg may give back.
    confirmed: Vec<Arc<MempoolTx>>,
    next: u64,
}

impl World {
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn fresh_coin(&mut self, chance: u64) -> (Txid, u32, u64) {
        (txid((1 << 40) + self.fresh()), (chance % 3) as u32, 1_000_000 + chance % 1_000_000)
    }

    /// A coin that nobody spends yet, of the mempool or of the chain.
    fn coin(&mut self, index: &prop::sample::Index, chance: u64) -> (Txid, u32, u64) {
        let mut free = Vec::new();
        for tx in &self.model.txs {
            for (output, vout) in tx.outputs.iter().zip(0..) {
                let spent =
                    |other: &Arc<MempoolTx>| other.inputs.iter().any(|i| (i.prev_txid, i.prev_vout) == (tx.txid, vout));
                if output.value > 20_000 && !self.model.txs.iter().any(spent) {
                    free.push((tx.txid, vout, output.value));
                }
            }
        }
        if free.is_empty() || chance.is_multiple_of(3) { self.fresh_coin(chance) } else { *index.get(&free) }
    }

    fn make(&mut self, mut coins: Vec<(Txid, u32, u64)>, chance: u64) -> Arc<MempoolTx> {
        coins.sort_unstable();
        coins.dedup_by_key(|(txid, vout, _)| (*txid, *vout));
        let plan = Plan {
            coins,
            outputs: 1 + (chance >> 8) as usize % 3,
            // Few different fees and sizes, so that there are ties.
            fee: [0, 100, 200, 400, 1000, 5000][(chance >> 16) as usize % 6],
            base_size: [100, 200, 400, 900][(chance >> 24) as usize % 4],
            witness: [0, 0, 101, 300][(chance >> 32) as usize % 4],
            sigop_cost: [0, 4, 4, 120][(chance >> 40) as usize % 4],
            seen: (chance >> 48) % 1000,
            unconfirmed: chance.is_multiple_of(2),
        };
        let number = self.fresh();
        tx(number, &plan)
    }

    /// Takes a step in the model, and says it in deltas.
    pub(super) fn step(&mut self, (kind, at, chance): &RandomStep) -> Vec<MempoolDelta> {
        let chance = *chance;
        let pick = |model: &Model| (!model.txs.is_empty()).then(|| at[3].get(&model.txs).clone());
        let add = |world: &mut World, tx: Arc<MempoolTx>| {
            world.model.add(&tx);
            vec![MempoolDelta::Add(tx)]
        };
        match (kind, pick(&self.model)) {
            (0..=7, _) | (_, None) => {
                let count = 1 + chance as usize % 3;
                let coins = (0..count).map(|n| self.coin(&at[n], chance >> n)).collect();
                let made = self.make(coins, chance);
                add(self, made)
            }
            (8 | 9, Some(rival)) => {
                let input = at[0].get(&rival.inputs);
                let mut coins = vec![(input.prev_txid, input.prev_vout, input.value)];
                coins.push(self.coin(&at[1], chance));
                let made = self.make(coins, chance);
                add(self, made)
            }
            (10, Some(worst)) => {
                let mut gone: Vec<Txid> = self.model.descendants(worst.txid).into_iter().collect();
                gone.insert(if chance.is_multiple_of(2) { 0 } else { gone.len() }, worst.txid);
                let reason = at[0].get(&[RemoveReason::Evicted, RemoveReason::Expired, RemoveReason::Conflict]);
                gone.iter().for_each(|txid| self.model.remove(*txid));
                gone.into_iter().map(|txid| MempoolDelta::Remove { txid, reason: *reason }).collect()
            }
            (11 | 12, Some(mined)) => {
                let mut gone = self.model.ancestors(mined.txid);
                gone.insert(mined.txid);
                let mut deltas = Vec::new();
                for txid in gone {
                    self.confirmed.push(Arc::clone(self.model.get(txid)));
                    self.model.remove(txid);
                    deltas.push(MempoolDelta::Remove { txid, reason: RemoveReason::Confirmed { height: 9 } });
                }
                deltas.push(MempoolDelta::Block { height: 9, hash: BlockHash([9; 32]), time: 9 });
                deltas
            }
            (13, Some(_)) if !self.confirmed.is_empty() => {
                let back = self.confirmed.swap_remove(at[0].index(self.confirmed.len()));
                if self.model.has(back.txid) { Vec::new() } else { add(self, back) }
            }
            (14, Some(known)) => vec![
                MempoolDelta::Add(known),
                MempoolDelta::Remove { txid: txid(chance), reason: RemoveReason::Unknown },
            ],
            (_, Some(_)) => vec![
                MempoolDelta::NodeFloor(NodeFloor {
                    mempool_min_fee: chance % 3000,
                    min_relay_fee: 100,
                    max_bytes: 1,
                    usage_bytes: 1,
                }),
                MempoolDelta::Sequence(chance),
            ],
        }
    }
}
