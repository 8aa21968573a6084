//! `GET /v1/wallets/{address}/balance-history`.

use std::ops::{Range, RangeInclusive};

use cairn_domain::{
    Daily, DayPoint, Inconsistent,
    price::{NoDayPrice, Price, Series, day_price},
};
use cairn_events::{Currency, Interval};
use cairn_http::{Format, Formatted, Location, Table};
use cairn_model::{DAY_SECS, day_of, last_second};
use cairn_reader::{FoundScript, ReadError, SumsBefore};
use cairn_tables::{
    DecodeError, Table as _,
    history::{ENTRIES_PER_ROW, History, HistoryEntry},
};

use super::Wallet;
use crate::{
    candles::Candles,
    operation::prelude::*,
    parameters::{currency::CurrencyParam, date::DateParam, identifier::AddressParam},
    price_now::{source, why_missing},
    values::{Fiat, PriceNumber, date},
    vocabulary::columns::columns,
};

pub(crate) struct BalanceHistory;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BalanceHistoryInput {
    address: AddressParam,
    /// First day, as YYYY-MM-DD (UTC, monotone block time). Default, and minimum: the day of the first activity.
    #[schemars(example = "2024-01-01")]
    from: Option<DateParam>,
    /// Last day, as YYYY-MM-DD. Points continue after the last activity, but not after the tip. Default: the day of the
    /// last activity, or `from` if that is later.
    #[schemars(example = "2024-12-31")]
    to: Option<DateParam>,
    /// Code of the currency of the values.
    #[serde(default = "CurrencyParam::usd")]
    currency: CurrencyParam,
    /// Format: a JSON object, or only the rows as CSV (streamed) or Markdown.
    #[serde(default)]
    format: Format,
}

/// Daily balances of a script.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BalanceHistoryOutput {
    /// The address as given in the request.
    address: String,
    /// Code of the currency of the values.
    currency: String,
    /// True if the price of the day of the tip is old: at the time of the tip, older than twice the interval of its
    /// candle and older than ten minutes. Null if that day has no point or no price.
    price_stale: Option<bool>,
    /// Points for every day (UTC, monotone block time) from the first to the last activity, or of the requested range;
    /// empty without activity.
    points: Vec<Point>,
}

/// Balance and value at the end of a day.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Point {
    /// The day, as YYYY-MM-DD.
    date: String,
    /// Balance at the end of the day.
    balance_sats: u64,
    balance_btc: Btc,
    received_sats: u64,
    sent_sats: u64,
    tx_count: u64,
    /// Value of the balance in the currency, at `price`.
    value: Option<Fiat>,
    /// Price of one bitcoin: the close of the day. The day of the tip may not be over: it has the last known price.
    price: Option<PriceNumber>,
    /// Time at which the price was known.
    price_as_of: Option<String>,
    /// Source of the price; null if it is the mean of two.
    price_source: Option<String>,
    /// Why `value` and `price` are null; otherwise null.
    value_reason: Option<&'static str>,
}

impl Operation for BalanceHistory {
    const INFO: Info = Info {
        summary: "Daily balance of an address, over its whole history or a range of days",
        description: "One point per day with the balance and the amounts received and sent, including days without \
            transactions. `from` and `to` select a range; set both to the same day for a single day. Balances include \
            earlier transactions. Confirmed transactions only. Each day has the value of the balance in `currency` at the \
            close of that day; a correction of past prices changes it at once. It reads at most one row per day or per 128 \
            transactions, whichever is fewer, so it also works for the busiest addresses, and the prices of the days.",
        tool: Tool::reads(
            "asked how the balance of an address changed over time, or what it was on a given day",
            "the current balance (wallet_overview) or unconfirmed payments (wallet_transactions)",
        ),
        cost: Cost::Heavy,
        ..index_get("wallet_balance_history", "/v1/wallets/{address}/balance-history", "wallets")
    };
    type Input = BalanceHistoryInput;
    type Output = Formatted<BalanceHistoryOutput>;

    fn run(ctx: &Ctx<'_>, input: BalanceHistoryInput) -> Result<Formatted<BalanceHistoryOutput>, ApiError> {
        let view = ctx.view()?;
        if let (Some(from), Some(to)) = (input.from, input.to)
            && from > to
        {
            return Err(ApiError::validation(Location::Query, "to", "must not be before from"));
        }
        let wallet = Wallet::find(view, None, input.address)?;
        let daily = match &wallet.found {
            None => Daily::new(),
            Some(script) => days(ctx, view, script, input.from, input.to)?,
        };
        let currency = input.currency.0;
        let object = |daily| {
            let Days { points, price_stale } = Days::of(ctx, view, currency, daily)?;
            Ok(BalanceHistoryOutput { address: wallet.address, currency: currency.to_string(), price_stale, points })
        };
        input.format.answer(daily, object, |daily| {
            Ok(Table::new(priced(ctx, view, currency, daily)?.map(|(day, price)| Point::of(day, &price))))
        })
    }
}

