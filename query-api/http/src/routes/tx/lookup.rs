//! `GET /v1/tx/{txid}`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    find,
    io::{InputRow, OutputRow, inputs, outputs},
};
use crate::{
    context::{BlockRef, Ctx, confirmations},
    error::ApiError,
    identifiers::TxidParam,
    operation::{Info, Operation, Tier},
    raw_tx::raw_tx,
    routes::blocks::{CoinbaseTag, coinbase_tag},
    values::{Btc, SatVb, rfc3339, sat_vb},
};

/// A whole transaction.
pub(crate) struct TxLookup;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TxLookupInput {
    txid: TxidParam,
    /// Whether to give the serialized transaction too.
    #[serde(default)]
    include_hex: bool,
    /// Most inputs, and most outputs, to list; the largest transactions have more than 20 000.
    #[serde(default = "default_io_limit")]
    #[schemars(range(min = 1, max = 25_000))]
    io_limit: u32,
}

fn default_io_limit() -> u32 {
    1000
}

/// A whole transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TxLookupOutput {
    txid: String,
    /// Id with witness; null where the raw bytes are not at hand.
    wtxid: Option<String>,
    version: Option<i32>,
    locktime: Option<u32>,
    /// Bytes, with witness.
    size: u32,
    /// Virtual bytes.
    vsize: u64,
    /// Weight units.
    weight: u64,
    /// 0 for a coinbase.
    fee_sats: u64,
    fee_btc: Btc,
    /// Fee by virtual size; null for a coinbase.
    fee_rate_sat_vb: Option<SatVb>,
    input_sats: u64,
    output_sats: u64,
    input_count: u32,
    output_count: u32,
    inputs: Vec<InputRow>,
    outputs: Vec<OutputRow>,
    /// Inputs beyond `io_limit`.
    inputs_omitted: u32,
    /// Outputs beyond `io_limit`.
    outputs_omitted: u32,
    status: TxState,
    /// Whether it signals that it may be replaced (BIP 125); null where the raw bytes are not at hand.
    rbf: Option<bool>,
    /// Ancestors and descendants in the mempool: null for a confirmed transaction.
    cpfp: Option<u32>,
    /// Whether it is the coinbase of its block.
    is_coinbase: bool,
    /// What its coinbase says; null if it is none.
    coinbase: Option<CoinbaseTag>,
    /// Whether it has OP_RETURN outputs; they are decoded by the operation `op-return`.
    has_op_return: bool,
    /// The serialized transaction, if asked for and at hand.
    hex: Option<String>,
    /// Why members that need the raw bytes are null; null if they are not.
    raw_reason: Option<&'static str>,
}

/// How certain it is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TxState {
    state: &'static str,
    confirmations: u32,
    block: BlockRef,
    /// Place in the block; 0 is the coinbase.
    block_index: u32,
}

impl Operation for TxLookup {
    const INFO: Info = Info {
        summary: "A transaction with its inputs, outputs, fee and block",
        description: "Everything about a confirmed transaction: each input with the coin that it spends, each output \
            with who spent it, fee, feerate, sizes and confirmations. scriptSig, witness, version and locktime come \
            from the block files; where those are not at hand they are null and `raw_reason` says why.",
        tier: Tier::Premium,
        capability: Some("tx_lookup"),
        price_sats: Some(5),
        errors: &[(404, "tx_not_found")],
        ..Info::get("tx_lookup", "/v1/tx/{txid}", "transactions")
    };
    type Input = TxLookupInput;
    type Output = TxLookupOutput;

    fn run(ctx: &Ctx<'_>, input: TxLookupInput) -> Result<TxLookupOutput, ApiError> {
        let view = ctx.view()?;
        let tx = find(ctx, input.txid)?;
        let header = view.header(tx.height)?.ok_or_else(ApiError::internal)?;
        let (raw, bytes, raw_reason) = match raw_tx(view, &tx, header.position) {
            Ok((raw, bytes)) => (Some(raw), Some(bytes), None),
            Err(reason) => (None, None, Some(reason)),
        };
        let (meta, limit) = (tx.meta(), input.io_limit as usize);
        let is_coinbase = tx.is_coinbase();
        let input_count = if is_coinbase { 1 } else { meta.inputs.len() as u32 };
        let output_count = meta.outputs.len() as u32;
        let outputs = outputs(view, &tx, limit)?;
        Ok(TxLookupOutput {
            txid: tx.txid().to_string(),
            wtxid: raw.as_ref().map(|r| r.compute_wtxid().to_string()),
            version: raw.as_ref().map(|r| r.version.0),
            locktime: raw.as_ref().map(|r| r.lock_time.to_consensus_u32()),
            size: meta.size,
            vsize: meta.vsize(),
            weight: meta.weight(),
            fee_sats: tx.fee_sats(),
            fee_btc: Btc::of(tx.fee_sats()),
            fee_rate_sat_vb: sat_vb(tx.fee_sats(), meta.vsize()).filter(|_| !is_coinbase),
            input_sats: tx.input_sats(),
            output_sats: tx.output_sats(),
            input_count,
            output_count,
            inputs: inputs(view, &tx, raw.as_ref(), limit)?,
            inputs_omitted: input_count.saturating_sub(input.io_limit),
            outputs_omitted: output_count.saturating_sub(input.io_limit),
            status: TxState {
                state: "confirmed",
                confirmations: confirmations(view.tip(), tx.height),
                block: BlockRef {
                    height: tx.height,
                    hash: header.hash.to_string(),
                    time: rfc3339(header.time()),
                    time_unix: header.time(),
                },
                block_index: tx.index,
            },
            rbf: raw.as_ref().map(|r| !is_coinbase && r.is_explicitly_rbf()),
            cpfp: None,
            is_coinbase,
            coinbase: is_coinbase.then(|| coinbase_tag(&header.coinbase_script)),
            has_op_return: tx.outputs().iter().any(|o| tx.script(o).first() == Some(&0x6a)),
            hex: bytes.filter(|_| input.include_hex).map(hex::encode),
            raw_reason,
            outputs,
        })
    }
}
