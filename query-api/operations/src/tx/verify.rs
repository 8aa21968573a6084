//! `POST /v1/tx/verify`.

use cairn_domain::{Subject, script_sha256};
use cairn_model::{MAX_MONEY, RemoveReason, Txid};

use super::{
    pending::{Departure, replaced},
    status::State,
};
use crate::{
    context::{BlockRef, block_ref, confirmations, first_seen, lacks_blocks},
    operation::prelude::*,
    parameters::{
        amount::BtcParam,
        identifier::{AddressParam, TxidParam},
    },
    values::rfc3339_ms,
    vocabulary::caveat::Caveat,
};

pub(crate) struct TxVerify;

/// The expected payment: `{ txid, expected_address, min_amount_sats?, min_confirmations? }` or
/// `{ txid, address, expected_amount_btc }`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend(
    "x-exactly-one" = [["expected_address", "address"]],
    "x-at-most-one" = [["min_amount_sats", "expected_amount_btc"]],
))]
pub(crate) struct TxVerifyInput {
    txid: TxidParam,
    /// The payee: an address on the network of the index, or scripthash:<hex>.
    expected_address: Option<AddressParam>,
    /// Alias of `expected_address`; give one of the two.
    address: Option<AddressParam>,
    /// Minimum amount in satoshis. Without an amount, any payment is accepted.
    #[schemars(range(min = 1, max = MAX_MONEY))]
    min_amount_sats: Option<Sats>,
    /// Minimum amount in bitcoin with at most 8 decimals, instead of `min_amount_sats`. It is parsed without floating
    /// point; a string is accepted too.
    #[schemars(extend("exclusiveMinimum" = 0))]
    expected_amount_btc: Option<BtcParam>,
    /// Minimum number of confirmations; 0 accepts an unconfirmed transaction.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1_000_000))]
    min_confirmations: u32,
}

fn one() -> u32 {
    1
}

/// Verification of a payment.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TxVerifyOutput {
    txid: String,
    /// True if the transaction pays the expected amount and has the required confirmations.
    verified: bool,
    /// True if the result may change without a deep reorg: fewer than 6 confirmations.
    provisional: bool,
    /// Why the payment is verified, or all reasons why it is not.
    reasons: Vec<VerifyReason>,
    expected: VerifyExpected,
    observed: VerifyObserved,
    /// Caveats as sentences.
    caveats: Vec<String>,
    /// The same caveats as codes with parameters.
    caveat_codes: Vec<Caveat>,
}

/// A reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VerifyReason {
    /// For a verified payment `paid`, and `overpaid` if it exceeds the minimum; otherwise `tx_not_found`,
    /// `mempool_unavailable`, `index_behind`, `tx_left_mempool`, `tx_conflicted`, `address_not_paid`, `amount_too_low`,
    /// `unconfirmed`, `not_enough_confirmations`.
    code: &'static str,
    /// Explanation of the reason.
    message: String,
}

/// The expected payment.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VerifyExpected {
    /// The address as given in the request.
    address: String,
    /// Minimum amount in satoshis; null if any amount is accepted.
    min_amount_sats: Option<Sats>,
    min_amount_btc: Option<Btc>,
    min_confirmations: u32,
}

