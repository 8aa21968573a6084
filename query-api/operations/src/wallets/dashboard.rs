//! `GET /v1/wallets/{address}/dashboard`.

mod counterparties;
mod curve;

use cairn_domain::pnl::{Kind, Method, Sums};
use cairn_events::Currency;
use cairn_http::{Detail, Location};
use cairn_model::day_of;
use cairn_reader::ReadError;

use self::{
    counterparties::{CounterpartiesOutput, Payments},
    curve::{Curve, EquityPoint},
};
use super::{
    Wallet,
    pnl::{
        Holdings, Totals, check,
        compute::{Computed, PricedTx, compute},
        why,
    },
    union::Union,
};
use crate::{
    candles::Candles,
    context::MARKET,
    definitions::PROFIT_AND_LOSS,
    operation::prelude::*,
    parameters::{
        addresses::{AddressesParam, MAX_ADDRESSES},
        currency::CurrencyParam,
        date::DateParam,
        identifier::AddressParam,
    },
    values::{Decimal, Money, date},
};

const NAME: &str = "wallet_dashboard";

/// Everything about a wallet at a glance.
pub(crate) struct Dashboard;

/// The days before the newest block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "DashboardRange")]
enum Range {
    #[serde(rename = "7d")]
    Week,
    #[serde(rename = "30d")]
    Month,
    #[default]
    #[serde(rename = "90d")]
    Quarter,
    #[serde(rename = "1y")]
    Year,
    #[serde(rename = "all")]
    All,
}

impl Range {
    const fn days(self) -> Option<u32> {
        match self {
            Range::Week => Some(7),
            Range::Month => Some(30),
            Range::Quarter => Some(90),
            Range::Year => Some(365),
            Range::All => None,
        }
    }
}

/// Parameters that select days.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DaysParams {
    /// Days up to and including the newest block's. Not together with `from` or `to`.
    range: Option<Range>,
    /// First day, as YYYY-MM-DD (UTC, monotone block time). Default with `to`: the day of the first transaction.
    #[schemars(example = "2024-01-01")]
    pub(super) from: Option<DateParam>,
    /// Last day, as YYYY-MM-DD. Default with `from`: the day of the newest block.
    #[schemars(example = "2024-12-31")]
    pub(super) to: Option<DateParam>,
}

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WalletDashboardInput {
    address: AddressParam,
    #[serde(flatten)]
    days: DaysParams,
    /// More addresses of the same wallet, separated by commas. With that of the path, they count as one wallet.
    /// Payments between them are transfers.
    addresses: Option<AddressesParam>,
    /// Code of the currency.
    #[serde(default = "CurrencyParam::usd")]
    currency: CurrencyParam,
    /// `compact` omits explanatory and nested fields.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: Detail,
}

/// Everything about a wallet at a glance.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WalletDashboardOutput {
    /// The address as given in the request.
    address: String,
    /// All addresses of the wallet, as given in the request.
    addresses: Vec<String>,
    #[serde(flatten)]
    glance: WalletGlance,
}

/// Balance, gains, activity and counterparties of a wallet.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WalletGlance {
    /// Code of the currency of all amounts of money.
    currency: String,
    /// First day (UTC) of the range.
    from: String,
    /// Last day (UTC) of the range.
    to: String,
    /// Number of confirmed transactions in the whole history.
    transaction_count: u64,
    /// Part of the current balance that cannot be spent yet: outputs of coinbases with fewer than 100 confirmations.
    immature_sats: u64,
    /// Gains by average cost over the whole history; `in_range` has the sums of the range.
    pnl: DashboardPnl,
    activity: Activity,
    /// Counterparties from which the wallet received and to which it sent in the range.
    counterparties: CounterpartiesOutput,
    /// Value at the end of days in the range: at most 120 points, the last one at the end of the last day.
    equity_curve: Vec<EquityPoint>,
    /// Number of transactions in the whole history without a known price.
    unpriced_transactions: u64,
    /// Why some amounts are null; otherwise null.
    reason: Option<&'static str>,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// Gains of the wallet.