pub(super) struct Days {
    pub(super) points: Vec<Point>,
    /// Whether the price of the day of the tip is old; `None` without one.
    pub(super) price_stale: Option<bool>,
}

impl Days {
    pub(super) fn of(ctx: &Ctx<'_>, view: &View<'_>, currency: Currency, daily: Daily) -> Result<Self, ApiError> {
        let mut price_stale = None;
        let point = |(day, price): (DayPoint, DayPrice)| {
            if day.day == day_of(view.tip().mono_time) {
                price_stale = price.as_ref().ok().map(|price| price.is_stale_at(view.tip().mono_time));
            }
            Point::of(day, &price)
        };
        let points = priced(ctx, view, currency, daily)?.map(point).collect();
        Ok(Days { points, price_stale })
    }
}

fn priced(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    currency: Currency,
    daily: Daily,
) -> Result<impl Iterator<Item = (DayPoint, DayPrice)> + use<>, ApiError> {
    let days = daily.finish();
    let prices = prices(ctx, view, currency, &days)?;
    Ok(days.into_iter().zip(prices))
}

/// The price of a day, or why there is none.
type DayPrice = Result<Price, &'static str>;

/// The price of each day. One row read for a day and series.
fn prices(ctx: &Ctx<'_>, view: &View<'_>, currency: Currency, days: &[DayPoint]) -> Result<Vec<DayPrice>, ApiError> {
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return Ok(Vec::new()) };
    let known = ctx.known()?;
    let candles = Candles::new(view, &known);
    let end_of = |day: u32| day.saturating_add(1).saturating_mul(DAY_SECS);
    let mut pairs = vec![(Currency::BTC, currency)];
    if currency != Currency::USD {
        pairs.extend([(Currency::BTC, Currency::USD), (Currency::EUR, Currency::USD), (Currency::EUR, currency)]);
    }
    for (base, quote) in pairs {
        let series = Series { base, quote, interval: Interval::Day };
        candles.load(series, end_of(first.day), end_of(last.day))?;
    }
    let tip = view.tip().mono_time;
    let price = |point: &DayPoint| {
        ctx.work.poll()?;
        let so_far = Some(tip).filter(|tip| day_of(*tip) == point.day);
        Ok(day_price(&candles, currency, point.day, so_far)?.map_err(|none| match none {
            NoDayPrice::Missing(missing) => why_missing(missing),
            NoDayPrice::Gap => "no candle closed on that day",
        }))
    };
    days.iter().map(price).collect()
}

impl Point {
    fn of(p: DayPoint, price: &DayPrice) -> Self {
        let price = price.as_ref();
        Point {
            date: date(p.day),
            balance_sats: p.balance,
            balance_btc: Btc::of(p.balance),
            received_sats: p.received,
            sent_sats: p.sent,
            tx_count: p.tx_count,
            value: price.ok().and_then(|price| Fiat::of(p.balance, price.price)),
            price: price.ok().map(|price| PriceNumber(price.price)),
            price_as_of: price.ok().map(|price| rfc3339(price.as_of)),
            price_source: price.ok().and_then(source),
            value_reason: price.err().copied(),
        }
    }
}

columns! { Point {
    date, balance_sats, received_sats, sent_sats, tx_count, value, price, price_as_of, price_source, value_reason,
} }

/// The days of a wallet, from `from` to `to`, limited to the first activity and to the tip: of what each of its
/// transactions did, in order.
pub(super) fn days_of(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    entries: &[HistoryEntry],
    (from, to): (Option<DateParam>, Option<DateParam>),
) -> Result<Daily, ApiError> {
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(Daily::new()) };
    let (first, last) = (day_of_tx(view, first.tx_num)?, day_of_tx(view, last.tx_num)?);
    let start = from.map_or(first, |from| from.day().max(first));
    let end = to.map_or(last.max(start), DateParam::day).min(day_of(view.tip().mono_time));
    if start > end || to.is_some_and(DateParam::is_before_all) {
        return Ok(Daily::new());
    }
    let begin = if start > first { end_of_day(view, start - 1) } else { TxNum(0) };
    let (before, within) = entries.split_at(entries.partition_point(|entry| entry.tx_num < begin));
    let mut opening: Sats = 0;
    for entry in before {
        let after = opening.checked_add(entry.received).and_then(|sum| sum.checked_sub(entry.sent));
        opening = after.ok_or_else(|| broken(Inconsistent { day: start }))?;
    }
    let mut daily = Daily::after(opening);
    // The first and the last day have a point even without transactions.
    daily.add(start, 0, 0, 0).map_err(broken)?;
    let stop = end_of_day(view, end);
    for entry in within.iter().take_while(|entry| entry.tx_num < stop) {
        ctx.work.poll()?;
        daily.add(day_of_tx(view, entry.tx_num)?, entry.received, entry.sent, 1).map_err(broken)?;
    }
    daily.add(end, 0, 0, 0).map_err(broken)?;
    Ok(daily)
}