/// The observed payment.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VerifyObserved {
    state: State,
    /// Number of confirmations; 0 if unconfirmed.
    confirmations: u32,
    /// Block of the transaction; null if unconfirmed.
    block: Option<BlockRef>,
    /// True if the transaction is a coinbase, whose outputs cannot be spent for 100 blocks; null if it was not found.
    is_coinbase: Option<bool>,
    /// Sum of the outputs to the address; null if the transaction was not found.
    received_sats: Option<Sats>,
    received_btc: Option<Btc>,
    /// Amount above the expected one; null if no amount was expected, or if less was paid.
    overpaid_sats: Option<Sats>,
    /// The first 1 000 outputs to the address.
    outputs: Vec<PaidOutput>,
    /// Number of further outputs to the address.
    outputs_omitted: u32,
    /// True if the transaction signals replaceability (BIP 125); null unless it is in the mempool. Nodes also replace
    /// transactions that do not signal.
    rbf: Option<bool>,
    /// Why the transaction cannot confirm at present; null unless the state is `conflicted`.
    double_spend: Option<DoubleSpend>,
    /// Ids of the transactions that this one replaced in the mempool, if still stored; the first 100.
    replaces: Vec<String>,
    /// Departure from the mempool without a confirmation; null if there was none, or if it is no longer stored.
    departed: Option<Departure>,
    /// Time at which the transaction was first seen unconfirmed; null if it was not seen, or if the time is no longer
    /// stored.
    mempool_first_seen: Option<String>,
}

/// An output to the address.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PaidOutput {
    vout: u32,
    value_sats: Sats,
    value_btc: Btc,
}

/// Another transaction that spends coins of this one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoubleSpend {
    /// `replaced` by an unconfirmed transaction, or `conflict` with a block.
    kind: &'static str,
    /// Id of the transaction that replaced this one or one of its ancestors; null if unknown.
    by: Option<String>,
    /// State of that transaction: `mempool`, `confirmed`, or `unknown` if it has left the mempool too; null without
    /// one.
    by_state: Option<State>,
}

const SETTLED: u32 = 6;
const MAX_OUTPUTS: usize = 1_000;

impl Operation for TxVerify {
    const INFO: Info = Info {
        summary: "Verify a Bitcoin payment: address, amount and confirmations of a transaction",
        description: "Compares a transaction with the expected payment: the sum of its outputs to one address (or \
            script) with the minimum amount, and its confirmations with the minimum number. The answer lists every \
            reason against it with a stable code. For an unknown transaction the answer is 200 with `verified: false`, \
            so clients can poll. With `min_confirmations: 0` an unconfirmed transaction is accepted. This is \
            provisional: it may be replaced, even if it does not signal replaceability. For the total that an address \
            received use wallet_overview.",
        tool: Tool::reads(
            "asked if a transaction paid an amount to an address with enough confirmations",
            "the total that an address received (wallet_overview), or a transaction without an expected payment (tx_lookup)",
        ),
        ..and_mempool(index_post("tx_verify", "/v1/tx/verify", "transactions"))
    };
    type Input = TxVerifyInput;
    type Output = TxVerifyOutput;

    fn run(ctx: &Ctx<'_>, input: TxVerifyInput) -> Result<TxVerifyOutput, ApiError> {
        let view = ctx.view()?;
        let txid = input.txid.0;
        // The validation ensures that one of them is given.
        let asked = input.expected_address.or(input.address).ok_or_else(ApiError::internal)?;
        let least = input.min_amount_sats.or(input.expected_amount_btc.map(|btc| btc.0));
        let mut found = observe(ctx, view, &txid, &asked.subject)?;
        let seen = &mut found.observed;
        seen.overpaid_sats = seen.received_sats.zip(least).and_then(|(have, want)| have.checked_sub(want));
        let mut reasons = found.obstacles;
        if let Some(received) = found.observed.received_sats {
            reasons.extend(shortfall(&found.observed, received, least));
            reasons.extend(waiting(&found.observed, input.min_confirmations));
        }
        let verified = reasons.is_empty();
        if verified {
            reasons = praise(&found.observed);
        }
        let confirmations = found.observed.confirmations;
        let provisional = match found.observed.state {
            State::Mempool => true,
            State::Confirmed => confirmations < SETTLED,
            State::Unknown | State::Conflicted => false,
        };
        let caveat = provisional.then_some(Caveat::ProvisionalConfirmations { confirmations, settled_at: SETTLED });
        let caveat_codes: Vec<Caveat> = caveat.into_iter().collect();
        Ok(TxVerifyOutput {
            txid: txid.to_string(),
            verified,
            provisional,
            reasons,
            expected: VerifyExpected {
                address: asked.text,
                min_amount_sats: least,
                min_amount_btc: least.map(Btc::of),
                min_confirmations: input.min_confirmations,
            },
            observed: found.observed,
            caveats: Caveat::sentences(&caveat_codes),
            caveat_codes,
        })
    }
}

