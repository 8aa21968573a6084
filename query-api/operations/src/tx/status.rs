//! `GET /v1/tx/{txid}/status`.

use super::pending::{Departure, eta_of};
use crate::{
    context::{BlockRef, block_ref, confirmations, first_seen},
    mempool::tx::EtaRow,
    operation::prelude::*,
    parameters::identifier::TxidParam,
    values::rfc3339_ms,
};

pub(crate) struct TxStatus;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TxStatusInput {
    txid: TxidParam,
}

/// Confirmation state of a transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TxStatusOutput {
    txid: String,
    state: State,
    /// Number of confirmations, including the transaction's own block; 0 if unconfirmed.
    confirmations: u32,
    /// Block of the transaction; null if unconfirmed.
    block: Option<BlockRef>,
    /// Index in the block; 0 is the coinbase; null if unconfirmed.
    block_index: Option<u32>,
    /// Time at which the transaction was first seen unconfirmed; null if it was not seen, or if the time is no longer
    /// stored.
    mempool_first_seen: Option<String>,
    /// Estimated confirmation; null unless the transaction is in the mempool and there is a projection.
    eta: Option<EtaRow>,
    /// Departure from the mempool without a confirmation; null if there was none, or if it is no longer stored.
    departed: Option<Departure>,
    /// Why the transaction is neither confirmed nor in the mempool, or why that is unknown; otherwise null.
    reason: Option<String>,
}

/// State of a transaction: `conflicted` if it left the mempool because another transaction spends its coins.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Unknown,
    Mempool,
    Conflicted,
    Confirmed,
}

impl Operation for TxStatus {
    const INFO: Info = Info {
        summary: "Confirmation state of a transaction",
        description: "State, confirmations and block of a transaction. For an unconfirmed one also its first-seen time \
            and the estimated number of blocks until it is mined; for one that recently left the mempool, the reason \
            and its replacement. For an unknown transaction the answer is 200 with the state `unknown`, so clients can \
            poll; likewise for an evicted or expired one, since other nodes may still have it. For its other data use \
            tx_lookup.",
        tool: Tool::reads(
            "asked if a transaction is confirmed, how deep, or how long it will take; suitable for polling",
            "its inputs and outputs (tx_lookup), or checking a payment (tx_verify)",
        ),
        ..and_mempool(index_get("tx_status", "/v1/tx/{txid}/status", "transactions"))
    };
    type Input = TxStatusInput;
    type Output = TxStatusOutput;

    fn run(ctx: &Ctx<'_>, input: TxStatusInput) -> Result<TxStatusOutput, ApiError> {
        let view = ctx.view()?;
        let txid = &input.txid.0;
        let unknown = TxStatusOutput {
            txid: txid.to_string(),
            state: State::Unknown,
            confirmations: 0,
            block: None,
            block_index: None,
            mempool_first_seen: None,
            eta: None,
            departed: None,
            reason: None,
        };
        if let Some(tx) = view.transactions().by_txid(txid)? {
            return Ok(TxStatusOutput {
                state: State::Confirmed,
                confirmations: confirmations(view.tip(), tx.height),
                block: Some(block_ref(view, tx.height)?),
                block_index: Some(tx.index),
                mempool_first_seen: first_seen(ctx, txid),
                ..unknown
            });
        }
        let nowhere = format!("in no block up to height {}", view.tip().height);
        let Some(pool) = ctx.unconfirmed() else {
            let why = ctx.pool.as_ref().err().map_or("", |absent| absent.reason());
            return Ok(TxStatusOutput { reason: Some(format!("{nowhere}; {why}")), ..unknown });
        };
        if let Some(tx) = pool.mempool.get(txid) {
            return Ok(TxStatusOutput {
                state: State::Mempool,
                mempool_first_seen: Some(rfc3339_ms(tx.first_seen_ms)),
                eta: eta_of(pool, txid),
                ..unknown
            });
        }
        let nowhere = format!("{nowhere}, and not in the mempool");
        let Some(left) = Departure::of(pool, txid) else {
            return Ok(TxStatusOutput { reason: Some(nowhere), ..unknown });
        };
        Ok(TxStatusOutput {
            state: if left.is_conflicted() { State::Conflicted } else { State::Unknown },
            reason: Some(format!("{nowhere}: {}", left.sentence())),
            mempool_first_seen: Some(left.mempool_first_seen()),
            departed: Some(left),
            ..unknown
        })
    }
}
