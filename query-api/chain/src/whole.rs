//! Whole transactions, with scripts and witnesses: from the block files or the mempool, otherwise from the node.

use bitcoin::{Transaction, consensus::deserialize, hashes::Hash};
use cairn_http::{ApiError, ErrorCode};
use cairn_model::{BlockHash, Height, MempoolTx, TxNum, Txid};
use cairn_reader::StoredTx;
use cairn_tables::headers::HeaderRow;

use crate::{pinned::Pinned, wanted::Wanted};

/// The block of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
    /// The time of its header, in seconds since 1970.
    pub time: u32,
}

/// A whole transaction.
#[derive(Clone, Debug)]
pub struct Whole {
    /// The transaction.
    pub tx: Transaction,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its record in the index; `None` if it is unconfirmed.
    pub stored: Option<StoredTx>,
    /// Its block; `None` if it is unconfirmed.
    pub at: Option<At>,
}

impl Pinned<'_> {
    /// A transaction by its id, confirmed or not; `None` if nobody knows it.
    pub fn whole(&self, txid: &Txid) -> Result<Option<Whole>, ApiError> {
        if let Some(stored) = self.view.transactions().by_txid(txid)? {
            return self.confirmed(stored).map(Some);
        }
        self.mempool()?.get(txid).map(|tx| self.unconfirmed(tx)).transpose()
    }

    /// Confirmed transactions by their numbers. Bytes that the node has to bring are noted for all of
    /// them before this fails.
    pub fn whole_of(&self, numbers: &[TxNum]) -> Result<Vec<Whole>, ApiError> {
        self.view.transactions().fetch(numbers)?;
        let mut all = Vec::with_capacity(numbers.len());
        for number in numbers {
            let stored = self.view.transactions().get(*number)?.ok_or_else(ApiError::internal)?;
            all.push(self.confirmed(stored));
        }
        all.into_iter().collect()
    }

    /// Unconfirmed transactions. Bytes that the node has to bring are noted for all of
    /// them before this fails.
    pub fn whole_unconfirmed<'t>(&self, txs: impl IntoIterator<Item = &'t MempoolTx>) -> Result<Vec<Whole>, ApiError> {
        let all: Vec<_> = txs.into_iter().map(|tx| self.unconfirmed(tx)).collect();
        all.into_iter().collect()
    }

    /// The header of a block of the chain.
    pub fn header(&self, height: Height) -> Result<HeaderRow, ApiError> {
        self.view.header(height)?.ok_or_else(ApiError::internal)
    }

    /// The block at this height of the chain.
    pub fn at(&self, height: Height) -> Result<At, ApiError> {
        let header = self.header(height)?;
        Ok(At { height, hash: header.hash, time: header.time() })
    }

    fn confirmed(&self, stored: StoredTx) -> Result<Whole, ApiError> {
        let header = self.header(stored.height)?;
        let txid = stored.txid();
        let at = Some(At { height: stored.height, hash: header.hash, time: header.time() });
        let from_file = || {
            let (raw, position) = self.view.raw().zip(header.position)?;
            let size = stored.meta().size as usize;
            Some((raw.read(position, stored.raw_offset, size), size))
        };
        let (tx, bytes) = match from_file() {
            Some((read, size)) => {
                self.view.count_other_bytes(size)?;
                let read =
                    read.inspect_err(|error| tracing::warn!(%error, "the bytes of a transaction are unreadable"));
                match read.ok().and_then(|bytes| decode(bytes, &txid)) {
                    Some(decoded) => decoded,
                    None => self.brought(Wanted { txid, block: Some(header.hash) })?,
                }
            }
            None => self.brought(Wanted { txid, block: Some(header.hash) })?,
        };
        Ok(Whole { tx, bytes, stored: Some(stored), at })
    }

    fn unconfirmed(&self, tx: &MempoolTx) -> Result<Whole, ApiError> {
        let known = tx.raw.as_ref().and_then(|bytes| decode(bytes.to_vec(), &tx.txid));
        let (tx, bytes) = match known {
            Some(decoded) => decoded,
            None => self.brought(Wanted { txid: tx.txid, block: None })?,
        };
        Ok(Whole { tx, bytes, stored: None, at: None })
    }

    /// Bytes that the node has brought. Those that it is to bring are noted.
    fn brought(&self, wanted: Wanted) -> Result<(Transaction, Vec<u8>), ApiError> {
        let Some(brought) = self.brought else {
            self.wanted.borrow_mut().push(wanted);
            let detail = "neither block files nor a node have the bytes of this transaction";
            return Err(ApiError::unavailable(ErrorCode::NodeUnavailable, detail, 60));
        };
        let decoded = brought.get(&wanted.txid).and_then(|bytes| decode(bytes.clone(), &wanted.txid));
        let detail = "the node does not have the bytes of this transaction";
        decoded.ok_or_else(|| ApiError::unavailable(ErrorCode::NodeUnavailable, detail, 10))
    }
}

/// Parses a serialized transaction; `None` if it is invalid, or has another id.
fn decode(bytes: Vec<u8>, txid: &Txid) -> Option<(Transaction, Vec<u8>)> {
    let decoded: Transaction = deserialize(&bytes).ok()?;
    (decoded.compute_txid().to_byte_array() == txid.0).then_some((decoded, bytes))
}
