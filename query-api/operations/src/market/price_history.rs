//! `GET /v1/market/price-history`.

use cairn_domain::price::{Rate, Series, convert, rate_at};
use cairn_events::{Chosen, Currency, Interval};
use cairn_http::{Format, Formatted};

use super::span::{CandleInterval, CandleRequest, missing_between};
use crate::{
    candles::Candles,
    operation::prelude::*,
    parameters::{currency::CurrencyParam, limit::Limit, time::TimeParam},
    price_now::why_no_rate,
    series::KnownSeries,
    values::{PriceNumber, date},
    vocabulary::{
        columns::columns,
        cursor::{CursorParam, Cursors},
    },
};

pub(crate) struct PriceHistory;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PriceHistoryInput {
    /// Code of the currency.
    #[serde(default = "CurrencyParam::usd")]
    currency: CurrencyParam,
    /// Beginning, as YYYY-MM-DD (UTC) or as a time in RFC 3339: candles that close after it. Default: early enough for
    /// `limit` candles.
    #[schemars(example = "2024-01-01")]
    from: Option<TimeParam>,
    /// End: candles that close at that time or before; of a date, at the end of the day. Default: the newest candle.
    #[schemars(example = "2024-12-31")]
    to: Option<TimeParam>,
    /// Length of the candles.
    #[serde(default)]
    interval: CandleInterval,
    /// Candles per page.
    #[serde(default)]
    limit: Limit<366, 5_000>,
    /// `next_cursor` of the previous page, with the same `currency`, `interval`, `from` and `to`.
    cursor: Option<CursorParam>,
    /// Format: a JSON object, or only the rows as CSV or Markdown. These have no cursor: ask
    /// for a later `from`.
    #[serde(default)]
    format: Format,
}

/// Candles of the price of bitcoin.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PriceHistoryOutput {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    currency: String,
    interval: CandleInterval,
    /// Closing time of the first known candle of this interval, in the currency or in dollars; null if there is none.
    first_closes_at: Option<String>,
    /// Closing time of the newest candle; null if there is none.
    last_closes_at: Option<String>,
    /// Why there are no candles at all; otherwise null.
    reason: Option<&'static str>,
    /// Candles, ascending by time. Missing candles are not filled in; `missing_before` counts them.
    candles: Vec<CandleRow>,
    /// Cursor of the next page; null at the end.
    next_cursor: Option<String>,
}

/// A candle.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PriceCandle")]
pub(crate) struct CandleRow {
    /// Closing time of the candle. Its price is known from then on.
    closes_at: String,
    open: Option<PriceNumber>,
    high: Option<PriceNumber>,
    low: Option<PriceNumber>,
    /// Why `open`, `high` and `low` are null; otherwise null.
    range_reason: Option<&'static str>,
    close: Option<PriceNumber>,
    /// Why `close` is null; otherwise null.
    close_reason: Option<&'static str>,
    /// Source of the price; null if the close is the mean of two.
    source: Option<String>,
    /// Number of sources in the median.
    sources: u16,
    /// Number of sources that were left out because they are more than 5 % from the median.
    dropped: u16,
    /// True if the sources disagree by more than 5 %.
    disputed: bool,
    /// True if the candle was converted from dollars.
    converted: bool,
    /// Day of the exchange rate of the conversion; null without conversion.
    fx_date: Option<String>,
    /// Number of missing candles between the previous candle in this list and this one.
    missing_before: u32,
}

impl Operation for PriceHistory {
    const INFO: Info = Info {
        summary: "Candles of the bitcoin price in a currency, by day, hour or minute",
        description: "Candles, each the median of the sources that agree within 5 %. A day closes at 00:00 UTC. \
            Candles in the currency itself come first; where there is none, the one in US dollars is converted by the \
            euro's reference rates of the last business day. Gaps are reported and not filled. A correction of past \
            prices changes the answer at once.",
        source: "prices",
        freshness_semantics: "time of the newest block in the index; each row has its own time",
        errors: &[ErrorCode::CursorExpired],
        cost: Cost::Heavy,
        tool: Tool::UNLISTED,
        ..index_get("price_history", "/v1/market/price-history", "market")
    };
    type Input = PriceHistoryInput;
    type Output = Formatted<PriceHistoryOutput>;

