//! Whole transactions, from the raw bytes of blocks.

use bitcoin::{Transaction, consensus::deserialize, hashes::Hash};
use cairn_model::FilePos;
use cairn_reader::{StoredTx, View};

/// Why a transaction's raw bytes are not at hand.
pub(crate) const NO_SOURCE: &str = "no block files and no node at hand";
const UNREADABLE: &str = "the block file is not readable, or no longer holds the block";

/// A transaction with scripts and witnesses, and its bytes. Believed only if its id is the one that was asked for.
///
/// # Errors
/// The reason why there is none: never one that names a path.
pub(crate) fn raw_tx(
    view: &View<'_>,
    tx: &StoredTx,
    position: Option<FilePos>,
) -> Result<(Transaction, Vec<u8>), &'static str> {
    let (raw, position) = view.raw().zip(position).ok_or(NO_SOURCE)?;
    let bytes = raw.read(position, tx.raw_offset, tx.meta().size as usize).map_err(|error| {
        tracing::warn!(%error, "raw bytes of a transaction could not be read");
        UNREADABLE
    })?;
    let decoded: Transaction = deserialize(&bytes).map_err(|_| UNREADABLE)?;
    if decoded.compute_txid().to_byte_array() == tx.txid().0 { Ok((decoded, bytes)) } else { Err(UNREADABLE) }
}
