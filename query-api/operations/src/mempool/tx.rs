//! `GET /v1/mempool/tx/{txid}`.

use cairn_domain::{
    FeeRate,
    mempool::{Departed, Eta, MEMPOOL_ETA, Mempool, Projection, RelatedTxs},
};
use cairn_model::{MempoolTx, RemoveReason, Txid};
use serde_json::{Map, Value, json};

use super::{
    BLOCK_SECONDS, FRESHNESS, ProjectionFacts, UNAVAILABLE,
    io::{ROW_BYTES, UnconfirmedInput, UnconfirmedOutput, inputs, outputs},
    projected,
};
use crate::{
    operation::prelude::*,
    parameters::{identifier::TxidParam, limit::Limit},
    values::{SatVb, rfc3339_ms, sat_vb},
};

/// Maximum number of relatives to walk in each direction. Nodes allow a few dozen.
const WALK: usize = 1_000;
const MAX_REPLACED: usize = 100;

pub(crate) struct MempoolTransaction;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MempoolTransactionInput {
    txid: TxidParam,
    /// Maximum number of ancestors and of descendants to list by txid.
    #[serde(default)]
    relatives_limit: Limit<100, 1_000, 0>,
    /// Maximum number of inputs and of outputs to list.
    #[serde(default)]
    io_limit: Limit<100, 25_000, 0>,
}

/// An unconfirmed transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MempoolTransactionOutput {
    txid: String,
    /// Transaction id including the witness.
    wtxid: String,
    version: i32,
    locktime: u32,
    /// Size in bytes, including the witness.
    size: u32,
    /// Virtual size: weight / 4, rounded up.
    vsize: u64,
    /// Virtual size as the node's mempool counts it: larger than `vsize` if there are many signature operations.
    adjusted_vsize: u64,
    weight: u64,
    /// Signature operation cost.
    sigop_cost: u32,
    fee_sats: u64,
    fee_btc: Btc,
    /// Feerate: fee divided by adjusted vsize.
    fee_rate_sat_vb: Option<SatVb>,
    /// Time at which the indexer first saw the transaction. A restart does not change it.
    mempool_first_seen: String,
    /// Feerate of the package with which the transaction would be mined; null if it arrived after the projection.
    effective_fee_rate_sat_vb: Option<SatVb>,
    /// Index of the projected block that contains the transaction (0 is the next one); null if none does, or if it
    /// arrived after the projection.
    projected_block: Option<u32>,
    eta: EtaRow,
    ancestors: Relations,
    descendants: Relations,
    /// Ids of the transactions whose outputs this one spends, at most `relatives_limit`.
    parents: Vec<String>,
    /// Ids of the transactions that spend outputs of this one, at most `relatives_limit`.
    children: Vec<String>,
    /// True if the transaction signals replaceability (BIP 125). Nodes with full replace-by-fee (default since v28)
    /// also replace transactions that do not signal.
    rbf: bool,
    /// True if the transaction or an unconfirmed ancestor signals replaceability; null if there are too many ancestors.
    bip125_replaceable: Option<bool>,
    /// Ids of the transactions that this one replaced, if still stored, the oldest first; at most 100.
    replaces: Vec<String>,
    input_count: usize,
    output_count: usize,
    inputs: Vec<UnconfirmedInput>,
    /// Number of inputs above `io_limit`.
    inputs_omitted: usize,
    outputs: Vec<UnconfirmedOutput>,
    /// Number of outputs above `io_limit`.
    outputs_omitted: usize,
    /// Time of the mempool data.
    as_of: String,
    projection: ProjectionFacts,
}

/// Estimated confirmation if no other transaction arrives.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EtaRow {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    state: EtaState,
    /// Number of blocks until the transaction is mined (1: the next one); an estimate for `beyond_projection`. Null if
    /// unknown.
    blocks: Option<u32>,
    /// Minimum number of blocks until the transaction is mined; null if unknown.
    at_least_blocks: Option<u32>,
    /// `blocks` times ten minutes; null if `blocks` is null.
    seconds: Option<u64>,
    /// Why `blocks` is null; otherwise null.
    reason: Option<&'static str>,
}

