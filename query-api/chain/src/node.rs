//! Access to a node, for requests that neither index nor mempool can answer.

use cairn_model::{BlockHash, Txid};
use serde_json::{Value, json};

/// Why a node did not accept a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The node rejected the transaction.
    Rejected {
        /// The node's error code: -22, -25, -26 or -27.
        code: i64,
        /// The node's reason, verbatim.
        reason: String,
    },
    /// The node is unreachable.
    Unavailable,
}

/// Limits of a broadcast. `None`: the node's own.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BroadcastLimits {
    /// Highest feerate in satoshis per virtual byte.
    pub max_fee_rate_sat_vb: Option<u32>,
    /// Highest amount of an unspendable output in satoshis.
    pub max_burn_sats: Option<u64>,
}

/// The node is unreachable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreachable;

/// A question that only the node can answer. Other protocols pass its answer on as it is.
#[derive(Clone, PartialEq, Debug)]
pub enum Question {
    /// Sends transactions that depend on each other, parents first (`submitpackage`).
    SubmitPackage(Vec<Vec<u8>>, BroadcastLimits),
    /// Asks if transactions would be accepted together (`testmempoolaccept`).
    TestAccept(Vec<Vec<u8>>, BroadcastLimits),
    /// The feerate at which a transaction confirms within a number of blocks (`estimatesmartfee`), with a mode of the
    /// node.
    EstimateFee(u16, Option<&'static str>),
    /// The decoded form of a transaction in this block, or in the mempool without one (`getrawtransaction`).
    DecodedTransaction(Txid, Option<BlockHash>),
    /// Limits and usage of the mempool (`getmempoolinfo`).
    MempoolInfo,
}

impl Question {
    /// The method of the node's RPC interface.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Question::SubmitPackage(..) => "submitpackage",
            Question::TestAccept(..) => "testmempoolaccept",
            Question::EstimateFee(..) => "estimatesmartfee",
            Question::DecodedTransaction(..) => "getrawtransaction",
            Question::MempoolInfo => "getmempoolinfo",
        }
    }

    /// Its parameters.
    #[must_use]
    pub fn params(&self) -> Value {
        let hex = |all: &[Vec<u8>]| all.iter().map(hex::encode).collect::<Vec<_>>();
        match self {
            Question::SubmitPackage(raw, limits) => json!([hex(raw), limits.max_feerate_btc(), limits.max_burn_btc()]),
            Question::TestAccept(raw, limits) => json!([hex(raw), limits.max_feerate_btc()]),
            Question::EstimateFee(blocks, None) => json!([blocks]),
            Question::EstimateFee(blocks, Some(mode)) => json!([blocks, mode]),
            Question::DecodedTransaction(txid, None) => json!([txid.to_string(), true]),
            Question::DecodedTransaction(txid, Some(block)) => json!([txid.to_string(), true, block.to_string()]),
            Question::MempoolInfo => json!([]),
        }
    }
}

impl BroadcastLimits {
    /// The highest feerate in bitcoin per 1,000 virtual bytes, as the node reads it.
    fn max_feerate_btc(self) -> Option<String> {
        self.max_fee_rate_sat_vb.map(|rate| btc(u64::from(rate) * 1_000))
    }

    /// The highest unspendable amount in bitcoin, as the node reads it.
    fn max_burn_btc(self) -> Option<String> {
        self.max_burn_sats.map(btc)
    }
}

/// Satoshis in bitcoin: the node accepts text for a number.
fn btc(sats: u64) -> String {
    format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000)
}

/// A node for requests. Calls may block, but end within seconds.
pub trait NodeAccess: Send + Sync + 'static {
    /// Broadcasts a transaction that stays within the limits.
    ///
    /// # Errors
    /// Fails if the node rejects it, or is unreachable.
    fn broadcast(&self, raw: &[u8], limits: BroadcastLimits) -> Result<Txid, Refused>;

    /// Asks if the node would accept a transaction, without sending it. Only the limit of the feerate counts.
    ///
    /// # Errors
    /// Fails if the node would reject it, or is unreachable.
    fn check(&self, raw: &[u8], limits: BroadcastLimits) -> Result<(), Refused>;

    /// Bytes of a transaction in the given block, or in the mempool without one; `None` if it is not there.
    fn raw_transaction(&self, txid: &Txid, block: Option<&BlockHash>) -> Result<Option<Vec<u8>>, Unreachable>;

    /// Bytes of a block; `None` if the node does not have it.
    fn raw_block(&self, hash: &BlockHash) -> Result<Option<Vec<u8>>, Unreachable>;

    /// The node's answer to a question, as it is.
    ///
    /// # Errors
    /// Fails if the node refuses to answer, or is unreachable.
    fn ask(&self, question: &Question) -> Result<Value, Refused>;

    /// Feerates in bitcoin per 1,000 virtual bytes at which a transaction confirms within each of these numbers of
    /// blocks, in their order; `None` where the node does not know enough. A node that can answers them all at once.
    ///
    /// # Errors
    /// Fails if the node is unreachable.
    fn fee_estimates(&self, blocks: &[u16]) -> Result<Vec<Option<f64>>, Unreachable> {
        let estimate = |blocks: &u16| match self.ask(&Question::EstimateFee(*blocks, None)) {
            Ok(answer) => Ok(answer["feerate"].as_f64()),
            Err(Refused::Rejected { .. }) => Ok(None),
            Err(Refused::Unavailable) => Err(Unreachable),
        };
        blocks.iter().map(estimate).collect()
    }
}
