//! `POST /v1/tx/broadcast`.

use bitcoin::hashes::Hash;
use cairn_http::{Effect, FieldError, Location};
use cairn_model::{Txid, is_unspendable};
use serde_json::Value;

use super::{
    decoded::DecodedTx,
    submitted::{Submitted, decode, unsigned_reason},
    verdict::{MAX_BURN, Verdict, verdict},
};
use crate::{
    context::{BlockRef, block_ref, confirmations},
    node::{BroadcastLimits, NodeAccess, Refused},
    operation::prelude::*,
    values::rfc3339_ms,
};

pub(crate) struct TxBroadcast;

/// The transaction.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TxBroadcastInput {
    /// The signed transaction in hexadecimal, serialized with its witness; or a PSBT (BIP 174) in base64 or hexadecimal
    /// that has all its signatures. Maximum weight: 400 000.
    #[schemars(extend("pattern" = "^\\s*(([0-9a-fA-F]{2})+|cHNidP[A-Za-z0-9+/\\s]+={0,2})\\s*$"), example = EXAMPLE)]
    tx_hex: String,
    /// True to decode and check the transaction without sending it.
    #[serde(default)]
    dry_run: bool,
    /// Highest feerate to accept. A transaction that pays more is rejected with `max_fee_exceeded`. Default: the node's
    /// own limit (10 000 in Bitcoin Core).
    #[schemars(range(min = 1, max = 100_000))]
    max_fee_rate_sat_vb: Option<u32>,
    /// Maximum that an unspendable output, as OP_RETURN, may burn. A transaction that burns more is rejected with
    /// `max_burn_exceeded`. Default: the node's own limit (0 in Bitcoin Core). Needs Bitcoin Core 25 or later.
    #[schemars(range(max = 2_100_000_000_000_000_u64))]
    max_burn_sats: Option<u64>,
}

/// Result of the broadcast.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TxBroadcastOutput {
    txid: String,
    /// Transaction id including the witness.
    wtxid: String,
    state: BroadcastState,
    /// Virtual size in virtual bytes.
    vsize: u64,
    /// Weight in weight units.
    weight: u64,
    /// Time at which the transaction was first seen; null unless it was already in the mempool.
    mempool_first_seen: Option<String>,
    /// Number of confirmations; 0 if unconfirmed; null if the index does not have the transaction's block yet.
    confirmations: Option<u32>,
    /// Block of the transaction; null unless the index has it.
    block: Option<BlockRef>,
    /// With `dry_run`, if the node would accept it; otherwise null.
    check: Option<BroadcastCheck>,
    /// With `dry_run`, the content of the transaction; otherwise null.
    decoded: Option<DecodedTx>,
}

/// If the node would accept the transaction now.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct BroadcastCheck {
    /// Null if it is unknown, and `reason` says why.
    allowed: Option<bool>,
    /// Code of the error that sending it would cause; null if none is expected.
    code: Option<&'static str>,
    /// Why it is not allowed, or why that is unknown.
    reason: Option<String>,
    /// The node's message, if it rejects the transaction.
    reject_reason: Option<Value>,
    /// True if the same transaction may be accepted later.
    retryable: bool,
}

impl BroadcastCheck {
    fn known() -> Self {
        BroadcastCheck { reason: Some("the transaction is already known: see state".to_owned()), ..Self::default() }
    }
}

/// Result of the broadcast.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BroadcastState {
    /// The node accepted the transaction into its mempool and relays it.
    Accepted,
    /// The transaction was already in the mempool.
    AlreadyInMempool,
    /// The transaction is in a block.
    AlreadyConfirmed,
    /// It was only checked (`dry_run`).
    NotSent,
}

const MAX_WEIGHT: u64 = 400_000;
/// Seconds before a client should retry.
const RETRY_AFTER: u32 = 5;

/// The first payment, in block 170 of the main chain.
const EXAMPLE: &str = concat!(
    "0100000001c997a5e56e104102fa209c6a852dd90660a20b2d9c352423edce25857fcd3704000000004847304402204e45e1",
    "6932b8af514961a1d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd410220181522ec8eca07de4860a4acdd12909d831cc5",
    "6cbbac4622082221a8768d1d0901ffffffff0200ca9a3b00000000434104ae1a62fe09c5f51b13905f07f06b99a2f7159b22",
    "25f374cd378d71302fa28414e7aab37397f554a7df5f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84cac00286bee00",
    "00000043410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f8",
    "2e160bfa9b8b64f9d4c03f999b8643f656b412a3ac00000000",
);