/// Basis of the estimate.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EtaState {
    /// The transaction is in a projected block.
    Projected,
    /// The transaction is after the projected blocks; estimated from the transactions at its feerate or a higher one.
    BeyondProjection,
    /// The package of the transaction pays less than the miners' minimum feerate.
    BelowMinimum,
    /// The transaction arrived after the projection.
    NotProjected,
}

/// Ancestors or descendants.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Relations {
    /// Number of transactions, without the transaction itself; a lower bound if `truncated`.
    count: usize,
    /// Sum of the adjusted virtual sizes.
    vsize: u64,
    /// Sum of the fees.
    fees_sats: u64,
    /// Ids of these transactions, at most `relatives_limit`.
    txids: Vec<String>,
    /// Number of counted transactions that are not listed.
    txids_omitted: usize,
    /// True if there are more transactions than were counted.
    truncated: bool,
}

impl Operation for MempoolTransaction {
    const INFO: Info = Info {
        summary: "An unconfirmed transaction and its position in the mempool",
        description: "Size, fee, first-seen time, unconfirmed ancestors and descendants, the transactions that it \
            replaced, the projected block that contains it and the time until then. For a transaction that is not in \
            the mempool the answer is 404, with its block (`confirmed`) or the reason why it left (`departed`) if \
            known. For confirmed transactions use tx_lookup.",
        source: "mempool",
        freshness: &[TIP, MEMPOOL],
        freshness_semantics: FRESHNESS,
        errors: &[ErrorCode::TxNotFound, UNAVAILABLE],
        tool: Tool::reads(
            "asked about an unconfirmed transaction: its relatives, what it replaced, when it will be mined",
            "confirmed transactions (tx_lookup), or only its confirmation (tx_status)",
        ),
        ..index_get("mempool_tx", "/v1/mempool/tx/{txid}", "mempool")
    };
    type Input = MempoolTransactionInput;
    type Output = MempoolTransactionOutput;

    fn run(ctx: &Ctx<'_>, input: MempoolTransactionInput) -> Result<MempoolTransactionOutput, ApiError> {
        let now = projected(ctx)?;
        let (mempool, txid, network) = (now.pool.mempool, &input.txid.0, ctx.view()?.network());
        let (limit, io_limit) = (input.relatives_limit.get() as usize, input.io_limit.get() as usize);
        let found = mempool.get(txid).zip(mempool.relatives(txid, WALK));
        let Some((tx, relatives)) = found else { return Err(missing(ctx, mempool, txid)) };
        let position = now.projection.position(txid);
        let rows = tx.inputs.len().min(io_limit) + tx.outputs.len().min(io_limit);
        ctx.work.keep(rows * ROW_BYTES)?;
        Ok(MempoolTransactionOutput {
            txid: tx.txid.to_string(),
            wtxid: tx.wtxid.to_string(),
            version: tx.version,
            locktime: tx.lock_time,
            size: tx.size,
            vsize: tx.vsize(),
            adjusted_vsize: tx.adjusted_vsize(),
            weight: tx.weight(),
            sigop_cost: tx.sigop_cost,
            fee_sats: tx.fee_sats,
            fee_btc: Btc::of(tx.fee_sats),
            fee_rate_sat_vb: sat_vb(tx.fee_sats, tx.adjusted_vsize()),
            mempool_first_seen: rfc3339_ms(tx.first_seen_ms),
            effective_fee_rate_sat_vb: position.map(|position| SatVb(position.rate)),
            projected_block: position.and_then(|position| position.block),
            eta: eta(now.projection, txid),
            rbf: tx.signals_rbf(),
            bip125_replaceable: bip125_replaceable(mempool, tx, &relatives.ancestors),
            ancestors: relations(&relatives.ancestors, limit),
            descendants: relations(&relatives.descendants, limit),
            parents: texts(relatives.parents.iter().take(limit)),
            children: texts(relatives.children.iter().take(limit)),
            replaces: texts(mempool.replaced_by(txid).take(MAX_REPLACED)),
            input_count: tx.inputs.len(),
            output_count: tx.outputs.len(),
            inputs: inputs(mempool, tx, network, io_limit),
            inputs_omitted: tx.inputs.len().saturating_sub(io_limit),
            outputs: outputs(mempool, tx, network, io_limit),
            outputs_omitted: tx.outputs.len().saturating_sub(io_limit),
            as_of: now.as_of(),
            projection: now.facts(),
        })
    }
}