/// The observed transaction, and the obstacles found before the amount is checked.
struct Finding {
    observed: VerifyObserved,
    obstacles: Vec<VerifyReason>,
}

fn reason(code: &'static str, message: impl Into<String>) -> VerifyReason {
    VerifyReason { code, message: message.into() }
}

/// Looks the transaction up in the index, in the mempool, and among those that left it.
fn observe(ctx: &Ctx<'_>, view: &View<'_>, txid: &Txid, payee: &Subject) -> Result<Finding, ApiError> {
    let nothing = VerifyObserved {
        state: State::Unknown,
        confirmations: 0,
        block: None,
        is_coinbase: None,
        received_sats: None,
        received_btc: None,
        overpaid_sats: None,
        outputs: Vec::new(),
        outputs_omitted: 0,
        rbf: None,
        double_spend: None,
        replaces: Vec::new(),
        departed: None,
        mempool_first_seen: None,
    };
    if let Some(tx) = view.transactions().by_txid(txid)? {
        let observed = VerifyObserved {
            state: State::Confirmed,
            confirmations: confirmations(view.tip(), tx.height),
            block: Some(block_ref(view, tx.height)?),
            is_coinbase: Some(tx.is_coinbase()),
            mempool_first_seen: first_seen(ctx, txid),
            ..paid(nothing, payee, tx.outputs().iter().map(|o| (o.value, tx.script(o))))
        };
        return Ok(Finding { observed, obstacles: Vec::new() });
    }
    let Some(pool) = ctx.unconfirmed() else {
        let why = ctx.pool.as_ref().err().map_or("", |absent| absent.reason());
        let mut obstacles = not_found(ctx, view, "");
        obstacles
            .push(reason("mempool_unavailable", format!("It is unknown if the transaction is in the mempool: {why}.")));
        return Ok(Finding { observed: nothing, obstacles });
    };
    if let Some(tx) = pool.mempool.get(txid) {
        let observed = VerifyObserved {
            state: State::Mempool,
            is_coinbase: Some(false),
            rbf: Some(tx.signals_rbf()),
            replaces: replaced(pool, txid).0,
            mempool_first_seen: Some(rfc3339_ms(tx.first_seen_ms)),
            ..paid(nothing, payee, tx.outputs.iter().map(|o| (o.value, &*o.script)))
        };
        return Ok(Finding { observed, obstacles: Vec::new() });
    }
    let Some(left) = Departure::of(pool, txid) else {
        return Ok(Finding { observed: nothing, obstacles: not_found(ctx, view, ", and not in the mempool") });
    };
    let mut observed = VerifyObserved { mempool_first_seen: Some(left.mempool_first_seen()), ..nothing };
    let sentence = format!("The transaction is no longer in the mempool: {}.", left.sentence());
    let code = if left.is_conflicted() {
        observed.state = State::Conflicted;
        observed.double_spend = Some(double_spend(ctx, view, txid)?);
        "tx_conflicted"
    } else {
        "tx_left_mempool"
    };
    observed.departed = Some(left);
    let mut obstacles = vec![reason(code, sentence)];
    obstacles.extend(behind(ctx));
    Ok(Finding { observed, obstacles })
}

fn not_found(ctx: &Ctx<'_>, view: &View<'_>, also: &str) -> Vec<VerifyReason> {
    let sentence = format!("The transaction is in no block up to height {}{also}.", view.tip().height);
    let mut reasons = vec![reason("tx_not_found", sentence)];
    reasons.extend(behind(ctx));
    reasons
}

