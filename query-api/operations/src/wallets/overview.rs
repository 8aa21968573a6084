//! `GET /v1/wallets/{address}/overview`.

use cairn_http::{ApiError, Detail, Info, Tool};
use cairn_model::TxNum;
use cairn_reader::{FoundScript, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Wallet,
    related::{RelatedScript, related},
};
use crate::{
    batch::Batched,
    context::{Ctx, and_mempool, index_get, index_post},
    operation::Operation,
    parameters::identifier::AddressParam,
    values::{Btc, rfc3339},
    vocabulary::{assessment::Assessment, caveat::Caveat},
};

/// Balance and activity of a script.
pub(crate) struct Overview;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OverviewInput {
    address: AddressParam,
    /// `compact` leaves out explanatory and nested members.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: Detail,
}

/// Balance and activity of a script.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OverviewOutput {
    /// As it was asked for.
    address: String,
    /// The address of the script; null if it has none (P2PK, bare multisig, …) or is not known.
    canonical_address: Option<String>,
    /// SHA-256 of the scriptPubKey, first byte first.
    script_hash: String,
    /// Bitcoin Core's name of the script's type; `unknown` for the hash of a script that the chain has not seen.
    script_type: &'static str,
    balance: Balance,
    /// Unspent coins of confirmed transactions, also those that an unconfirmed transaction spends.
    utxo_count: u64,
    /// Confirmed transactions that funded or spent it.
    tx_count: u64,
    /// Unconfirmed transactions that pay to it or spend from it; null without a mempool.
    unconfirmed_tx_count: Option<u64>,
    received_sats: u64,
    received_btc: Btc,
    sent_sats: u64,
    sent_btc: Btc,
    /// Outputs to it in unconfirmed transactions; null without a mempool.
    unconfirmed_received_sats: Option<u64>,
    /// Inputs from it in unconfirmed transactions, whether their coins are confirmed or not; null without a mempool.
    unconfirmed_sent_sats: Option<u64>,
    /// Its first confirmed transaction.
    first_seen: Option<Seen>,
    /// Its newest confirmed transaction.
    last_seen: Option<Seen>,
    /// Price of a bitcoin; null without a price source.
    price: Option<Price>,
    /// Value of the balance in USD; null without a price.
    value_usd: Option<f64>,
    activity: Activity,
    assessment: Assessment,
    /// Scripts of the same key that have coins of their own; never part of the balance.
    related_scripts: Vec<RelatedScript>,
    /// Why `related_scripts` may lack some; null if all were looked up.
    related_scripts_reason: Option<&'static str>,
    /// What to keep in mind.
    caveats: Vec<String>,
    /// The same for programs.
    caveat_codes: Vec<Caveat>,
}

/// What it holds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Balance {
    /// Confirmed coins.
    confirmed_sats: u64,
    confirmed_btc: Btc,
    /// Change by unconfirmed transactions: negative if they spend more than they bring; null without a mempool.
    unconfirmed_sats: Option<i64>,
    unconfirmed_btc: Option<Btc>,
    /// Why the unconfirmed members are null; null if they are not.
    unconfirmed_reason: Option<&'static str>,
    /// Confirmed and unconfirmed together: what it holds if every unconfirmed transaction confirms; null if one of the
    /// two is.
    total_sats: Option<u64>,
    total_btc: Option<Btc>,
}

/// A transaction in time.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Seen {
    height: u32,
    /// Time of the block's header.
    time: String,
    time_unix: u32,
    txid: String,
}

/// Price of a bitcoin.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Price {
    usd: f64,
    as_of: String,
    source: String,
    stale: bool,
}

/// What happened in the last days before the tip.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Activity {
    /// End of the periods: the tip's monotone time.
    as_of: String,
    #[serde(rename = "24h")]
    day: Period,
    #[serde(rename = "7d")]
    week: Period,
    #[serde(rename = "30d")]
    month: Period,
}

/// What happened in a period.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Period {
    tx_count: u64,
    received_sats: u64,
    sent_sats: u64,
}

/// Change by unconfirmed transactions.
struct Unconfirmed {
    tx_count: u64,
    received: u64,
    sent: u64,
    net: i64,
    /// With the confirmed balance.
    total: u64,
}

