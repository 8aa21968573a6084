//! The mempool as the indexer sends it to the query API: resolved transactions, and deltas from one state to the next.
//! Plain data with a bounded binary form.

mod codec;

use std::sync::Arc;

pub use codec::{BadMempoolBytes, MAX_DELTA_BYTES};

use crate::{BlockHash, Height, Sats, Txid};

/// Virtual bytes that one signature operation counts for in a mempool (Bitcoin Core's `-bytespersigop` default).
pub const BYTES_PER_SIGOP: u64 = 20;

/// An input of an unconfirmed transaction, with the coin that it spends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MempoolInput {
    /// Transaction that created the coin.
    pub prev_txid: Txid,
    /// Index of the output in it.
    pub prev_vout: u32,
    /// nSequence.
    pub sequence: u32,
    /// Value of the coin.
    pub value: Sats,
    /// scriptPubKey of the coin.
    pub script: Box<[u8]>,
    /// Height of the block that created the coin; `None` if it was unconfirmed when this transaction was first seen. It
    /// is not updated when the parent confirms later.
    pub birth: Option<Height>,
}

/// An output of an unconfirmed transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MempoolOutput {
    /// Its value.
    pub value: Sats,
    /// Its scriptPubKey.
    pub script: Box<[u8]>,
}

/// An unconfirmed transaction, resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MempoolTx {
    /// Transaction id.
    pub txid: Txid,
    /// Witness transaction id; equal to `txid` without witness.
    pub wtxid: Txid,
    /// Serialized size in bytes, with witness.
    pub size: u32,
    /// Serialized size in bytes, without witness.
    pub base_size: u32,
    /// Cost of its signature operations as a block counts them (a legacy one costs 4).
    pub sigop_cost: u32,
    /// Inputs minus outputs.
    pub fee_sats: Sats,
    /// nVersion.
    pub version: i32,
    /// nLockTime.
    pub lock_time: u32,
    /// When it was first seen, in milliseconds since 1970 (UTC). Kept through restarts.
    pub first_seen_ms: u64,
    /// Its inputs in order.
    pub inputs: Box<[MempoolInput]>,
    /// Its outputs in order.
    pub outputs: Box<[MempoolOutput]>,
    /// The serialized transaction with witness, if the sender included it.
    pub raw: Option<Box<[u8]>>,
}

impl MempoolTx {
    /// Weight units (BIP 141).
    #[must_use]
    pub fn weight(&self) -> u64 {
        u64::from(self.base_size) * 3 + u64::from(self.size)
    }

    /// Virtual size (BIP 141), as shown to people: weight / 4, rounded up.
    #[must_use]
    pub fn vsize(&self) -> u64 {
        self.weight().div_ceil(4)
    }

    /// Virtual size as Bitcoin Core's mempool and miner count it: many signature operations make it larger.
    #[must_use]
    pub fn adjusted_vsize(&self) -> u64 {
        self.weight().max(u64::from(self.sigop_cost) * BYTES_PER_SIGOP).div_ceil(4)
    }

    /// True if it signals replaceability (BIP 125) itself.
    #[must_use]
    pub fn signals_rbf(&self) -> bool {
        self.inputs.iter().any(|input| input.sequence < 0xffff_fffe)
    }
}

/// Why a transaction left the mempool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RemoveReason {
    /// It is in a block.
    Confirmed {
        /// Height of the block.
        height: Height,
    },
    /// Another unconfirmed transaction replaced it (RBF) or one of its ancestors.
    Replaced {
        /// The replacing transaction.
        by: Txid,
    },
    /// The node's mempool was full.
    Evicted,
    /// A block spends one of its coins, or a reorg made it invalid.
    Conflict,
    /// It expired.
    Expired,
    /// The node gave no reason.
    Unknown,
}

/// Limits and usage of the node's mempool (`getmempoolinfo`). Feerates in satoshis per 1 000 virtual bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeFloor {
    /// `mempoolminfee`: the current minimum of the mempool.
    pub mempool_min_fee: u64,
    /// `minrelaytxfee`: the fixed minimum.
    pub min_relay_fee: u64,
    /// `maxmempool`: memory that it may take, in bytes.
    pub max_bytes: u64,
    /// `usage`: memory that the mempool takes, in bytes.
    pub usage_bytes: u64,
}

impl NodeFloor {
    /// Minimum feerate to enter the mempool, in satoshis per 1 000 virtual bytes.
    #[must_use]
    pub fn entry_fee(&self) -> u64 {
        self.mempool_min_fee.max(self.min_relay_fee)
    }
}

/// A change of the mempool. A reader that applies all deltas in order has the sender's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MempoolDelta {
    /// Removes all transactions; a snapshot follows. The state is incomplete until the next [`Self::Sequence`].
    Reset {
        /// The node's mempool sequence of the snapshot.
        sequence: u64,
    },
    /// A transaction entered.
    Add(Arc<MempoolTx>),
    /// A transaction left. Descendants that leave too have their own deltas.
    Remove {
        /// Its txid.
        txid: Txid,
        /// The reason.
        reason: RemoveReason,
    },
    /// This block is the new tip. Transactions that it confirmed, or that a reorg returned, have their own deltas.
    Block {
        /// Its height.
        height: Height,
        /// Its hash.
        hash: BlockHash,
        /// Time of its header, seconds since 1970 (UTC).
        time: u32,
    },
    /// Everything up to this mempool sequence of the node is applied; the state is complete.
    Sequence(u64),
    /// The node's limits changed.
    NodeFloor(NodeFloor),
}

/// Statistics of the mempool at one time, stored in the journal for the history of stress. Feerates in satoshis per 1
/// 000 virtual bytes, components of stress in millionths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MempoolSample {
    /// Time in seconds since 1970 (UTC).
    pub time_unix: u64,
    /// Height of the tip at that time.
    pub height: Option<Height>,
    /// Number of transactions.
    pub count: u64,
    /// Sum of their adjusted virtual sizes.
    pub vsize: u64,
    /// Sum of their fees.
    pub fees_sats: Sats,
    /// Median feerate of the next projected block; 0 if the mempool is empty.
    pub next_block_median: u64,
    /// Inflow in thousandths of a virtual byte per second.
    pub inflow_milli_vb_s: Option<u64>,
    /// The node's `mempoolminfee`.
    pub mempool_min_fee: Option<u64>,
    /// The node's `minrelaytxfee`.
    pub min_relay_fee: Option<u64>,
    /// Stress in millionths of full stress.
    pub stress: Option<u32>,
    /// Component b, the backlog.
    pub stress_backlog: Option<u32>,
    /// Component f, the percentile of the feerate within 30 days.
    pub stress_feerate: Option<u32>,
    /// Component g, the inflow.
    pub stress_inflow: Option<u32>,
    /// Component e, the entry feerate.
    pub stress_entry: Option<u32>,
}