impl Operation for TxBroadcast {
    const INFO: Info = Info {
        summary: "Broadcast a signed transaction to the Bitcoin network",
        description: "Passes a signed transaction to the node, which checks it and relays it to its peers. The body is \
            JSON, or only the hexadecimal digits or the PSBT as text/plain. With `dry_run` nothing is sent: the answer \
            shows inputs, outputs and fee, and if the node would accept the transaction. Sending a transaction that the mempool or the chain \
            already has is a success, and `state` says so. If the node rejects it, the answer is 400 with a stable \
            code, and the node's message in `reject_reason`. `retryable` is true if the same transaction may be \
            accepted later (missing_inputs: its parents may still arrive; non_final: its locktime is not reached; \
            too_long_mempool_chain: its ancestors may be mined; insufficient_fee: only if a full mempool was the \
            reason). With `max_fee_rate_sat_vb` and `max_burn_sats` the client sets its own limits in place of the node's; `limit` of a \
            refusal says which one was exceeded. A broadcast transaction cannot be recalled.",
        cost: Cost::Heavy,
        source: "node",
        errors: &[
            ErrorCode::InvalidTransaction,
            ErrorCode::InsufficientFee,
            ErrorCode::MissingInputs,
            ErrorCode::Conflict,
            ErrorCode::NonStandard,
            ErrorCode::ScriptFailed,
            ErrorCode::NonFinal,
            ErrorCode::TooLongMempoolChain,
            ErrorCode::MaxFeeExceeded,
            ErrorCode::MaxBurnExceeded,
            ErrorCode::NodeUnavailable,
        ],
        text_body: Some("tx_hex"),
        tool: Tool::reads(
            "the user has a complete signed transaction and has asked to send it",
            "building, signing or testing transactions, or checking the state of a sent one (tx_status)",
        )
        .with_effect(Effect::Irrevocable),
        ..index_post("tx_broadcast", "/v1/tx/broadcast", "transactions")
    };
    type Input = TxBroadcastInput;
    type Output = TxBroadcastOutput;

    fn run(ctx: &Ctx<'_>, input: TxBroadcastInput) -> Result<TxBroadcastOutput, ApiError> {
        let submitted = decode(input.tx_hex.trim()).map_err(|what| invalid(&what))?;
        let limits =
            BroadcastLimits { max_fee_rate_sat_vb: input.max_fee_rate_sat_vb, max_burn_sats: input.max_burn_sats };
        let known = known(ctx, &submitted);
        if input.dry_run {
            let check = if known.is_some() { BroadcastCheck::known() } else { check(ctx, &submitted, limits) };
            let output = known.unwrap_or_else(|| output(&submitted, BroadcastState::NotSent));
            let decoded = Some(DecodedTx::of(ctx, &submitted.tx)?);
            return Ok(TxBroadcastOutput { check: Some(check), decoded, ..output });
        }
        match known {
            Some(known) => Ok(known),
            None => send(ctx, &submitted, limits),
        }
    }
}

fn output(submitted: &Submitted, state: BroadcastState) -> TxBroadcastOutput {
    let tx = &submitted.tx;
    TxBroadcastOutput {
        txid: Txid(tx.compute_txid().to_byte_array()).to_string(),
        wtxid: Txid(tx.compute_wtxid().to_byte_array()).to_string(),
        state,
        vsize: tx.vsize() as u64,
        weight: tx.weight().to_wu(),
        mempool_first_seen: None,
        confirmations: (state != BroadcastState::AlreadyConfirmed).then_some(0),
        block: None,
        check: None,
        decoded: None,
    }
}

/// The answer for a transaction that index or mempool have.
fn known(ctx: &Ctx<'_>, submitted: &Submitted) -> Option<TxBroadcastOutput> {
    let txid = Txid(submitted.tx.compute_txid().to_byte_array());
    if let Some((confirmations, block)) = confirmed_in(ctx, &txid) {
        let output = output(submitted, BroadcastState::AlreadyConfirmed);
        return Some(TxBroadcastOutput { confirmations: Some(confirmations), block: Some(block), ..output });
    }
    let there = in_mempool(ctx, &txid)?;
    if there.wtxid.0 != submitted.tx.compute_wtxid().to_byte_array() {
        other_witness(ctx);
    }
    let output = output(submitted, BroadcastState::AlreadyInMempool);
    Some(TxBroadcastOutput { mempool_first_seen: Some(rfc3339_ms(there.first_seen_ms)), ..output })
}

/// A transaction that the node may be asked about, and the node.
fn askable<'c>(ctx: &'c Ctx<'_>, submitted: &Submitted) -> Result<&'c dyn NodeAccess, ApiError> {
    if let Some(input) = submitted.unsigned {
        return Err(invalid(&unsigned_reason(input)));
    }
    // Checked only after the look-up, because a block may contain a larger one.
    if submitted.tx.weight().to_wu() > MAX_WEIGHT {
        return Err(invalid(&format!("is too large: its weight exceeds {MAX_WEIGHT}")));
    }
    let detail = "this server has no node to broadcast transactions; its operator can configure one (--node)";
    ctx.node.ok_or_else(|| ApiError::new(ErrorCode::NodeUnavailable, detail))
}