/// What the unconfirmed transactions change, or why that is not known.
fn unconfirmed(ctx: &Ctx<'_>, wallet: &Wallet, confirmed: u64) -> Result<Unconfirmed, &'static str> {
    let pool = ctx.unconfirmed().ok_or_else(|| ctx.pool.as_ref().err().map_or("", |absent| absent.reason()))?;
    let sums = pool.mempool.script_totals(&wallet.script_hash);
    let fitting = || {
        let net = i64::try_from(sums.net_sats()).ok()?;
        let (received, sent) = (u64::try_from(sums.received_sats).ok()?, u64::try_from(sums.sent_sats).ok()?);
        Some(Unconfirmed { tx_count: sums.tx_count, received, sent, net, total: confirmed.checked_add_signed(net)? })
    };
    // Whatever is spent unconfirmed is a confirmed coin or was received unconfirmed, so the total is not negative, unless a
    // transaction has left the mempool and one that builds on it is about to.
    fitting().ok_or_else(|| {
        tracing::warn!(?sums, confirmed, "the mempool spends more than a script has");
        "the mempool does not fit the index for the moment"
    })
}

impl Operation for Overview {
    const INFO: Info = Info {
        summary: "Balance, coins, activity and first and last transaction of an address",
        description: "The state of one script at the tip, in a constant number of reads however long its history is. \
            Counts and sums are of confirmed transactions, unless their names say `unconfirmed`; index and mempool \
            belong to the same tip, so `balance.total_sats` counts nothing twice. Where there is no mempool, the \
            unconfirmed members are null and `balance.unconfirmed_reason` says why. Periods of `activity` end at the \
            tip's monotone time. An address that the chain has never seen answers with zeros and `assessment.state: \
            no_history`, also while it is paid to in unconfirmed transactions. Use `transactions` for single movements \
            and `balance-history` for the course of the confirmed balance.",
        aliases: &["/v1/address/{address}/overview"],
        needs_tip: true,
        compact: &[
            "canonical_address",
            "balance.unconfirmed_reason",
            "received_btc",
            "sent_btc",
            "activity",
            "related_scripts",
            "related_scripts_reason",
            "caveats",
            "first_seen.time",
            "last_seen.time",
        ],
        tool: Tool::reads(
            "asked for the balance of an address, what it received and sent in all, or whether it was ever used",
            "single payments (wallet_transactions), the balance over time (wallet_balance_history), or who owns the address",
        ),
        ..and_mempool(index_get("wallet_overview", "/v1/wallets/{address}/overview", "wallets"))
    };
    type Input = OverviewInput;
    type Output = OverviewOutput;

    fn run(ctx: &Ctx<'_>, input: OverviewInput) -> Result<OverviewOutput, ApiError> {
        let view = ctx.view()?;
        let wallet = Wallet::find(view, ctx.pool.as_ref().ok(), input.address)?;
        let sums = wallet.found.map(|f| f.totals);
        let balance = sums.map_or(0, |t| t.balance());
        let (pending, unconfirmed_reason) = match unconfirmed(ctx, &wallet, balance) {
            Ok(pending) => (Some(pending), None),
            Err(reason) => (None, Some(reason)),
        };
        let pending = pending.as_ref();
        let (received, sent) = sums.map_or((0, 0), |t| (t.funded, t.spent));
        let first_seen = sums.map(|t| seen(view, t.first.tx_num)).transpose()?;
        let last_seen = sums.map(|t| seen(view, t.last)).transpose()?;
        let activity = activity(view, wallet.found.as_ref())?;
        let (related_scripts, related_scripts_reason) = related(view, &wallet)?;
        let caveat_codes = vec![Caveat::NoPriceSource {}];
        Ok(OverviewOutput {
            script_hash: hex::encode(wallet.script_hash),
            script_type: wallet.script_type(),
            balance: Balance {
                confirmed_sats: balance,
                confirmed_btc: Btc::of(balance),
                unconfirmed_sats: pending.map(|p| p.net),
                unconfirmed_btc: pending.map(|p| Btc(p.net)),
                unconfirmed_reason,
                total_sats: pending.map(|p| p.total),
                total_btc: pending.map(|p| Btc::of(p.total)),
            },
            utxo_count: sums.map_or(0, |t| t.coin_count()),
            tx_count: sums.map_or(0, |t| t.tx_count),
            unconfirmed_tx_count: pending.map(|p| p.tx_count),
            received_sats: received,
            received_btc: Btc::of(received),
            sent_sats: sent,
            sent_btc: Btc::of(sent),
            unconfirmed_received_sats: pending.map(|p| p.received),
            unconfirmed_sent_sats: pending.map(|p| p.sent),
            first_seen,
            last_seen,
            price: None,
            value_usd: None,
            activity,
            assessment: Assessment::unlabeled(sums.is_some()),
            related_scripts,
            related_scripts_reason,
            caveats: Caveat::sentences(&caveat_codes),
            caveat_codes,
            address: wallet.address,
            canonical_address: wallet.own_address,
        })
    }
}

impl Batched for Overview {
    const BATCH: Info = Info {
        summary: "Balance and activity of up to 100 addresses at once",
        description: "The overview of each address, in the order of the request, all of them as of the same block. An \
            address that is not valid gets a row with its own `error`; the others are answered all the same.",
        tool: Tool::reads("asked for the balances of several addresses", "a single address (wallet_overview)"),
        ..index_post("batch_overview", "/v1/batch/overview", "wallets")
    };
}

fn seen(view: &View<'_>, tx_num: TxNum) -> Result<Seen, ApiError> {
    let found = view.txid_of(tx_num)?.and_then(|(txid, height)| Some((view.chain().get(height)?.time, txid, height)));
    let (time, txid, height) = found.ok_or_else(|| {
        tracing::error!(tx_num = tx_num.0, "totals name a transaction that is not there");
        ApiError::internal()
    })?;
    Ok(Seen { height, time: rfc3339(time), time_unix: time, txid: txid.to_string() })
}

const DAY: u32 = 86_400;
/// Days of each period of activity.
const PERIODS: [u32; 3] = [1, 7, 30];

fn activity(view: &View<'_>, script: Option<&FoundScript>) -> Result<Activity, ApiError> {
    let end = view.tip().mono_time;
    let periods = match script {
        None => PERIODS.map(|_| Period { tx_count: 0, received_sats: 0, sent_sats: 0 }),
        Some(script) => {
            let starts = PERIODS.map(|days| first_tx_after(view, end.saturating_sub(days * DAY)));
            let all = &script.totals;
            view.sums_before_each(script, starts)?.map(|before| Period {
                tx_count: all.tx_count.saturating_sub(before.tx_count),
                received_sats: all.funded.saturating_sub(before.received),
                sent_sats: all.spent.saturating_sub(before.sent),
            })
        }
    };
    let [day, week, month] = periods;
    Ok(Activity { as_of: rfc3339(end), day, week, month })
}

/// The first transaction of the first block whose monotone time lies after `time`.
fn first_tx_after(view: &View<'_>, time: u32) -> TxNum {
    let height = view.chain().height_at(time).map_or(0, |h| h + 1);
    view.chain().get(height).map_or(view.tip().tx_end, |b| b.first_tx)
}