/// A block that is not indexed yet may contain it.
fn behind(ctx: &Ctx<'_>) -> Option<VerifyReason> {
    let lags = ctx.lag().is_some_and(|lag| lag > 0) || lacks_blocks(ctx.source, ctx.best_height);
    lags.then(|| {
        reason(
            "index_behind",
            format!("The index is {}; a block that it lacks may contain the transaction.", ctx.behind()),
        )
    })
}

fn double_spend(ctx: &Ctx<'_>, view: &View<'_>, txid: &Txid) -> Result<DoubleSpend, ApiError> {
    let pool = ctx.pool.as_ref().ok();
    let by = match pool.and_then(|pool| pool.mempool.departed(txid)).map(|left| left.reason) {
        Some(RemoveReason::Replaced { by }) => by,
        _ => return Ok(DoubleSpend { kind: "conflict", by: None, by_state: None }),
    };
    let by_state = if pool.is_some_and(|pool| pool.mempool.get(&by).is_some()) {
        State::Mempool
    } else if view.transactions().by_txid(&by)?.is_some() {
        State::Confirmed
    } else {
        State::Unknown
    };
    Ok(DoubleSpend { kind: "replaced", by: Some(by.to_string()), by_state: Some(by_state) })
}

/// Adds the outputs to a script.
fn paid<'o>(seen: VerifyObserved, payee: &Subject, outputs: impl Iterator<Item = (Sats, &'o [u8])>) -> VerifyObserved {
    let is_payee = |script: &[u8]| match payee {
        Subject::Script(wanted) => script == wanted.as_slice(),
        Subject::ScriptHash(hash) => script_sha256(script) == *hash,
    };
    let (mut received, mut omitted, mut rows) = (0u64, 0u32, Vec::new());
    for (vout, (value, _)) in (0u32..).zip(outputs).filter(|(_, (_, script))| is_payee(script)) {
        // The outputs of one transaction are at most 21 million bitcoin, unless the node's mempool is wrong.
        received = received.saturating_add(value);
        if rows.len() < MAX_OUTPUTS {
            rows.push(PaidOutput { vout, value_sats: value, value_btc: Btc::of(value) });
        } else {
            omitted += 1;
        }
    }
    VerifyObserved {
        received_sats: Some(received),
        received_btc: Some(Btc::of(received)),
        outputs: rows,
        outputs_omitted: omitted,
        ..seen
    }
}

/// The error of the amount.
fn shortfall(seen: &VerifyObserved, received: Sats, least: Option<Sats>) -> Option<VerifyReason> {
    if seen.outputs.is_empty() {
        return Some(reason("address_not_paid", "No output of the transaction pays the address."));
    }
    // Without a minimum amount, zero is still not a payment.
    let least = least.unwrap_or(1);
    let message =
        || format!("The transaction pays {received} satoshis to the address, {} less than expected.", least - received);
    (received < least).then(|| reason("amount_too_low", message()))
}

fn waiting(seen: &VerifyObserved, least: u32) -> Option<VerifyReason> {
    match (seen.state, seen.confirmations) {
        (_, have) if have >= least => None,
        (State::Mempool, _) => Some(reason(
            "unconfirmed",
            format!("The transaction is in the mempool and has no confirmation; {least} are required."),
        )),
        (_, have) => Some(reason(
            "not_enough_confirmations",
            format!("The transaction has {have} of {least} required confirmations."),
        )),
    }
}

fn praise(seen: &VerifyObserved) -> Vec<VerifyReason> {
    let received = seen.received_sats.unwrap_or_default();
    let depth = match seen.confirmations {
        0 => "unconfirmed, in the mempool".to_owned(),
        1 => "with 1 confirmation".to_owned(),
        n => format!("with {n} confirmations"),
    };
    let mut reasons =
        vec![reason("paid", format!("The transaction pays {received} satoshis to the address, {depth}."))];
    if let Some(more) = seen.overpaid_sats.filter(|more| *more > 0) {
        reasons.push(reason("overpaid", format!("The payment is {more} satoshis more than expected.")));
    }
    reasons
}
