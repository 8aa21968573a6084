//! `GET /v1/wallets/{address}/pnl`.

pub(super) mod compute;
mod csv;
mod explained;

use cairn_domain::pnl::{Method, Micros, Report, Sums};
use cairn_domain::price::Missing;
use cairn_http::{Formatted, Location};
use cairn_reader::ReadError;
use cairn_tables::{DecodeError, Table as _, totals::TotalsTable};

use self::{
    compute::{Computed, PriceOrMissing, compute},
    csv::{CsvProfile, MAX_CSV_ROWS, Rows},
    explained::{ExplainedRow, StepCollector},
};
use super::{Wallet, union::Union};
use crate::{
    context::MARKET,
    definitions::PROFIT_AND_LOSS,
    operation::prelude::*,
    parameters::{currency::CurrencyParam, identifier::AddressParam},
    price_now::{source, why_missing},
    values::{Decimal, Money, PriceNumber},
};

/// Name of the operation, and of what a session gives access to.
pub(crate) const NAME: &str = "wallet_pnl";
/// Message of the gate of files.
const SESSION: &str =
    "the export of realized gains as CSV needs a wallet session or a key, except for showcase addresses";

pub(crate) struct WalletPnl;

/// Format of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PnlFormat {
    #[default]
    Json,
    Csv,
}

/// Method for the cost of coins that leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum MethodParam {
    #[default]
    Average,
    Fifo,
}

impl From<MethodParam> for Method {
    fn from(method: MethodParam) -> Self {
        match method {
            MethodParam::Average => Method::Average,
            MethodParam::Fifo => Method::Fifo,
        }
    }
}

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PnlInput {
    address: AddressParam,
    #[serde(flatten)]
    asked: GainsParams,
}

/// Parameters of profit and loss.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct GainsParams {
    /// `csv`: one row for each disposal.
    #[serde(default)]
    pub(super) format: PnlFormat,
    /// Code of the currency.
    #[serde(default = "CurrencyParam::usd")]
    pub(super) currency: CurrencyParam,
    /// Cost method for coins that leave.
    #[serde(default)]
    method: MethodParam,
    /// Adds each step, with price, cost and lots.
    #[serde(default)]
    explain: bool,
    /// Steps and rows of this year (UTC) only.
    #[schemars(range(min = 2009, max = 2200))]
    year: Option<u32>,
    /// With `csv`: movements in the columns of this importer.
    csv_profile: Option<CsvProfile>,
}

/// Profit and loss of a wallet.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PnlOutput {
    /// The address as given in the request.
    address: String,
    #[serde(flatten)]
    gains: Gains,
}