fn send(ctx: &Ctx<'_>, submitted: &Submitted, limits: BroadcastLimits) -> Result<TxBroadcastOutput, ApiError> {
    let node = askable(ctx, submitted)?;
    let state = match node.broadcast(&submitted.raw, limits) {
        Ok(said) if said.0 == submitted.tx.compute_txid().to_byte_array() => BroadcastState::Accepted,
        Ok(said) => {
            tracing::error!(%said, "the node returned another txid for a transaction");
            return Err(ApiError::internal());
        }
        Err(refused) => refusal(ctx, refused, limits)?,
    };
    Ok(output(submitted, state))
}

/// The state of a transaction that the node did not accept because it has it; otherwise the error.
fn refusal(ctx: &Ctx<'_>, refused: Refused, limits: BroadcastLimits) -> Result<BroadcastState, ApiError> {
    let (code, reason) = match refused {
        Refused::Unavailable => return Err(unavailable()),
        Refused::Rejected { code, reason } => (code, reason),
    };
    match verdict(code, &reason) {
        Verdict::Waiting => Ok(BroadcastState::AlreadyInMempool),
        Verdict::OtherWitness => {
            other_witness(ctx);
            Ok(BroadcastState::AlreadyInMempool)
        }
        Verdict::Confirmed => Ok(BroadcastState::AlreadyConfirmed),
        Verdict::Refused(refusal) => Err(refusal.into_error(&reason, limits)),
        Verdict::NodeFailed => {
            tracing::error!(code, reason, "the node could not check a transaction");
            Err(unavailable())
        }
    }
}

/// Asks the node if it would accept a transaction.
fn check(ctx: &Ctx<'_>, submitted: &Submitted, limits: BroadcastLimits) -> BroadcastCheck {
    let checked = askable(ctx, submitted).and_then(|node| match node.check(&submitted.raw, limits) {
        Ok(()) => burns_too_much(submitted, limits),
        Err(refused) => refusal(ctx, refused, limits).map(drop),
    });
    let error = match checked {
        Ok(()) => return BroadcastCheck { allowed: Some(true), ..BroadcastCheck::default() },
        Err(error) => error,
    };
    let is_unknown = error.code == ErrorCode::NodeUnavailable;
    let fields = error.errors.iter().map(|field| format!("{} {}", field.name, field.message));
    let fields = fields.collect::<Vec<_>>().join("; ");
    BroadcastCheck {
        allowed: (!is_unknown).then_some(false),
        code: Some(error.code.name()),
        reason: Some(if fields.is_empty() { error.detail.clone() } else { fields }),
        reject_reason: error.extra.get("reject_reason").cloned(),
        retryable: error.retryable,
    }
}

/// The limit that nodes hold only when they send: what unspendable outputs may burn.
fn burns_too_much(submitted: &Submitted, limits: BroadcastLimits) -> Result<(), ApiError> {
    let burnt = submitted.tx.output.iter().filter(|output| is_unspendable(output.script_pubkey.as_bytes()));
    match burnt.map(|output| output.value.to_sat()).max() {
        Some(most) if most > limits.max_burn_sats.unwrap_or(0) => Err(MAX_BURN.into_error("max-burn-exceeded", limits)),
        _ => Ok(()),
    }
}

fn invalid(what: &str) -> ApiError {
    let field = FieldError {
        location: Location::Body,
        name: "tx_hex".to_owned(),
        message: what.to_owned(),
        allowed: None,
        example: None,
    };
    ApiError::of_fields(ErrorCode::InvalidTransaction, vec![field])
}

fn unavailable() -> ApiError {
    let detail = "the node is unreachable or did not answer in time; it may or may not have accepted the transaction; \
        sending it again is safe";
    ApiError::unavailable(ErrorCode::NodeUnavailable, detail, RETRY_AFTER)
}

fn other_witness(ctx: &Ctx<'_>) {
    ctx.warn("other_witness", "the mempool has the transaction with another witness: this one was not sent");
}

/// Confirmations and block of a transaction in the index. If the index cannot be read, the broadcast proceeds.
fn confirmed_in(ctx: &Ctx<'_>, txid: &Txid) -> Option<(u32, BlockRef)> {
    let view = ctx.index?;
    let found = view.transactions().by_txid(txid).map_err(ApiError::from).and_then(|tx| match tx {
        Some(tx) => Ok(Some((confirmations(view.tip(), tx.height), block_ref(view, tx.height)?))),
        None => Ok(None),
    });
    found.unwrap_or_else(|error| {
        tracing::warn!(error = error.code.name(), "cannot look up a transaction before its broadcast");
        None
    })
}

struct WaitingTx {
    wtxid: Txid,
    first_seen_ms: u64,
}

/// Looks into the current mempool, which may have changed since the request began.
fn in_mempool(ctx: &Ctx<'_>, txid: &Txid) -> Option<WaitingTx> {
    let pinned = ctx.slot.pin();
    if pinned.absent(Some(&ctx.index?.tip().hash)).is_some() {
        return None;
    }
    pinned.mempool().get(txid).map(|tx| WaitingTx { wtxid: tx.wtxid, first_seen_ms: tx.first_seen_ms })
}
