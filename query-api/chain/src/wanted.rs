//! Transactions whose bytes only the node has, and how they are fetched.

use std::collections::HashMap;

use bitcoin::{
    Block,
    consensus::{deserialize, serialize},
    hashes::Hash,
};
use cairn_http::{ApiError, ErrorCode, Work};
use cairn_model::{BlockHash, Txid};

use crate::node::{NodeAccess, Unreachable};

/// Most transactions of a request that are fetched one by one.
const MAX_SINGLE: usize = 1_000;
/// Most bytes of them.
const MAX_BYTES: usize = 16 << 20;
/// From this many transactions of a block on, the whole block is fetched: a node reads it for each of them otherwise.
const WHOLE_BLOCK: usize = 3;

/// Bytes that only the node has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) txid: Txid,
    /// `None`: in the mempool.
    pub(crate) block: Option<BlockHash>,
}

/// Fetches bytes from the node, while nothing is pinned. Transactions that it does not have are left out.
///
/// # Errors
/// Returns 422 beyond the limits, and 503 if the node cannot be reached.
pub(crate) fn fetch(node: &dyn NodeAccess, wanted: &[Wanted], work: &Work) -> Result<HashMap<Txid, Vec<u8>>, ApiError> {
    let mut by_block: HashMap<Option<BlockHash>, Vec<Txid>> = HashMap::new();
    for Wanted { txid, block } in wanted {
        by_block.entry(*block).or_default().push(*txid);
    }
    let mut brought = Brought { node, work, by_txid: HashMap::new(), singles: 0, bytes: 0 };
    for (block, txids) in by_block {
        match block {
            Some(block) if txids.len() >= WHOLE_BLOCK => brought.block(&block)?,
            _ => txids.iter().try_for_each(|txid| brought.single(txid, block.as_ref()))?,
        }
    }
    Ok(brought.by_txid)
}

struct Brought<'n> {
    node: &'n dyn NodeAccess,
    work: &'n Work,
    by_txid: HashMap<Txid, Vec<u8>>,
    singles: usize,
    bytes: usize,
}

impl Brought<'_> {
    fn single(&mut self, txid: &Txid, block: Option<&BlockHash>) -> Result<(), ApiError> {
        self.singles += 1;
        if self.singles > MAX_SINGLE {
            let detail = format!("more than {MAX_SINGLE} transactions of the answer are only known to the node");
            return Err(ApiError::new(ErrorCode::WorkLimitExceeded, detail));
        }
        self.work.poll()?;
        match (self.node.raw_transaction(txid, block).map_err(unreachable)?, block) {
            (Some(bytes), _) => self.add(*txid, bytes),
            // It has the coinbase of the genesis block only as a part of the block.
            (None, Some(block)) => self.block(block),
            (None, None) => Ok(()),
        }
    }

    /// Fetches all transactions of a block.
    fn block(&mut self, hash: &BlockHash) -> Result<(), ApiError> {
        self.work.poll()?;
        let Some(bytes) = self.node.raw_block(hash).map_err(unreachable)? else { return Ok(()) };
        self.work.read(bytes.len())?;
        let block: Block = deserialize(&bytes).map_err(|_| ApiError::internal())?;
        drop(bytes);
        for tx in block.txdata {
            self.work.poll()?;
            self.add(Txid(tx.compute_txid().to_byte_array()), serialize(&tx))?;
        }
        Ok(())
    }

    fn add(&mut self, txid: Txid, bytes: Vec<u8>) -> Result<(), ApiError> {
        self.bytes += bytes.len();
        if self.bytes > MAX_BYTES {
            let detail = format!("more than {MAX_BYTES} bytes of the answer's transactions are only known to the node");
            return Err(ApiError::new(ErrorCode::WorkLimitExceeded, detail));
        }
        self.work.keep(bytes.len())?;
        self.by_txid.insert(txid, bytes);
        Ok(())
    }
}

fn unreachable(_: Unreachable) -> ApiError {
    ApiError::unavailable(ErrorCode::NodeUnavailable, "the node cannot be reached", 5)
}