#[derive(Debug, Serialize, JsonSchema)]
struct DashboardPnl {
    /// Current holdings of the wallet.
    holdings: Holdings,
    /// Sums of the range.
    in_range: Totals,
    /// Realized gain of the whole history.
    realized_gain_total: Option<Money>,
}

/// Activity in the range.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "WalletActivity")]
struct Activity {
    transaction_count: u64,
    /// Number of transactions that acquired or mined coins, as in profit and loss. Since the wallet bears a part of the
    /// fee, such a transaction may lower its balance.
    incoming_count: u64,
    /// Number of transactions that disposed of coins.
    outgoing_count: u64,
    /// Number of transactions within the wallet.
    internal_count: u64,
    /// Number of days with a transaction.
    active_days: u32,
    /// Sum of the outputs to the wallet, including change.
    received_sats: u64,
    /// Sum of the inputs from the wallet, including those that return as change.
    sent_sats: u64,
    /// Change of the balance over the range.
    net_sats: i64,
    net_btc: Btc,
    /// Time (monotone block time) of the first transaction; null if there is none.
    first_at: Option<String>,
    /// Time (monotone block time) of the last transaction; null if there is none.
    last_at: Option<String>,
    largest_incoming: Option<Largest>,
    largest_outgoing: Option<Largest>,
}

/// The transaction that moved most; the first of several equal ones.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LargestMovement")]
struct Largest {
    txid: String,
    /// Sum received from others or sent to others.
    sats: u64,
    time: String,
}

impl Activity {
    fn add(&mut self, step: &PricedTx<'_>, last_day: &mut Option<u32>) {
        let (received, sent) = (step.movement.received_sats(), step.movement.sent);
        self.transaction_count += 1;
        self.received_sats = self.received_sats.saturating_add(received);
        self.sent_sats = self.sent_sats.saturating_add(sent);
        self.net_sats = self.net_sats.saturating_add_unsigned(received).saturating_sub_unsigned(sent);
        let day = day_of(step.movement.time);
        self.active_days += u32::from(last_day.replace(day) != Some(day));
        self.first_at.get_or_insert_with(|| rfc3339(step.movement.time));
        self.last_at = Some(rfc3339(step.movement.time));
        for row in step.rows {
            let (count, largest) = match row.kind {
                Kind::Acquisition | Kind::Income => (&mut self.incoming_count, &mut self.largest_incoming),
                Kind::Disposal => (&mut self.outgoing_count, &mut self.largest_outgoing),
                Kind::Transfer => {
                    self.internal_count += 1;
                    continue;
                }
                Kind::Fee => continue,
            };
            *count += 1;
            if largest.as_ref().is_none_or(|largest| largest.sats < row.sats) {
                let (txid, time) = (step.tx.txid().to_string(), rfc3339(step.movement.time));
                *largest = Some(Largest { txid, sats: row.sats, time });
            }
        }
    }
}

impl DaysParams {
    /// Returns the first and the last day. Errors name the location `at` of the parameters.
    fn resolved(&self, view: &View<'_>, first_active: u32, at: Location) -> Result<(u32, u32), ApiError> {
        let today = day_of(view.tip().mono_time);
        let refuse = |name, message: &str| Err(ApiError::validation(at, name, message));
        if self.from.is_none() && self.to.is_none() {
            let days = self.range.unwrap_or_default().days();
            let first = days.map_or(first_active, |days| today.saturating_sub(days - 1));
            return Ok((first.min(today), today));
        }
        if self.range.is_some() {
            return refuse("range", "cannot be combined with from or to");
        }
        let from = self.from.map_or(first_active, DateParam::day);
        let to = self.to.map_or(today, DateParam::day);
        match () {
            () if from > to => refuse("to", "must not be before from"),
            // Days to come have nothing yet.
            () => Ok((from, to.min(today).max(from))),
        }
    }
}

