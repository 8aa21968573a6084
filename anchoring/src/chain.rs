//! The chain as the index has it.

use cairn_model::Txid;
use cairn_node::BlockAt;

/// A block that has a transaction, and the transactions of that block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The block.
    pub block: BlockAt,
    /// Ids of its transactions in their order.
    pub txids: Vec<Txid>,
}

/// The chain of the index, from which proofs are made and served.
pub trait Chain {
    /// Its tip; `None` while it has no block.
    ///
    /// # Errors
    /// Returns a sentence for the log.
    fn tip(&self) -> Result<Option<BlockAt>, String>;

    /// The blocks that have these transactions; `None` for those that are in no block.
    ///
    /// # Errors
    /// Returns a sentence for the log.
    fn find(&self, txids: &[Txid]) -> Result<Vec<Option<BlockAt>>, String>;

    /// The block with its transactions; `None` if the chain no longer has it.
    ///
    /// # Errors
    /// Returns a sentence for the log.
    fn block(&self, block: BlockAt) -> Result<Option<Found>, String>;

    /// The recommended feerate in satoshis per 1,000 virtual bytes; `None` while it is unknown.
    fn feerate(&self) -> Option<u64>;
}