    fn run(ctx: &Ctx<'_>, input: PriceHistoryInput) -> Result<Formatted<PriceHistoryOutput>, ApiError> {
        let (view, known) = (ctx.view()?, ctx.known()?);
        let (currency, interval) = (input.currency.0, input.interval.interval());
        let own = Series { base: Currency::BTC, quote: currency, interval };
        let dollars = Series { quote: Currency::USD, ..own };
        let is_convertible = has_rates(&known, currency);
        let spans =
            [Some(own), Some(dollars).filter(|_| is_convertible)].map(|series| series.and_then(|s| known.span(s)));
        let first = spans.iter().flatten().map(|span| span.first).min();
        let last = spans.iter().flatten().map(|span| span.last).max();
        let asked = CandleRequest {
            cursors: Cursors::new(view, &ctx.fingerprint()),
            from: input.from,
            to: input.to,
            cursor: input.cursor.as_deref(),
            limit: input.limit.get(),
        };
        let span = asked.span(last, interval.seconds())?;
        let (limit, from) = (input.limit.get() as usize, span.after.saturating_add(1));
        let read = |series| view.ledger().quotes(series, from, span.until, limit + 1);
        let quoted = read(own)?.into_iter().map(|(closes_at, chosen)| (closes_at, chosen, false));
        let other = if is_convertible { read(dollars)? } else { Vec::new() };
        let mut found: Vec<_> = quoted.chain(other.into_iter().map(|(at, chosen)| (at, chosen, true))).collect();
        // Those that were quoted in the currency come before those that are converted.
        found.sort_by_key(|(closes_at, _, converted)| (*closes_at, *converted));
        found.dedup_by_key(|(closes_at, ..)| *closes_at);
        let more = found.len() > limit;
        found.truncate(limit);
        let next_cursor = found.last().filter(|_| more).map(|(closes_at, ..)| asked.next(*closes_at));
        let candles = Candles::new(view, &known);
        if let (Some((begin, ..)), Some((end, ..))) = (found.first(), found.last())
            && is_convertible
            && (end - begin) / Interval::Day.seconds() <= 2 * input.limit.get()
        {
            for quote in [Currency::USD, currency].into_iter().filter(|quote| *quote != Currency::EUR) {
                candles.load(Series { base: Currency::EUR, quote, interval: Interval::Day }, *begin, *end)?;
            }
        }
        let (mut rows, mut before) = (Vec::with_capacity(found.len()), span.shown);
        for (closes_at, chosen, converted) in found {
            ctx.work.poll()?;
            let rate = match converted {
                true => Some(rate_at(&candles, Currency::USD, currency, closes_at)?.map_err(why_no_rate)),
                false => None,
            };
            let missing = missing_between(before, closes_at, interval.seconds());
            rows.push(CandleRow::of(closes_at, chosen, rate.as_ref(), missing));
            before = Some(closes_at);
        }
        let part = format_args!("candles follow: this is the first part of {limit}; ask for a later from");
        ctx.warn_if_more(input.format, next_cursor.is_some(), part);
        let json = |candles| PriceHistoryOutput {
            definition: "price",
            currency: currency.to_string(),
            interval: input.interval,
            first_closes_at: first.map(rfc3339),
            last_closes_at: last.map(rfc3339),
            reason: first
                .is_none()
                .then_some("no candles of this interval are loaded in this currency, nor any that can be converted"),
            candles,
            next_cursor,
        };
        Ok(input.format.rows(rows, json))
    }
}

/// True if prices in dollars may be converted to a currency.
fn has_rates(known: &KnownSeries, currency: Currency) -> bool {
    let of = |quote| Series { base: Currency::EUR, quote, interval: Interval::Day };
    let has = |quote: Currency| quote == Currency::EUR || known.span(of(quote)).is_some();
    currency != Currency::USD && has(Currency::USD) && has(currency)
}

impl CandleRow {
    fn of(closes_at: u32, chosen: Chosen, rate: Option<&Result<Rate, &'static str>>, missing_before: u32) -> Self {
        let price = |number| match rate {
            None => Ok(number),
            Some(Err(reason)) => Err(*reason),
            Some(Ok(rate)) => convert(number, rate).ok_or("the converted price is too large"),
        };
        let (close, range) = (price(chosen.close), chosen.range);
        let told = |number| price(number).ok().map(PriceNumber);
        CandleRow {
            closes_at: rfc3339(closes_at),
            open: range.and_then(|range| told(range.open)),
            high: range.and_then(|range| told(range.high)),
            low: range.and_then(|range| told(range.low)),
            range_reason: match (range, &chosen.source) {
                (Some(range), _) => price(range.high).err(),
                (None, Some(_)) => Some("the source has only the close"),
                (None, None) => Some("the close is the mean of two sources"),
            },
            close_reason: close.err(),
            close: close.ok().map(PriceNumber),
            source: chosen.source.map(|source| source.as_str().to_owned()),
            sources: chosen.sources,
            dropped: chosen.dropped,
            disputed: chosen.disputed,
            converted: rate.is_some(),
            fx_date: rate.and_then(|rate| rate.as_ref().ok()).map(|rate| date(rate.day())),
            missing_before,
        }
    }
}

columns! { CandleRow {
    closes_at, open, high, low, close, close_reason, source, sources, dropped, disputed, converted, fx_date,
    missing_before,
} }