fn texts<'t>(txids: impl Iterator<Item = &'t Txid>) -> Vec<String> {
    txids.map(Txid::to_string).collect()
}

fn relations(package: &RelatedTxs, limit: usize) -> Relations {
    let count = package.txids.len();
    Relations {
        count,
        vsize: package.vsize,
        fees_sats: package.fees_sats,
        txids: texts(package.txids.iter().take(limit)),
        txids_omitted: count.saturating_sub(limit),
        truncated: package.truncated,
    }
}

fn bip125_replaceable(mempool: &Mempool, tx: &MempoolTx, ancestors: &RelatedTxs) -> Option<bool> {
    let inherited = || ancestors.txids.iter().filter_map(|txid| mempool.get(txid)).any(|tx| tx.signals_rbf());
    let replaceable = tx.signals_rbf() || inherited();
    (replaceable || !ancestors.truncated).then_some(replaceable)
}

pub(crate) fn eta(projection: &Projection, txid: &Txid) -> EtaRow {
    let (state, blocks, at_least_blocks, reason) = match projection.eta(txid) {
        Some(Eta::Blocks(blocks)) => (EtaState::Projected, Some(blocks), Some(blocks), None),
        Some(Eta::Beyond { at_least, estimate }) => {
            (EtaState::BeyondProjection, Some(estimate.max(at_least)), Some(at_least), None)
        }
        Some(Eta::BelowMinimum) => {
            (EtaState::BelowMinimum, None, None, Some("its package pays less than the miners' minimum feerate"))
        }
        None => (EtaState::NotProjected, None, None, Some("it arrived after the projection")),
    };
    let seconds = blocks.map(|blocks| u64::from(blocks) * u64::from(BLOCK_SECONDS));
    EtaRow { definition: MEMPOOL_ETA, state, blocks, at_least_blocks, seconds, reason }
}

/// 404, with the known data of the transaction.
fn missing(ctx: &Ctx<'_>, mempool: &Mempool, txid: &Txid) -> ApiError {
    let confirmed = match ctx.view().and_then(|view| Ok(view.transactions().by_txid(txid)?)) {
        Ok(found) => found,
        Err(error) => return error,
    };
    let departed = mempool.departed(txid);
    let detail = match (&confirmed, departed) {
        (Some(tx), _) => format!("transaction {txid} is confirmed in the block at height {}", tx.height),
        (None, Some(left)) => format!("transaction {txid} left the mempool: {}", word(&left.reason)),
        (None, None) => format!("transaction {txid} is not in the mempool"),
    };
    let mut error = match (&confirmed, departed) {
        (None, None) => ctx.missing(ErrorCode::TxNotFound, detail),
        _ => ApiError::new(ErrorCode::TxNotFound, detail),
    };
    if let Some(tx) = confirmed {
        error = error.with("confirmed", json!({"height": tx.height, "block_index": tx.index}));
    }
    if let Some(departed) = departed {
        error = error.with("departed", left(departed));
    }
    error
}

fn word(reason: &RemoveReason) -> &'static str {
    match reason {
        RemoveReason::Confirmed { .. } => "confirmed",
        RemoveReason::Replaced { .. } => "replaced",
        RemoveReason::Evicted => "evicted",
        RemoveReason::Conflict => "conflict",
        RemoveReason::Expired => "expired",
        RemoveReason::Unknown => "unknown",
    }
}

fn left(departed: &Departed) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    put("reason", word(&departed.reason).into());
    match &departed.reason {
        RemoveReason::Replaced { by } => put("replaced_by", by.to_string().into()),
        RemoveReason::Confirmed { height } => put("height", (*height).into()),
        _ => None,
    };
    put("mempool_first_seen", rfc3339_ms(departed.first_seen_ms).into());
    put("left_at", rfc3339_ms(departed.left_ms).into());
    put("fee_sats", departed.fee_sats.into());
    put("adjusted_vsize", departed.vsize.into());
    let rate = FeeRate::of(departed.fee_sats, departed.vsize).and_then(|r| serde_json::to_value(SatVb(r)).ok());
    put("fee_rate_sat_vb", rate.unwrap_or_default());
    Value::Object(members)
}