impl Operation for Dashboard {
    const INFO: Info = Info {
        summary: "A wallet at a glance: gains, activity, counterparties by entity, value over time",
        description: "One or up to 101 addresses as one wallet: its holdings, their cost and their current value; \
            gains and sums received and sent in the chosen days; counterparties by entity, with unlabeled ones and \
            CoinJoins apart; and its value over time in at most 120 points. Gains are estimated by average cost over \
            the whole history of confirmed transactions; payments between the addresses do not count as gains. The \
            sums over counterparties equal what was acquired and disposed of. Up to 100 transactions in all it is \
            free; up to 1 000 it needs a wallet session; showcase addresses are open.",
        conditional: true,
        freshness: &[TIP, MARKET, CLAIMS, LABELS],
        compact: &["addresses", "activity", "counterparties", "equity_curve", "unpriced_transactions", "definition"],
        errors: &[ErrorCode::WalletSessionRequired, ErrorCode::HistoryLimitExceeded],
        tool: Tool::UNLISTED,
        cost: Cost::Heavy,
        ..index_get(NAME, "/v1/wallets/{address}/dashboard", "wallets")
    };
    type Input = WalletDashboardInput;
    type Output = WalletDashboardOutput;

    fn run(ctx: &Ctx<'_>, mut input: WalletDashboardInput) -> Result<WalletDashboardOutput, ApiError> {
        let view = ctx.view()?;
        let more = input.addresses.take().map_or_else(Vec::new, |more| more.0);
        debug_assert!(more.len() <= MAX_ADDRESSES);
        let asked = std::iter::once(input.address.clone()).chain(more);
        let wallets = asked.map(|address| Wallet::find(view, None, address)).collect::<Result<Vec<_>, _>>()?;
        let union = Union::of(&wallets, ctx);
        let glance = glance(ctx, view, &union, (&input.days, input.currency.0), (NAME, Location::Query))?;
        let addresses = wallets.into_iter().map(|wallet| wallet.address).collect();
        Ok(WalletDashboardOutput { address: input.address.text, addresses, glance })
    }
}

/// Returns a wallet at a glance. For errors, `name` is what a session gives access to, and `at` is the location of the
/// parameters.
pub(super) fn glance(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    union: &Union,
    (days, currency): (&DaysParams, Currency),
    (name, at): (&'static str, Location),
) -> Result<WalletGlance, ApiError> {
    let txs = union.txs(ctx, view, name)?;
    let tip_time = view.tip().mono_time;
    let first_time = txs.first().and_then(|tx| view.chain().get(view.chain().height_of(*tx)?));
    let (first, last) = days.resolved(view, day_of(first_time.map_or(tip_time, |block| block.mono_time)), at)?;

    let (mut sums, mut activity, mut last_day) = (Sums::default(), Activity::default(), None);
    let (mut payments, mut curve) = (Payments::default(), Curve::of(first, last.min(day_of(tip_time))));
    let computed = compute(ctx, view, (union, &txs), (Method::Average, currency), &mut |step| {
        curve.before(step.movement.time);
        curve.after(step.holds);
        if (first..=last).contains(&day_of(step.movement.time)) {
            sums.add(step.rows).map_err(|error| ReadError::Broken(error.to_string()))?;
            activity.add(step, &mut last_day);
            payments.add(view, union, step.tx, step.movement, step.rows);
        }
        Ok(())
    })?;
    activity.net_btc = Btc(activity.net_sats);
    check(ctx, &computed.report, union.balance())?;
    let known = ctx.known()?;
    let equity_curve = curve.finish(ctx, (&Candles::new(view, &known), currency), tip_time)?;
    let counterparties = payments.finish(ctx, view)?;
    let Computed { report, price, unpriced, reason } = computed;
    Ok(WalletGlance {
        currency: currency.to_string(),
        from: date(first),
        to: date(last),
        transaction_count: txs.len() as u64,
        immature_sats: union.immature_sats(ctx, view)?,
        pnl: DashboardPnl {
            holdings: Holdings::of(&report, &price, ctx.now()),
            in_range: Totals::of(&sums),
            realized_gain_total: report.all.realized().map(Decimal),
        },
        activity,
        counterparties,
        equity_curve,
        unpriced_transactions: unpriced,
        reason: why(reason, &price, report.sats),
        definition: PROFIT_AND_LOSS,
    })
}
