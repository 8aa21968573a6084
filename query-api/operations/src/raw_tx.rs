//! Whole transactions, from the raw bytes of blocks or from the node.

use cairn_model::{FilePos, MempoolTx};
use cairn_reader::{StoredTx, View};
use cairn_tables::headers::HeaderRow;

use crate::{
    context::Ctx,
    node_bytes::{TxRequest, TxWithBytes, decode},
};

/// Why a transaction's raw bytes are not available.
pub(crate) const NO_SOURCE: &str = "neither block files nor a node are available";
const UNREADABLE: &str = "the block file cannot be read, or no longer contains the block";
/// No answer says this: the request ends with its work.
const STOPPED: &str = "the work of the request has stopped";
const NO_NODE: &str = "no node is available";

/// The request to the node for the bytes of a confirmed transaction; `None` if they are available without it.
pub(crate) fn wanted_of(ctx: &Ctx<'_>, view: &View<'_>, tx: &StoredTx, header: &HeaderRow) -> Option<TxRequest> {
    match raw_tx(view, tx, header.position) {
        Ok(whole) => {
            ctx.node_bytes.keep_bytes(tx.txid(), whole);
            None
        }
        Err(STOPPED) => None,
        Err(_) => Some(TxRequest { txid: tx.txid(), block: Some(header.hash) }),
    }
}

/// The request to the node for the bytes of an unconfirmed transaction; `None` if the mempool has them.
pub(crate) fn wanted_unconfirmed(tx: &MempoolTx) -> Option<TxRequest> {
    let is_known = tx.raw.as_ref().is_some_and(|bytes| decode(bytes, &tx.txid).is_some());
    (!is_known).then_some(TxRequest { txid: tx.txid, block: None })
}

/// A confirmed transaction with scripts and witnesses, and its bytes: from the block files, otherwise from the node.
/// Its txid is checked. One transaction of a request may come from the node.
///
/// # Errors
/// Returns the reason, which never contains a path.
pub(crate) fn raw_of(ctx: &Ctx<'_>, tx: &StoredTx, header: &HeaderRow) -> Result<TxWithBytes, &'static str> {
    if let Some(whole) = ctx.node_bytes.at_hand(&tx.txid()) {
        return Ok(whole);
    }
    let view = ctx.index.ok_or(NO_SOURCE)?;
    let reason = match raw_tx(view, tx, header.position) {
        Ok(found) => return Ok(found),
        Err(reason) => reason,
    };
    if ctx.node.is_none() || reason == STOPPED {
        return Err(reason);
    }
    ctx.node_bytes.get(TxRequest { txid: tx.txid(), block: Some(header.hash) })
}

/// An unconfirmed transaction with scripts and witnesses, and its bytes: from the mempool, otherwise from the node. Its
/// txid is checked. One transaction of a request may come from the node.
pub(crate) fn raw_unconfirmed(ctx: &Ctx<'_>, tx: &MempoolTx) -> Result<TxWithBytes, &'static str> {
    let known = tx.raw.as_ref().and_then(|bytes| Some((decode(bytes, &tx.txid)?, bytes.to_vec())));
    match known {
        Some(whole) => Ok(whole),
        None if ctx.node.is_none() => Err(NO_NODE),
        None => ctx.node_bytes.get(TxRequest { txid: tx.txid, block: None }),
    }
}

/// A transaction with scripts and witnesses, and its bytes, from the block files only.
///
/// # Errors
/// Returns the reason, which never contains a path.
pub(crate) fn raw_tx(view: &View<'_>, tx: &StoredTx, position: Option<FilePos>) -> Result<TxWithBytes, &'static str> {
    let (raw, position) = view.raw().zip(position).ok_or(NO_SOURCE)?;
    let size = tx.meta().size as usize;
    view.count_other_bytes(size).map_err(|_| STOPPED)?;
    let bytes = raw.read(position, tx.raw_offset, size).map_err(|error| {
        tracing::warn!(%error, "cannot read the raw bytes of a transaction");
        UNREADABLE
    })?;
    Ok((decode(&bytes, &tx.txid()).ok_or(UNREADABLE)?, bytes))
}
