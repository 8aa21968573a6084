//! `GET /v1/market/fx-history`.

use cairn_domain::price::{Rate, Series};
use cairn_events::{Chosen, Currency, Interval};
use cairn_http::{Format, Formatted, Location};
use cairn_model::DAY_SECS;
use rust_decimal::Decimal;

use super::span::{CandleRequest, Span, missing_between};
use crate::{
    operation::prelude::*,
    parameters::{currency::CurrencyParam, limit::Limit, time::TimeParam},
    values::{PriceNumber, date},
    vocabulary::{
        columns::columns,
        cursor::{CursorParam, Cursors},
    },
};

/// Daily exchange rates.
pub(crate) struct FxHistory;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FxHistoryInput {
    /// Code of the base currency, of which one unit is priced.
    #[serde(default = "CurrencyParam::eur")]
    base: CurrencyParam,
    /// Code of the quote currency, in which it is priced.
    #[serde(default = "CurrencyParam::usd")]
    #[schemars(example = &"USD")]
    quote: CurrencyParam,
    /// First day, as YYYY-MM-DD (UTC), or a time in RFC 3339. Default: early enough for `limit` days.
    #[schemars(example = "2024-01-01")]
    from: Option<TimeParam>,
    /// Last day, or a time. Default: the newest rate.
    #[schemars(example = "2024-12-31")]
    to: Option<TimeParam>,
    /// Rates per page.
    #[serde(default)]
    limit: Limit<366, 5_000>,
    /// `next_cursor` of the previous page, with the same `base`, `quote`, `from` and `to`.
    cursor: Option<CursorParam>,
    /// Format: a JSON object, or only the rows as CSV or Markdown. These have no cursor: ask
    /// for a later `from`.
    #[serde(default)]
    format: Format,
}

/// Daily exchange rates.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FxHistoryOutput {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    base: String,
    quote: String,
    /// True if the rate is computed from two rates of the euro.
    cross: bool,
    /// Why there are no rates at all; otherwise null.
    reason: Option<&'static str>,
    /// Rates, ascending by day. Weekends and holidays have none.
    rates: Vec<FxRow>,
    /// Cursor of the next page; null at the end.
    next_cursor: Option<String>,
}

/// The rate of a day.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FxRate")]
pub(crate) struct FxRow {
    /// Day (UTC) for which the rate was published.
    date: String,
    /// End of that day. The rate converts prices from then on.
    closes_at: String,
    /// Units of the quote currency for one unit of the base.
    rate: PriceNumber,
    /// Source; null if the rate is the mean of two sources, or combines rates of different ones.
    source: Option<String>,
    /// Number of missing days, weekends included, between the previous rate in this list and this one.
    missing_before: u32,
}

/// Reference rates of a currency.
fn of_euro(quote: Currency) -> Series {
    Series { base: Currency::EUR, quote, interval: Interval::Day }
}

impl Operation for FxHistory {
    const INFO: Info = Info {
        summary: "Daily exchange rates between two currencies, from the euro's reference rates",
        description: "The price of one unit of `base` in units of `quote` on each business day: a reference rate of \
            the euro, or the quotient of two of the same day. Weekends and holidays have none; gaps are reported and \
            not filled. A rate converts prices of bitcoin from the end of its day on.",
        source: "prices",
        freshness_semantics: "time of the newest block in the index; each row has its own time",
        errors: &[ErrorCode::CursorExpired],
        cost: Cost::Heavy,
        tool: Tool::UNLISTED,
        ..index_get("fx_history", "/v1/market/fx-history", "market")
    };
    type Input = FxHistoryInput;
    type Output = Formatted<FxHistoryOutput>;

