//! `GET /v1/tx/{txid}/status`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    context::{BlockRef, Ctx, block_ref, confirmations},
    error::ApiError,
    identifiers::TxidParam,
    operation::{Info, Operation},
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
    /// Why the state is not known; null if it is.
    reason: Option<String>,
}

/// State of a transaction.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Unknown,
    #[allow(dead_code, reason = "part of the vocabulary; needs a mempool source")]
    Mempool,
    #[allow(dead_code, reason = "part of the vocabulary; needs a mempool source")]
    Conflicted,
    Confirmed,
}

impl Operation for TxStatus {
    const INFO: Info = Info {
        summary: "Whether a transaction is confirmed, and how deep",
        description: "State, confirmations and block of a transaction. A transaction that nobody knows is answered \
            with 200 and the state `unknown`, so that a client may poll. For everything else about it use the \
            transaction itself.",
        ..Info::get("tx_status", "/v1/tx/{txid}/status", "transactions")
    };
    type Input = TxStatusInput;
    type Output = TxStatusOutput;

    fn run(ctx: &Ctx<'_>, input: TxStatusInput) -> Result<TxStatusOutput, ApiError> {
        let view = ctx.view()?;
        let txid = input.txid.0.to_string();
        let Some(tx) = view.tx_by_id(&input.txid.0)? else {
            let reason = format!("in no block up to height {}; no mempool source", view.tip().height);
            return Ok(TxStatusOutput {
                txid,
                state: State::Unknown,
                confirmations: 0,
                block: None,
                block_index: None,
                reason: Some(reason),
            });
        };
        Ok(TxStatusOutput {
            txid,
            state: State::Confirmed,
            confirmations: confirmations(view.tip(), tx.height),
            block: Some(block_ref(view, tx.height)?),
            block_index: Some(tx.index),
            reason: None,
        })
    }
}
