//! Unconfirmed transactions for the tests: unsigned, since nobody here checks scripts, but whole in every other way.

use std::sync::Arc;

use bitcoin::{
    Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness, absolute::LockTime, consensus::serialize,
    hashes::Hash, transaction::Version,
};
use cairn_link::MempoolSlot;
use cairn_model::{BlockHash, MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, NodeFloor, RemoveReason, Txid};

use crate::support::World;

/// The fees that a node demands in these tests: 1 sat/vB, as long as its mempool is not full.
pub const FLOOR: NodeFloor =
    NodeFloor { mempool_min_fee: 1_000, min_relay_fee: 1_000, max_bytes: 300_000_000, usage_bytes: 1_000_000 };
/// When the first transaction of a test was first seen: milliseconds since 1970.
pub const SEEN: u64 = 1_790_000_000_000;

/// Unconfirmed transactions over a world's chain, as a node would have them.
pub struct Waiting<'w> {
    world: &'w World,
    pub slot: Arc<MempoolSlot>,
    /// Those that were made so far.
    pub made: Vec<(Transaction, Arc<MempoolTx>)>,
    sequence: u64,
}

impl<'w> Waiting<'w> {
    /// An empty mempool at the world's tip.
    pub fn at_tip(world: &'w World) -> Self {
        let mut waiting = Waiting { world, slot: world.slot.pool(), made: Vec::new(), sequence: 1 };
        waiting.slot.apply(&[MempoolDelta::Reset { sequence: 1 }, MempoolDelta::NodeFloor(FLOOR)]);
        waiting.block();
        waiting
    }

    /// Says that the world's tip is the tip.
    pub fn block(&mut self) {
        let blocks = self.world.oracle.blocks();
        let tip = blocks.last().unwrap();
        let (height, hash) = ((blocks.len() - 1) as u32, BlockHash(tip.block_hash().to_byte_array()));
        self.tell(vec![MempoolDelta::Block { height, hash, time: tip.header.time }]);
    }

    /// Applies deltas, completes them, and projects.
    pub fn tell(&mut self, mut deltas: Vec<MempoolDelta>) {
        self.sequence += deltas.len() as u64;
        deltas.push(MempoolDelta::Sequence(self.sequence));
        self.slot.apply(&deltas);
        self.slot.refresh();
    }

    /// A transaction that spends these coins, confirmed or made before, and pays `fee` sats. The remainder, if there is
    /// any, goes to a last output with the first coin's own script. Nobody knows of it yet.
    pub fn make(&mut self, spends: &[OutPoint], outputs: &[(ScriptBuf, u64)], fee: u64) -> Arc<MempoolTx> {
        let coins: Vec<(OutPoint, TxOut, Option<u32>)> = spends.iter().map(|at| self.coin(at)).collect();
        let have: u64 = coins.iter().map(|(_, out, _)| out.value.to_sat()).sum();
        let paid: u64 = outputs.iter().map(|(_, value)| value).sum();
        let mut output: Vec<TxOut> = outputs
            .iter()
            .map(|(script, value)| TxOut { value: Amount::from_sat(*value), script_pubkey: script.clone() })
            .collect();
        let change = have.checked_sub(paid + fee).expect("the coins cover it");
        if change > 0 {
            output.push(TxOut { value: Amount::from_sat(change), script_pubkey: coins[0].1.script_pubkey.clone() });
        }
        let input = coins.iter().map(|(at, ..)| TxIn {
            previous_output: *at,
            script_sig: ScriptBuf::new(),
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            witness: Witness::from_slice(&[[7u8; 71].as_slice(), &[2; 33]]),
        });
        let tx = Transaction { version: Version::TWO, lock_time: LockTime::ZERO, input: input.collect(), output };
        let resolved = Arc::new(MempoolTx {
            txid: id(&tx),
            wtxid: Txid(tx.compute_wtxid().to_byte_array()),
            size: tx.total_size() as u32,
            base_size: tx.base_size() as u32,
            sigop_cost: tx.input.len() as u32,
            fee_sats: fee,
            version: 2,
            lock_time: 0,
            first_seen_ms: SEEN + 1_000 * self.made.len() as u64,
            inputs: coins
                .iter()
                .map(|(at, out, birth)| MempoolInput {
                    prev_txid: Txid(at.txid.to_byte_array()),
                    prev_vout: at.vout,
                    sequence: Sequence::ENABLE_RBF_NO_LOCKTIME.0,
                    value: out.value.to_sat(),
                    script: out.script_pubkey.as_bytes().into(),
                    birth: *birth,
                })
                .collect(),
            outputs: tx
                .output
                .iter()
                .map(|out| MempoolOutput { value: out.value.to_sat(), script: out.script_pubkey.as_bytes().into() })
                .collect(),
            raw: Some(serialize(&tx).into()),
        });
        self.made.push((tx, Arc::clone(&resolved)));
        resolved
    }

    /// Makes a transaction, and it enters the mempool.
    pub fn send(&mut self, spends: &[OutPoint], outputs: &[(ScriptBuf, u64)], fee: u64) -> Arc<MempoolTx> {
        let tx = self.make(spends, outputs, fee);
        self.tell(vec![MempoolDelta::Add(Arc::clone(&tx))]);
        tx
    }

    /// A transaction leaves the mempool.
    pub fn leave(&mut self, tx: &MempoolTx, reason: RemoveReason) {
        self.tell(vec![MempoolDelta::Remove { txid: tx.txid, reason }]);
    }

    /// Coins of the chain that these tests may spend, worth at least `value` each, the oldest first.
    pub fn coins(&self, value: u64) -> impl Iterator<Item = OutPoint> + use<'w> {
        let spendable = move |(at, coin): (&OutPoint, &cairn_testkit::Coin)| (coin.value_sats >= value).then_some(*at);
        self.world.oracle.coins().iter().filter_map(spendable)
    }

    fn coin(&self, at: &OutPoint) -> (OutPoint, TxOut, Option<u32>) {
        if let Some(coin) = self.world.oracle.coins().get(at) {
            let out = TxOut { value: Amount::from_sat(coin.value_sats), script_pubkey: coin.script.clone() };
            return (*at, out, Some(coin.height));
        }
        let parent = self.made.iter().find(|(tx, _)| tx.compute_txid() == at.txid).expect("a coin or an own output");
        (*at, parent.0.output[at.vout as usize].clone(), None)
    }
}

/// An output of an unconfirmed transaction.
pub fn output(tx: &MempoolTx, vout: u32) -> OutPoint {
    OutPoint::new(bitcoin::Txid::from_byte_array(tx.txid.0), vout)
}

fn id(tx: &Transaction) -> Txid {
    Txid(tx.compute_txid().to_byte_array())
}