    fn run(ctx: &Ctx<'_>, input: FxHistoryInput) -> Result<Formatted<FxHistoryOutput>, ApiError> {
        let (view, known) = (ctx.view()?, ctx.known()?);
        let (base, quote) = (input.base.0, input.quote.0);
        if base == quote {
            return Err(ApiError::validation(Location::Query, "quote", "must differ from base"));
        }
        let legs = [base, quote].map(|currency| (currency != Currency::EUR).then(|| of_euro(currency)));
        let newest = legs.iter().flatten().map(|series| known.span(*series).map(|span| span.last)).min().flatten();
        let asked = CandleRequest {
            cursors: Cursors::new(view, &ctx.fingerprint()),
            from: input.from,
            to: input.to,
            cursor: input.cursor.as_deref(),
            limit: input.limit.get(),
        };
        let span = asked.span(newest, DAY_SECS)?;
        let limit = input.limit.get() as usize;
        let mut found = rates(ctx, view, legs, span, limit + 1)?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next_cursor = found.last().filter(|_| more).map(|rate| asked.next(rate.closes_at));
        let mut before = span.shown;
        let rows = found.into_iter().map(|rate| {
            let missing_before = missing_between(before.replace(rate.closes_at), rate.closes_at, DAY_SECS);
            FxRow {
                date: date(rate.day()),
                closes_at: rfc3339(rate.closes_at),
                rate: PriceNumber(rate.value()),
                source: rate.source.map(|source| source.as_str().to_owned()),
                missing_before,
            }
        });
        let rows: Vec<FxRow> = rows.collect();
        let part = format_args!("rates follow: this is the first part of {limit}; ask for a later from");
        ctx.warn_if_more(input.format, next_cursor.is_some(), part);
        Ok(input.format.rows(rows, |rates| FxHistoryOutput {
            definition: "exchange-rate",
            base: base.to_string(),
            quote: quote.to_string(),
            cross: legs.iter().all(Option::is_some),
            reason: newest.is_none().then_some("no exchange rates of these currencies are loaded"),
            rates,
            next_cursor,
        }))
    }
}

/// Returns at most `most` rates, ascending: of the days that have one for both currencies.
fn rates(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    legs: [Option<Series>; 2],
    span: Span,
    most: usize,
) -> Result<Vec<Rate>, ApiError> {
    let (first, second) = match legs {
        [Some(base), quote] => (base, quote),
        // They are different currencies.
        [None, Some(quote)] => (quote, None),
        [None, None] => return Ok(Vec::new()),
    };
    let is_base = legs[0].is_some();
    let (mut found, mut from) = (Vec::new(), span.after.saturating_add(1));
    while found.len() < most {
        ctx.work.poll()?;
        let rows = view.ledger().quotes(first, from, span.until, most)?;
        let Some((end, _)) = rows.last().cloned() else { break };
        let others = match (second, rows.first()) {
            (Some(series), Some((begin, _))) => Some(view.ledger().quotes(series, *begin, end, usize::MAX)?),
            _ => None,
        };
        for (closes_at, chosen) in &rows {
            let other = match &others {
                None => None,
                Some(others) => match others.binary_search_by_key(closes_at, |(closes_at, _)| *closes_at) {
                    Ok(at) => others.get(at).map(|(_, chosen)| chosen),
                    Err(_) => continue,
                },
            };
            found.push(rate(*closes_at, chosen, other, is_base));
        }
        if rows.len() < most {
            break;
        }
        from = end.saturating_add(1);
    }
    found.truncate(most);
    Ok(found)
}

/// The rate of a day, of one currency to the euro, or of two to each other.
fn rate(closes_at: u32, first: &Chosen, second: Option<&Chosen>, is_base: bool) -> Rate {
    let source = first.source.clone();
    match second {
        Some(target) => {
            let source = source.filter(|source| target.source.as_ref() == Some(source));
            Rate { base: first.close, target: target.close, closes_at, source }
        }
        None if is_base => Rate { base: first.close, target: Decimal::ONE, closes_at, source },
        None => Rate { base: Decimal::ONE, target: first.close, closes_at, source },
    }
}

columns! { FxRow { date, closes_at, rate, source, missing_before } }
