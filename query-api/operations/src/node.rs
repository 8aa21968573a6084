//! Access to a node, for requests that neither index nor mempool can answer.

use cairn_model::{BlockHash, Txid};

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
}
