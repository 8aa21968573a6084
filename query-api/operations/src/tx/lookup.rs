//! `GET /v1/tx/{txid}`.

use cairn_model::MempoolTx;
use cairn_reader::StoredTx;
use cairn_tables::headers::HeaderRow;

use super::{
    FoundTx, find,
    io::{InputRow, OutputRow, PartBounds, inputs, outputs, unconfirmed_inputs, unconfirmed_outputs},
    pending::{Cpfp, eta_of, replaced},
    wanted,
};
use crate::{
    blocks::{CoinbaseTag, coinbase_tag},
    context::{BlockRef, MempoolView, confirmations, first_seen},
    mempool::tx::EtaRow,
    node_bytes::TxRequest,
    operation::prelude::*,
    parameters::identifier::TxidParam,
    raw_tx::{raw_of, raw_unconfirmed},
    values::{SatVb, rfc3339_ms, sat_vb},
};

pub(crate) struct TxLookup;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TxLookupInput {
    txid: TxidParam,
    /// If true, the answer includes the serialized transaction.
    #[serde(default)]
    include_hex: bool,
    /// Maximum number of inputs and of outputs to list. Default: up to 1 000, fewer if their scripts are long. The
    /// largest transactions have more than 100 000 outputs.
    #[schemars(range(min = 1, max = 25_000))]
    io_limit: Option<u32>,
    /// Index of the first input to list.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    inputs_from: u32,
    /// Index of the first output to list.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    outputs_from: u32,
}

/// Rows of a list, where the request names no number; and their bytes.
const ROWS: (u32, usize) = (1_000, 350 << 10);
/// Bytes of a list, where it does.
const MAX_BYTES: usize = 3 << 20;

impl TxLookupInput {
    /// The inputs to list, and the outputs.
    fn parts(&self) -> (PartBounds, PartBounds) {
        let (rows, bytes) = self.io_limit.map_or(ROWS, |rows| (rows, MAX_BYTES));
        let part = |from| PartBounds { from, rows, bytes };
        (part(self.inputs_from), part(self.outputs_from))
    }
}

/// A whole transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TxLookupOutput {
    txid: String,
    /// Transaction id including the witness; null for a confirmed transaction whose raw bytes are not available, as are
    /// `version`, `locktime` and `rbf`.
    wtxid: Option<String>,
    /// Version as an unsigned number, as in Bitcoin Core from 28.0 on.
    version: Option<u32>,
    locktime: Option<u32>,
    /// Size in bytes, including the witness.
    size: u32,
    /// Virtual size in virtual bytes.
    vsize: u64,
    /// Weight in weight units.
    weight: u64,
    /// Fee in satoshis; 0 for a coinbase.
    fee_sats: u64,
    fee_btc: Btc,
    /// Feerate: fee divided by vsize; null for a coinbase.
    fee_rate_sat_vb: Option<SatVb>,
    input_sats: u64,
    output_sats: u64,
    input_count: u32,
    output_count: u32,
    inputs: Vec<InputRow>,
    outputs: Vec<OutputRow>,
    /// Number of inputs that are not listed.
    inputs_omitted: u32,
    /// Number of outputs that are not listed.
    outputs_omitted: u32,
    /// `inputs_from` of the next inputs; null at the end.
    next_inputs_from: Option<u32>,
    /// `outputs_from` of the next outputs; null at the end.
    next_outputs_from: Option<u32>,
    status: TxState,
    /// True if the transaction signals replaceability (BIP 125). Nodes with full replace-by-fee also replace
    /// transactions that do not signal.
    rbf: Option<bool>,
    /// Ancestors and descendants in the mempool; null for a confirmed transaction.
    cpfp: Option<Cpfp>,
    /// Estimated confirmation; null for a confirmed transaction, and before the first projection.
    eta: Option<EtaRow>,
    /// True if the transaction is a coinbase.
    is_coinbase: bool,
    /// Script and text of the coinbase; null if the transaction is not a coinbase.
    coinbase: Option<CoinbaseTag>,
    /// True if the transaction has OP_RETURN outputs. The operation `op-return` decodes them.
    has_op_return: bool,
    /// The serialized transaction; null unless requested and available.
    hex: Option<String>,
    /// Why fields that need the raw bytes are null; otherwise null.
    raw_reason: Option<&'static str>,
}