/// Profit and loss.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WalletGains")]
pub(super) struct Gains {
    /// Code of the currency of all amounts of money.
    currency: String,
    method: MethodParam,
    /// Number of confirmed transactions.
    transaction_count: u64,
    /// Time (monotone block time) of the first transaction; null if there is none.
    first_at: Option<String>,
    /// Time (monotone block time) of the last transaction; null if there is none.
    last_at: Option<String>,
    /// Holdings of the wallet.
    holdings: Holdings,
    /// Sums of the whole history.
    totals: Totals,
    /// Sums by year (UTC, monotone block time), ascending.
    years: Vec<Year>,
    /// Realized plus unrealized gain; null if a price is missing. It equals the market value of the holdings plus all
    /// proceeds, minus the cost of all acquired coins.
    total_gain: Option<Money>,
    /// Number of transactions without a known price.
    unpriced_transactions: u64,
    /// Why some amounts are null; otherwise null.
    reason: Option<&'static str>,
    /// Steps of the computation, in order; null unless `explain` is true.
    explained: Option<Vec<ExplainedRow>>,
    /// Number of steps left out because there are too many. Request single years instead.
    explained_omitted: u64,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// Holdings of a wallet.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PnlHoldings")]
pub(super) struct Holdings {
    quantity_sats: u64,
    quantity_btc: Btc,
    /// Cost of the holdings.
    cost_basis: Option<Money>,
    /// Cost per bitcoin.
    average_cost: Option<Money>,
    market_value: Option<Money>,
    /// Market value minus cost.
    unrealized_gain: Option<Money>,
    /// Number of lots with a remainder, first in first out.
    open_lots: u64,
    /// Current price of one bitcoin.
    price: Option<PriceNumber>,
    price_as_of: Option<String>,
    /// Source of the price; null if it is the mean of two.
    price_source: Option<String>,
    price_stale: Option<bool>,
}

/// Sums over transactions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PnlTotals")]
pub(super) struct Totals {
    transactions: u64,
    /// Sum received, without mined coins.
    acquired_sats: u64,
    acquired_cost: Option<Money>,
    /// Sum mined.
    mined_sats: u64,
    mined_value: Option<Money>,
    /// Sum that went to others.
    disposed_sats: u64,
    proceeds: Option<Money>,
    disposed_cost: Option<Money>,
    /// Sum of the wallet's shares of fees. Their cost is a loss.
    fee_sats: u64,
    fee_cost: Option<Money>,
    /// Proceeds minus costs, including those of fees.
    realized_gain: Option<Money>,
    /// Number of disposals that brought more than they cost.
    wins: u64,
    /// Number of disposals that brought less than they cost.
    losses: u64,
    /// Number of disposals that brought as much as they cost.
    even: u64,
    /// Number of disposals without a known price.
    unknown: u64,
    /// Number of lots that came in, first in first out.
    lots_opened: u64,
    /// Number of lots without a remainder, first in first out.
    lots_consumed: u64,
    /// Number of transactions within the wallet.
    transfers: u64,
}

/// A year.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PnlYear")]
struct Year {
    year: u32,
    #[serde(flatten)]
    sums: Totals,
}

impl Totals {
    pub(super) fn of(sums: &Sums) -> Self {
        Totals {
            transactions: sums.txs,
            acquired_sats: sums.acquired.0,
            acquired_cost: sums.acquired.1.map(Decimal),
            mined_sats: sums.mined.0,
            mined_value: sums.mined.1.map(Decimal),
            disposed_sats: sums.disposed.0,
            proceeds: sums.disposed.1.map(Decimal),
            disposed_cost: sums.disposed_cost.map(Decimal),
            fee_sats: sums.fees.0,
            fee_cost: sums.fees.1.map(Decimal),
            realized_gain: sums.realized().map(Decimal),
            wins: sums.wins,
            losses: sums.losses,
            even: sums.even,
            unknown: sums.unknown,
            lots_opened: sums.lots_opened,
            lots_consumed: sums.lots_emptied,
            transfers: sums.transfers,
        }
    }
}

impl Holdings {
    pub(super) fn of(report: &Report, price: &PriceOrMissing, now: u32) -> Self {
        let price = price.as_ref().ok();
        Holdings {
            quantity_sats: report.sats,
            quantity_btc: Btc::of(report.sats),
            cost_basis: report.cost.map(Decimal),
            average_cost: report.cost.and_then(|cost| per_bitcoin(cost, report.sats)).map(Decimal),
            market_value: report.market_value.map(Decimal),
            unrealized_gain: report.unrealized().map(Decimal),
            open_lots: report.lots,
            price: price.map(|price| PriceNumber(price.price)),
            price_as_of: price.map(|price| rfc3339(price.as_of)),
            price_source: price.and_then(source),
            price_stale: price.map(|price| price.is_stale_at(now)),
        }
    }
}

fn per_bitcoin(cost: Micros, sats: Sats) -> Option<Micros> {
    cairn_domain::pnl::part_of(cost, 100_000_000, sats)
}

/// The scripts hold what their transactions leave them, except where coins were overwritten (BIP 30).
pub(super) fn check(ctx: &Ctx<'_>, report: &Report, balance: Sats) -> Result<(), ApiError> {
    if report.sats < balance {
        let what = "the balance is above what the history leaves";
        return Err(ReadError::Decode(DecodeError { table: TotalsTable::NAME, what }).into());
    }
    if report.sats > balance {
        ctx.warn(
            "coins_overwritten",
            "coins of this wallet were overwritten (BIP 30): they count as held, and nobody can spend them",
        );
    }
    if report.invariant().is_some_and(|(one, other)| one != other) {
        return Err(ApiError::internal());
    }
    Ok(())
}

impl Operation for WalletPnl {
    const INFO: Info = Info {
        summary: "Profit and loss of an address: realized by year, unrealized now, by average cost or FIFO",
        description: "Profit and loss over every confirmed transaction of the address: coins that come in cost their \
            price at that time, coins that go to others bring it. Realized gains are by year; unrealized gains value \
            the holdings at the current price. Coins that stay with the address are not a disposal; the share of a fee \
            is a loss of its cost. Prices are the last ones known at each block's time. Where a price is missing, the \
            fields that need it are null with a reason. `explain` shows each step with the lots; `format=csv` is a \
            file of realized gains, or of movements for an importer (`csv_profile`). An address is not a person: other \
            addresses of the same owner count as others. Not tax advice. Up to 100 transactions it is free; up to 1 \
            000 it needs a wallet session, as files do; showcase addresses are open.",
        conditional: true,
        freshness: &[TIP, MARKET],
        errors: &[ErrorCode::WalletSessionRequired, ErrorCode::HistoryLimitExceeded],
        tool: Tool::reads(
            "asked what a wallet gained or lost, its cost basis, or its tax figures by year",
            "the value of a wallet by day (wallet_balance_history), or its payments (wallet_transactions)",
        ),
        cost: Cost::Heavy,
        ..index_get(NAME, "/v1/wallets/{address}/pnl", "wallets")
    };
    type Input = PnlInput;
    type Output = Formatted<PnlOutput>;

