//! `GET /v1/wallets/{address}/overview`.

use cairn_domain::mempool::ScriptTotals;
use cairn_http::Detail;
use cairn_model::DAY_SECS;
use cairn_reader::FoundScript;
use cairn_tables::block_log::BlockLog;

use super::{
    Wallet,
    coin_age::{CoinAge, coin_age},
    immature::immature_sats,
    related::{RelatedScript, related},
};
use crate::{
    batch::BatchedOperation,
    context::{MempoolView, PRICE},
    operation::prelude::*,
    parameters::identifier::AddressParam,
    price_now::{self, Dollars},
    values::Fiat,
    vocabulary::{caveat::Caveat, owner::Assessment},
};

/// Balance and activity of a script.
pub(crate) struct Overview;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OverviewInput {
    address: AddressParam,
    /// True to add the ages of the coins; not for more than 1 000 coins.
    #[serde(default)]
    include_coin_age: bool,
    /// `compact` omits explanatory and nested fields.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: Detail,
}

/// Balance and activity of a script.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OverviewOutput {
    /// The address as given in the request.
    address: String,
    /// Address of the script; null if it has none (P2PK, bare multisig, …) or if the script is unknown.
    canonical_address: Option<String>,
    /// SHA-256 of the scriptPubKey in natural byte order.
    script_hash: String,
    /// Script type as Bitcoin Core names it; `unknown` for the hash of a script that the chain does not contain.
    script_type: &'static str,
    balance: Balance,
    /// Number of unspent outputs of confirmed transactions, including those that an unconfirmed transaction spends.
    utxo_count: u64,
    /// Ages of these coins; null unless `include_coin_age` is true, and as `coin_age_reason` says.
    coin_age: Option<CoinAge>,
    /// Why `coin_age` is null although `include_coin_age` is true: `no_coins`, `no_amount`, or `too_many_coins` (more
    /// than 1 000); otherwise null.
    coin_age_reason: Option<&'static str>,
    /// Number of confirmed transactions that fund the script or spend from it.
    tx_count: u64,
    /// Number of unconfirmed transactions that fund the script or spend from it; null without a mempool.
    unconfirmed_tx_count: Option<u64>,
    received_sats: u64,
    received_btc: Btc,
    sent_sats: u64,
    sent_btc: Btc,
    /// Sum of outputs to the script in unconfirmed transactions; null without a mempool.
    unconfirmed_received_sats: Option<u64>,
    /// Sum of inputs from the script in unconfirmed transactions, of confirmed and unconfirmed coins; null without a
    /// mempool.
    unconfirmed_sent_sats: Option<u64>,
    /// Block of the first confirmed transaction.
    first_seen: Option<TxBlock>,
    /// Block of the newest confirmed transaction.
    last_seen: Option<TxBlock>,
    /// Current price of one bitcoin in US dollars; null if none is known: a caveat gives the reason.
    price: Option<Dollars>,
    /// Value of `balance.confirmed_sats` in US dollars; null without a price.
    value_usd: Option<Fiat>,
    activity: Activity,
    assessment: Assessment,
    /// Other scripts of the same key. Their coins are not part of the balance.
    related_scripts: Vec<RelatedScript>,
    /// Why `related_scripts` may be incomplete; otherwise null.
    related_scripts_reason: Option<&'static str>,
    /// Caveats as sentences.
    caveats: Vec<String>,
    /// The same caveats as codes with parameters.
    caveat_codes: Vec<Caveat>,
}

/// Balance of a script.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Balance {
    /// Sum of the confirmed coins.
    confirmed_sats: u64,
    confirmed_btc: Btc,
    /// Part of `confirmed_sats` that cannot be spent yet: outputs of coinbases with fewer than 100 confirmations.
    immature_sats: u64,
    immature_btc: Btc,
    /// Change by unconfirmed transactions: negative if they spend more than they pay; null without a mempool.
    unconfirmed_sats: Option<i64>,
    unconfirmed_btc: Option<Btc>,
    /// Why the unconfirmed fields are null; otherwise null.
    unconfirmed_reason: Option<&'static str>,
    /// Confirmed plus unconfirmed: the balance if all unconfirmed transactions confirm; null if either is null.
    total_sats: Option<u64>,
    total_btc: Option<Btc>,
}