/// The days from `from` to `to`, limited to the first activity and to the tip.
fn days(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    script: &FoundScript,
    from: Option<DateParam>,
    to: Option<DateParam>,
) -> Result<Daily, ApiError> {
    let first = day_of_tx(view, script.totals.first.tx_num)?;
    let last = day_of_tx(view, script.totals.last)?;
    let start = from.map_or(first, |from| from.day().max(first));
    let end = to.map_or(last.max(start), DateParam::day).min(day_of(view.tip().mono_time));
    if start > end || to.is_some_and(DateParam::is_before_all) {
        return Ok(Daily::new());
    }
    let (begin, before) = if start > first {
        let begin = end_of_day(view, start - 1);
        (begin, view.scripts().sums_before(script, begin)?)
    } else {
        (TxNum(0), SumsBefore::default())
    };
    // After the last activity there is nothing to read.
    let stop = last.min(end);
    let balance = before.received.checked_sub(before.sent).ok_or_else(|| broken(Inconsistent { day: start }))?;
    let mut daily = Daily::after(balance);
    // The first and the last day have a point even without transactions.
    daily.add(start, 0, 0, 0).map_err(broken)?;
    let rows = script.totals.tx_count.div_ceil(ENTRIES_PER_ROW);
    if start > stop {
        // The whole history is earlier.
    } else if rows > u64::from(stop - start) {
        by_day(ctx, view, script, start..=stop, before, &mut daily)?;
    } else {
        by_entry(ctx, view, script, begin..end_of_day(view, stop), &mut daily)?;
    }
    daily.add(end, 0, 0, 0).map_err(broken)?;
    Ok(daily)
}

/// Few days: the sums at the end of each.
fn by_day(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    script: &FoundScript,
    days: RangeInclusive<u32>,
    mut before: SumsBefore,
    daily: &mut Daily,
) -> Result<(), ApiError> {
    for day in days {
        ctx.work.poll()?;
        let sums = view.scripts().sums_before(script, end_of_day(view, day))?;
        let (received, sent) = (sums.received.checked_sub(before.received), sums.sent.checked_sub(before.sent));
        let txs = sums.tx_count.checked_sub(before.tx_count);
        let (Some(received), Some(sent), Some(txs)) = (received, sent, txs) else {
            return Err(broken(Inconsistent { day }));
        };
        daily.add(day, received, sent, txs).map_err(broken)?;
        before = sums;
    }
    Ok(())
}

/// Few transactions: one after the other.
fn by_entry(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    script: &FoundScript,
    within: Range<TxNum>,
    daily: &mut Daily,
) -> Result<(), ApiError> {
    for row in view.scripts().history_rows(script.id)? {
        ctx.work.poll()?;
        for entry in row?.entries {
            if entry.tx_num >= within.end {
                return Ok(());
            }
            if entry.tx_num >= within.start {
                let day = day_of_tx(view, entry.tx_num)?;
                daily.add(day, entry.received, entry.sent, 1).map_err(broken)?;
            }
        }
    }
    Ok(())
}

fn day_of_tx(view: &View<'_>, tx_num: TxNum) -> Result<u32, ApiError> {
    let brief = view.chain().height_of(tx_num).and_then(|height| view.chain().get(height));
    brief.map(|b| day_of(b.mono_time)).ok_or_else(|| broken(Inconsistent { day: 0 }))
}

/// One past the last transaction whose block's monotone time lies on `day` or before.
fn end_of_day(view: &View<'_>, day: u32) -> TxNum {
    let height = view.chain().height_at(last_second(day)).map_or(0, |h| h + 1);
    view.chain().get(height).map_or(view.tip().tx_end, |b| b.first_tx)
}

fn broken(_: Inconsistent) -> ApiError {
    ReadError::Decode(DecodeError { table: History::NAME, what: "impossible days or balances" }).into()
}
