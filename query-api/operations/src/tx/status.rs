//! `GET /v1/tx/{txid}/status`.

use cairn_http::{ApiError, Info, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pending::{Departure, eta_of};
use crate::{
    context::{BlockRef, Ctx, and_mempool, block_ref, confirmations, first_seen, index_get},
    mempool::tx::EtaRow,
    operation::Operation,
    parameters::identifier::TxidParam,
    values::rfc3339_ms,
};

/// Whether a transaction is confirmed.
pub(crate) struct TxStatus;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TxStatusInput {
    txid: TxidParam,
}

/// Whether a transaction is confirmed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TxStatusOutput {
    txid: String,
    state: State,
    /// Blocks that confirm it, its own included; 0 if none does.
    confirmations: u32,
    /// Its block; null if it is not confirmed.
    block: Option<BlockRef>,
    /// Place in the block; 0 is the coinbase.
    block_index: Option<u32>,
    /// When it was first seen unconfirmed; null if it was not, or that is forgotten.
    mempool_first_seen: Option<String>,
    /// When it will be mined; null unless it is in the mempool and blocks have been projected.
    eta: Option<EtaRow>,
    /// How it left the mempool without being confirmed; null if it did not, or that is forgotten.
    departed: Option<Departure>,
    /// Why it is neither confirmed nor in the mempool, or why that is not known; null if it is.
    reason: Option<String>,
}

/// State of a transaction: `conflicted` if it left the mempool because another spends its coins.
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
        summary: "Whether a transaction is confirmed, and how deep",
        description: "State, confirmations and block of a transaction; for an unconfirmed one when it was first seen \
            and in how many blocks to expect it; for one that left the mempool lately why, and what replaced it. A \
            transaction that nobody knows is answered with 200 and the state `unknown`, so that a client may poll; so \
            is one that was evicted or expired, since other nodes may still have it. For everything else about it use \
            the transaction itself.",
        tool: Tool::reads(
            "asked whether a transaction is confirmed, how deep, or how long it will still take; fit for polling",
            "its inputs and outputs (tx_lookup), or checking that it pays somebody (tx_verify)",
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
        if let Some(tx) = view.tx_by_id(txid)? {
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
            mempool_first_seen: Some(left.first_seen_at()),
            departed: Some(left),
            ..unknown
        })
    }
}