/// The block of a transaction.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Seen")]
pub(crate) struct TxBlock {
    height: u32,
    /// Time of the block's header.
    time: String,
    time_unix: u32,
    txid: String,
}

/// Activity in the days before the tip.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Activity {
    /// End of the periods: the monotone time of the tip.
    as_of: String,
    #[serde(rename = "24h")]
    day: Period,
    #[serde(rename = "7d")]
    week: Period,
    #[serde(rename = "30d")]
    month: Period,
}

/// Activity in a period.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Period {
    tx_count: u64,
    received_sats: u64,
    sent_sats: u64,
}

pub(crate) struct Unconfirmed {
    pub(crate) tx_count: u64,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    net: i64,
    /// With the confirmed balance.
    total: u64,
}

impl Unconfirmed {
    /// The effect of the unconfirmed transactions, or why it is unknown.
    pub(crate) fn of(
        ctx: &Ctx<'_>,
        confirmed: u64,
        sums: impl FnOnce(&MempoolView<'_>) -> ScriptTotals,
    ) -> Result<Self, &'static str> {
        let pool = ctx.unconfirmed().ok_or_else(|| ctx.pool.as_ref().err().map_or("", |absent| absent.reason()))?;
        let sums = sums(pool);
        let fitting = || {
            let net = i64::try_from(sums.net_sats()).ok()?;
            let (received, sent) = (u64::try_from(sums.received_sats).ok()?, u64::try_from(sums.sent_sats).ok()?);
            Some(Unconfirmed {
                tx_count: sums.tx_count,
                received,
                sent,
                net,
                total: confirmed.checked_add_signed(net)?,
            })
        };
        // A coin spent by an unconfirmed transaction is confirmed or was received unconfirmed, so the total is not
        // negative, unless a transaction has just left the mempool and its descendants have not yet.
        fitting().ok_or_else(|| {
            tracing::warn!(?sums, confirmed, "the mempool spends more than a wallet has");
            "mempool and index are momentarily inconsistent"
        })
    }
}

impl Balance {
    pub(super) fn of(confirmed: u64, immature: u64, pending: Result<&Unconfirmed, &'static str>) -> Self {
        let change = pending.ok();
        Balance {
            confirmed_sats: confirmed,
            confirmed_btc: Btc::of(confirmed),
            immature_sats: immature,
            immature_btc: Btc::of(immature),
            unconfirmed_sats: change.map(|p| p.net),
            unconfirmed_btc: change.map(|p| Btc(p.net)),
            unconfirmed_reason: pending.err(),
            total_sats: change.map(|p| p.total),
            total_btc: change.map(|p| Btc::of(p.total)),
        }
    }
}