    fn run(ctx: &Ctx<'_>, input: PnlInput) -> Result<Formatted<PnlOutput>, ApiError> {
        let view = ctx.view()?;
        let wallet = [Wallet::find(view, None, input.address)?];
        let union = Union::of(&wallet, ctx);
        let [wallet] = wallet;
        Ok(match gains(ctx, view, &union, input.asked, (NAME, Location::Query))? {
            Formatted::Json(gains) => Formatted::Json(PnlOutput { address: wallet.address, gains }),
            Formatted::Csv(table) => Formatted::Csv(table),
            Formatted::Markdown(table) => Formatted::Markdown(table),
        })
    }
}

/// Returns the gains of a wallet. For errors, `name` is what a session gives access to, and `at` is the location of the
/// parameters.
pub(super) fn gains(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    union: &Union,
    asked: GainsParams,
    (name, at): (&'static str, Location),
) -> Result<Formatted<Gains>, ApiError> {
    let is_file = asked.format == PnlFormat::Csv;
    if asked.csv_profile.is_some() && !is_file {
        return Err(ApiError::validation(at, "csv_profile", "is for format=csv only"));
    }
    let currency = asked.currency.0;
    let txs = union.txs(ctx, view, name)?;
    if is_file {
        union.need_session(ctx, name, SESSION)?;
    }
    let is_wanted = |year: u32| asked.year.is_none_or(|wanted| wanted == year);
    let (mut span, mut rows) = (None, Rows::new(asked.csv_profile));
    let mut explaining = asked.explain.then(|| StepCollector::new(asked.method.into()));
    let money = (asked.method.into(), currency);
    let computed = compute(ctx, view, (union, &txs), money, &mut |step| {
        let (first, _) = span.unwrap_or((step.movement.time, step.movement.time));
        span = Some((first, step.movement.time));
        if !is_wanted(step.year) {
            return Ok(());
        }
        if is_file {
            rows.add(step, money);
            if rows.len() > MAX_CSV_ROWS {
                let message = format!("is needed: without it the file has more than {MAX_CSV_ROWS} rows");
                return Err(ApiError::validation(at, "year", message));
            }
        } else if let Some(explaining) = &mut explaining {
            explaining.add(step);
        }
        Ok(())
    })?;
    check(ctx, &computed.report, union.balance())?;
    if is_file {
        return Ok(Formatted::Csv(rows.into_table()));
    }
    let (explained, explained_omitted) = match explaining {
        Some(explaining) => {
            let (rows, omitted) = explaining.finish(view)?;
            (Some(rows), omitted)
        }
        None => (None, 0),
    };
    let Computed { report, price, unpriced, reason } = computed;
    let years = report.years.iter().map(|(year, sums)| Year { year: *year, sums: Totals::of(sums) });
    let gain = report.all.realized().zip(report.unrealized()).and_then(|(one, other)| one.checked_add(other));
    Ok(Formatted::Json(Gains {
        currency: currency.to_string(),
        method: asked.method,
        transaction_count: txs.len() as u64,
        first_at: span.map(|(first, _)| rfc3339(first)),
        last_at: span.map(|(_, last)| rfc3339(last)),
        holdings: Holdings::of(&report, &price, ctx.now()),
        totals: Totals::of(&report.all),
        years: years.collect(),
        total_gain: gain.map(Decimal),
        unpriced_transactions: unpriced,
        reason: why(reason, &price, report.sats),
        explained,
        explained_omitted,
        definition: PROFIT_AND_LOSS,
    }))
}

pub(super) fn why(reason: Option<Missing>, price: &PriceOrMissing, sats: Sats) -> Option<&'static str> {
    let now = price.as_ref().err().copied().filter(|_| sats > 0);
    reason.or(now).map(why_missing)
}
