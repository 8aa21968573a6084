//! Where a transaction is, and what of it only the node has.

use cairn_http::{ApiError, ErrorCode};
use cairn_link::Absent;
use cairn_model::{MempoolTx, Txid};

use super::pending::Departure;
use crate::{
    context::{Ctx, MempoolView},
    node_bytes::{InBlock, TxRequest},
    raw_tx::{wanted_of, wanted_unconfirmed},
};

pub(super) enum FoundTx<'c> {
    Confirmed(InBlock),
    Unconfirmed(&'c MempoolView<'c>, &'c MempoolTx),
}

/// The transaction of that id, confirmed or not.
///
/// # Errors
/// Fails if nobody knows it; the error names why it left the mempool, if it did lately. Fails also while the mempool
/// cannot be read, so that nobody can say.
pub(super) fn find<'c>(ctx: &'c Ctx<'_>, txid: &Txid) -> Result<FoundTx<'c>, ApiError> {
    if let Some(found) = ctx.node_bytes.find(ctx.view()?, txid)? {
        return Ok(FoundTx::Confirmed(found));
    }
    let nowhere = format!("no block of the index holds transaction {txid}");
    let pool = match &ctx.pool {
        Ok(pool) => pool,
        Err(absent @ (Absent::NotWatched | Absent::Lost)) => {
            return Err(ctx.missing(ErrorCode::TxNotFound, format!("{nowhere}; {}", absent.reason())));
        }
        Err(Absent::Loading | Absent::OtherTip) => return Err(ctx.mempool().err().unwrap_or_else(ApiError::internal)),
    };
    if let Some(tx) = pool.mempool.get(txid) {
        return Ok(FoundTx::Unconfirmed(pool, tx));
    }
    let comparing = if ctx.is_comparing() { ", which is being compared with the node's" } else { "" };
    let nowhere = format!("{nowhere}, and it is not in the mempool{comparing}");
    Err(match Departure::of(pool, txid) {
        None => ctx.missing(ErrorCode::TxNotFound, nowhere),
        Some(left) => {
            let departed = serde_json::to_value(&left).map_err(|error| {
                tracing::error!(%error, "an answer could not be written");
                ApiError::internal()
            })?;
            ctx.missing(ErrorCode::TxNotFound, format!("{nowhere}: {}", left.sentence())).with("departed", departed)
        }
    })
}

/// Returns the request to the node for the bytes of the transaction of that id; `None` if they are at hand, or if
/// the transaction is unknown.
pub(super) fn wanted(ctx: &Ctx<'_>, txid: &Txid) -> Result<Option<TxRequest>, ApiError> {
    let Some(view) = ctx.index else { return Ok(None) };
    let found = ctx.node_bytes.find(view, txid)?;
    let wanted = match found.as_deref() {
        Some((tx, header)) => wanted_of(ctx, view, tx, header),
        None => ctx.pool.as_ref().ok().and_then(|pool| pool.mempool.get(txid)).and_then(|tx| wanted_unconfirmed(tx)),
    };
    ctx.node_bytes.keep(*txid, found);
    Ok(wanted)
}