impl Operation for Overview {
    const INFO: Info = Info {
        summary: "Balance, coins, activity and first and last transaction of an address",
        description: "The state of one script at the tip, with a constant number of reads for any length of history, and one more \
            for each coin with `include_coin_age`. \
            Counts and sums cover confirmed transactions, unless the name contains `unconfirmed`. Index and mempool \
            have the same tip, so `balance.total_sats` counts nothing twice. Without a mempool, the unconfirmed fields \
            are null and `balance.unconfirmed_reason` says why. `value_usd` is the confirmed balance at the newest \
            known price; `price` has its time and source. `assessment` has the label that sources give the address. \
            Periods of `activity` end at the monotone time of the tip. For an address that no block contains, the \
            answer has zeros and `assessment.state: no_history`, even if unconfirmed transactions pay to it. Use \
            `transactions` for single transactions and `balance-history` for the confirmed balance over time.",
        aliases: &["/v1/address/{address}/overview"],
        freshness: &[TIP, MEMPOOL, PRICE, CLAIMS, LABELS],
        needs_tip: true,
        compact: &[
            "balance.confirmed_btc",
            "balance.immature_btc",
            "balance.unconfirmed_btc",
            "balance.total_btc",
            "received_btc",
            "sent_btc",
            "first_seen",
            "last_seen",
            "price",
            "activity",
            "assessment",
            "utxo_count",
            "coin_age",
            "related_scripts",
            "caveats",
        ],
        tool: Tool::reads(
            "asked how much bitcoin an address or wallet holds, its balance and worth, what it received and sent, or if and \
             when it was used",
            "single payments (wallet_transactions), the balance over time (wallet_balance_history), or its owner",
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
        let pending = Unconfirmed::of(ctx, balance, |pool| pool.mempool.script_totals(&wallet.script_hash));
        let found = wallet.script.as_deref().zip(wallet.found.as_ref());
        let immature = immature_sats(ctx, view, found)?;
        let balance_now = Balance::of(balance, immature, pending.as_ref().map_err(|reason| *reason));
        let pending = pending.as_ref().ok();
        let (received, sent) = sums.map_or((0, 0), |t| (t.funded, t.spent));
        let first_seen = sums.map(|t| seen(view, t.first.tx_num)).transpose()?;
        let last_seen = sums.map(|t| seen(view, t.last)).transpose()?;
        let activity = activity(view, wallet.found.as_ref())?;
        let age = match input.include_coin_age {
            true => Some(coin_age(view, wallet.found.as_ref())?),
            false => None,
        };
        let coin_age_reason = age.as_ref().and_then(|age| age.as_ref().err().copied());
        let (related_scripts, related_scripts_reason) = related(view, &wallet)?;
        let assessment = Assessment::find(ctx, &wallet.script_hash, sums.is_some())?;
        let price = ctx.dollars()?;
        let caveat_codes = price_now::caveats(price, ctx.now());
        Ok(OverviewOutput {
            script_hash: hex::encode(wallet.script_hash),
            script_type: wallet.script_type(),
            balance: balance_now,
            utxo_count: sums.map_or(0, |t| t.coin_count()),
            coin_age: age.and_then(Result::ok),
            coin_age_reason,
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
            price: price.ok().map(|price| Dollars::of(price, ctx.now())),
            value_usd: price.ok().and_then(|price| Fiat::of(balance, price.price)),
            activity,
            assessment,
            related_scripts,
            related_scripts_reason,
            caveats: Caveat::sentences(&caveat_codes),
            caveat_codes,
            address: wallet.address,
            canonical_address: wallet.own_address,
        })
    }
}

impl BatchedOperation for Overview {
    const BATCH: Info = Info {
        summary: "Balance and activity of up to 100 addresses at once",
        description: "The overview of each address, in the order of the request, all at the same tip. An invalid \
            address gets a row with its own `error`; the other rows are not affected.",
        tool: Tool::reads("asked for the balances of several addresses", "a single address (wallet_overview)"),
        ..index_post("batch_overview", "/v1/batch/overview", "wallets")
    };
    type Shared<'r> = ();
}

/// The block of a transaction. One row read.
pub(crate) fn seen(view: &View<'_>, tx_num: TxNum) -> Result<TxBlock, ApiError> {
    let found = view
        .transactions()
        .txid(tx_num)?
        .and_then(|(txid, height)| Some((view.chain().get(height)?.time, txid, height)));
    let (time, txid, height) = found.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx_num.0)))?;
    Ok(TxBlock { height, time: rfc3339(time), time_unix: time, txid: txid.to_string() })
}

const PERIODS: [u32; 3] = [1, 7, 30];

/// Activity of a script in each period. At most three rows read.
pub(crate) fn activity(view: &View<'_>, script: Option<&FoundScript>) -> Result<Activity, ApiError> {
    let end = view.tip().mono_time;
    let periods = match script {
        None => PERIODS.map(|_| Period { tx_count: 0, received_sats: 0, sent_sats: 0 }),
        Some(script) => {
            let starts = PERIODS.map(|days| first_tx_after(view, end.saturating_sub(days * DAY_SECS)));
            let all = &script.totals;
            view.scripts().sums_before_each(script, starts)?.map(|before| Period {
                tx_count: all.tx_count.saturating_sub(before.tx_count),
                received_sats: all.funded.saturating_sub(before.received),
                sent_sats: all.spent.saturating_sub(before.sent),
            })
        }
    };
    let [day, week, month] = periods;
    Ok(Activity { as_of: rfc3339(end), day, week, month })
}

/// The first transaction of the first block whose monotone time is after `time`.
fn first_tx_after(view: &View<'_>, time: u32) -> TxNum {
    let height = view.chain().height_at(time).map_or(0, |h| h + 1);
    view.chain().get(height).map_or(view.tip().tx_end, |b| b.first_tx)
}