/// Confirmation status.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TxState {
    /// `mempool` or `confirmed`.
    state: &'static str,
    /// Number of confirmations; 0 while unconfirmed.
    confirmations: u32,
    /// Block of the transaction; null while unconfirmed.
    block: Option<BlockRef>,
    /// Index in the block; 0 is the coinbase; null while unconfirmed.
    block_index: Option<u32>,
    /// Time at which the transaction was first seen unconfirmed; null if it was not seen, or if the time is no longer
    /// stored.
    mempool_first_seen: Option<String>,
    /// Ids of the transactions that this one replaced in the mempool, if still stored, the oldest first; at most 100.
    replaces: Vec<String>,
    /// True if the transaction replaced more.
    replaces_truncated: bool,
}

impl Operation for TxLookup {
    const INFO: Info = Info {
        summary: "A transaction with its inputs, outputs, fee and block",
        description: "All data of a transaction, confirmed or in the mempool: each input with the coin that it spends, \
            each output with its spender (including unconfirmed ones), fee, feerate, sizes and confirmations. For an \
            unconfirmed transaction also its first-seen time, the transactions that it replaced, its relatives and the \
            estimated confirmation. Fields that need the raw bytes are null if these are not available, and \
            `raw_reason` says why. For a transaction that recently left the mempool, the 404 has the reason in \
            `departed`. Inputs and outputs have the label that sources give their script; `trust-safety` has its \
            evidence.",
        errors: &[ErrorCode::TxNotFound],
        freshness: &[TIP, MEMPOOL, CLAIMS, LABELS],
        tool: Tool::reads(
            "asked about a transaction: its inputs, outputs, fee, sizes, and what spends its outputs",
            "only its confirmation (tx_status), checking a payment (tx_verify), or text inside it (op_return_decode)",
        ),
        ..and_mempool(index_get("tx_lookup", "/v1/tx/{txid}", "transactions"))
    };
    type Input = TxLookupInput;
    type Output = TxLookupOutput;

    fn wants(ctx: &Ctx<'_>, input: &Self::Input) -> Result<Option<TxRequest>, ApiError> {
        wanted(ctx, &input.txid.0)
    }

    fn run(ctx: &Ctx<'_>, input: TxLookupInput) -> Result<TxLookupOutput, ApiError> {
        let view = ctx.view()?;
        match find(ctx, &input.txid.0)? {
            FoundTx::Confirmed(found) => confirmed(ctx, view, &found, &input),
            FoundTx::Unconfirmed(pool, tx) => unconfirmed(ctx, view, pool, tx, &input),
        }
    }
}

fn is_op_return(script: &[u8]) -> bool {
    script.first() == Some(&0x6a)
}

fn confirmed(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    (tx, header): &(StoredTx, HeaderRow),
    input: &TxLookupInput,
) -> Result<TxLookupOutput, ApiError> {
    let (raw, bytes, raw_reason) = match raw_of(ctx, tx, header) {
        Ok((raw, bytes)) => (Some(raw), Some(bytes).filter(|_| input.include_hex), None),
        Err(reason) => (None, None, Some(reason)),
    };
    let (meta, (listed_inputs, listed_outputs)) = (tx.meta(), input.parts());
    let is_coinbase = tx.is_coinbase();
    let input_count = if is_coinbase { 1 } else { meta.inputs.len() as u32 };
    let output_count = meta.outputs.len() as u32;
    let (inputs, next_inputs_from) = inputs(ctx, view, tx, raw.as_ref(), listed_inputs)?;
    let (outputs, next_outputs_from) = outputs(ctx, view, tx, listed_outputs)?;
    // It may have replaced others before it confirmed.
    let (replaces, replaces_truncated) =
        ctx.pool.as_ref().map_or((Vec::new(), false), |pool| replaced(pool, &tx.txid()));
    Ok(TxLookupOutput {
        txid: tx.txid().to_string(),
        wtxid: raw.as_ref().map(|r| r.compute_wtxid().to_string()),
        version: raw.as_ref().map(|r| r.version.0.cast_unsigned()),
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
        inputs_omitted: input_count.saturating_sub(inputs.len() as u32),
        outputs_omitted: output_count.saturating_sub(outputs.len() as u32),
        next_inputs_from,
        next_outputs_from,
        inputs,
        status: TxState {
            state: "confirmed",
            confirmations: confirmations(view.tip(), tx.height),
            block: Some(BlockRef {
                height: tx.height,
                hash: header.hash.to_string(),
                time: rfc3339(header.time()),
                time_unix: header.time(),
            }),
            block_index: Some(tx.index),
            mempool_first_seen: first_seen(ctx, &tx.txid()),
            replaces,
            replaces_truncated,
        },
        rbf: raw.as_ref().map(|r| !is_coinbase && r.is_explicitly_rbf()),
        cpfp: None,
        eta: None,
        is_coinbase,
        coinbase: is_coinbase.then(|| coinbase_tag(&header.coinbase_script)),
        has_op_return: tx.outputs().iter().any(|o| is_op_return(tx.script(o))),
        hex: bytes.map(hex::encode),
        raw_reason,
        outputs,
    })
}

fn unconfirmed(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    pool: &MempoolView<'_>,
    tx: &MempoolTx,
    input: &TxLookupInput,
) -> Result<TxLookupOutput, ApiError> {
    let (raw, bytes, raw_reason) = match raw_unconfirmed(ctx, tx) {
        Ok((raw, bytes)) => (Some(raw), Some(bytes).filter(|_| input.include_hex), None),
        Err(reason) => (None, None, Some(reason)),
    };
    let (listed_inputs, listed_outputs) = input.parts();
    let (inputs, next_inputs_from) = unconfirmed_inputs(ctx, view, pool.mempool, tx, raw.as_ref(), listed_inputs)?;
    let (outputs, next_outputs_from) = unconfirmed_outputs(ctx, pool, tx, listed_outputs, view)?;
    // At most as many as fit into a block.
    let (input_count, output_count) = (tx.inputs.len() as u32, tx.outputs.len() as u32);
    let (replaces, replaces_truncated) = replaced(pool, &tx.txid);
    Ok(TxLookupOutput {
        txid: tx.txid.to_string(),
        wtxid: Some(tx.wtxid.to_string()),
        version: Some(tx.version.cast_unsigned()),
        locktime: Some(tx.lock_time),
        size: tx.size,
        vsize: tx.vsize(),
        weight: tx.weight(),
        fee_sats: tx.fee_sats,
        fee_btc: Btc::of(tx.fee_sats),
        fee_rate_sat_vb: sat_vb(tx.fee_sats, tx.vsize()),
        input_sats: tx.inputs.iter().map(|i| i.value).sum(),
        output_sats: tx.outputs.iter().map(|o| o.value).sum(),
        input_count,
        output_count,
        inputs_omitted: input_count.saturating_sub(inputs.len() as u32),
        outputs_omitted: output_count.saturating_sub(outputs.len() as u32),
        next_inputs_from,
        next_outputs_from,
        inputs,
        outputs,
        status: TxState {
            state: "mempool",
            confirmations: 0,
            block: None,
            block_index: None,
            mempool_first_seen: Some(rfc3339_ms(tx.first_seen_ms)),
            replaces,
            replaces_truncated,
        },
        rbf: Some(tx.signals_rbf()),
        cpfp: Some(Cpfp::of(pool, tx)),
        eta: eta_of(pool, &tx.txid),
        is_coinbase: false,
        coinbase: None,
        has_op_return: tx.outputs.iter().any(|o| is_op_return(&o.script)),
        hex: bytes.map(hex::encode),
        raw_reason,
    })
}
