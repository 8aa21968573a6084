//! `GET /v1/onchain`.

mod read;
mod rows;

use cairn_domain::{
    AGE_CLASSES,
    onchain::{Closes, Figures, Prices},
};
use cairn_http::{Detail, Format, Formatted, Location, Table};
use cairn_model::{DAY_SECS, day_of, last_second};

use self::{
    read::{DailyCloses, walk},
    rows::{DayRow, Number, Window, natural, reason, share},
};
use crate::{
    context::{BlockRef, block_ref},
    operation::prelude::*,
    parameters::date::DateParam,
    values::{Decimal, date},
};

pub(crate) struct Onchain;

const MAX_DAYS: u32 = 1_000;
/// Days of the longer window.
const MONTH: u32 = 30;
/// Days of the shorter one.
const WEEK: u32 = 7;
/// Seconds after which the newest close is too old for an answer about now.
const STALE: u32 = 2 * DAY_SECS;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OnchainInput {
    /// Height of a block: the answer is for the end of its day (UTC, monotone block time). Default: the newest block.
    /// Not together with `from` or `to`.
    #[schemars(example = 100)]
    as_of: Option<Height>,
    /// First day of `days`, as YYYY-MM-DD. Default: `to`. At most 1,000 days per request.
    from: Option<DateParam>,
    /// Last day of `days`, as YYYY-MM-DD, at most the newest block's: the answer is for the end of this day. Default:
    /// the newest day.
    to: Option<DateParam>,
    /// Format: a JSON object, or only rows by day as CSV (streamed) or Markdown.
    #[serde(default)]
    format: Format,
    /// `compact` omits explanatory and nested fields.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: Detail,
}

/// Figures of the chain as a whole.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OnchainOutput {
    /// The last block of the day that the answer is for.
    as_of: BlockRef,
    /// False if later blocks may still belong to that day.
    day_complete: bool,
    /// Price of bitcoin on that day.
    price: DayPrice,
    /// Figures of that day, and as of its end.
    day: DayRow,
    /// Unspent coins by age.
    hodl_waves: Vec<Wave>,
    /// Why `realized_share` is null; otherwise null.
    hodl_waves_reason: Option<String>,
    /// Sums over the last days, ending with that day.
    windows: Windows,
    /// The days from `from` to `to`; empty if neither is given.
    days: Vec<DayRow>,
    /// Ids of the definitions, explained at `/api/reference/definitions/<id>`.
    definitions: &'static [&'static str],
}

/// The definitions of the figures.
const DEFINED: &[&str] =
    &["coin-days-destroyed", "dormancy", "liveliness", "realized-cap", "mvrv", "sopr", "hodl-waves", "volume"];

/// Price of a day. It values all coins that are created or spent on that day.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DayPrice {
    /// Closing price in USD; null if there is none.
    usd: Option<Number>,
    /// Closing time of that candle; null without a price.
    as_of: Option<String>,
    /// Source of the closing price; null if it is the mean of two.
    source: Option<String>,
    /// Number of sources from which the median was taken.
    sources: Option<u16>,
    /// True if the day is not over and the newest close is more than two days older than the newest block.
    stale: Option<bool>,
    /// Why there is no price; otherwise null.
    reason: Option<String>,
}

/// Sums over days.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Windows {
    #[serde(rename = "7d")]
    week: Window,
    #[serde(rename = "30d")]
    month: Window,
}

/// Unspent coins in a class of age.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Wave {
    /// Minimum age in days.
    from_days: u64,
    /// Age in days at which the next class begins; null for the last class.
    to_days: Option<u64>,
    sats: u64,
    /// Share of the supply, from 0 to 1, rounded down.
    share: Decimal<6>,
    /// Share of the realized cap, from 0 to 1, rounded down.
    realized_share: Option<Decimal<6>>,
}

impl Operation for Onchain {
    const INFO: Info = Info {
        summary: "On-chain statistics: realized cap, MVRV, SOPR, HODL waves, coin-days, volume, active scripts",
        description: "Figures of a day and as of its end: supply, market cap, realized cap, MVRV, SOPR, HODL waves, \
            coin-days destroyed, dormancy, liveliness, volume with and without change, fees, transactions, coins and \
            scripts in use; with sums over 7 and 30 days. `as_of` selects an earlier day; `from` and `to` return a row \
            for each of up to 1,000 days, also as CSV. Values in USD count each coin at the closing price of the day \
            on which it was created, by the prices known now. An unknown figure is null, with the reason in `reasons`. \
            Each figure has a definition.",
        errors: &[ErrorCode::BlockNotFound],
        compact: &[
            "price",
            "hodl_waves",
            "hodl_waves_reason",
            "windows",
            "definitions",
            "day.hodl_shares",
            "days.hodl_shares",
        ],
        tool: Tool::reads(
            "asked for on-chain indicators: realized cap, MVRV, SOPR, HODL waves, coin-days destroyed, dormancy, liveliness, \
             daily volume, active addresses, on a day or over time",
            "holders by balance (supply_distribution), hash rate and halving (network_intelligence), or one address \
             (wallet_overview)",
        ),
        cost: Cost::Heavy,
        ..index_get("onchain_stats", "/v1/onchain", "chain")
    };
    type Input = OnchainInput;
    type Output = Formatted<OnchainOutput>;

    fn run(ctx: &Ctx<'_>, input: OnchainInput) -> Result<Formatted<OnchainOutput>, ApiError> {
        let view = ctx.view()?;
        let span = Span::of(ctx, view, &input)?;
        let closes = DailyCloses::read(view)?;
        let newest = day_of(view.tip().mono_time);
        let by_day: Closes = closes.by_day();
        let prices = Prices::of(&by_day, Some(newest));
        // The windows reach back further than a short series.
        let start = span.first.min((span.last + 1).saturating_sub(MONTH)).max(span.genesis);
        let (found, state) = walk(ctx, view, start..=span.last, prices)?;
        let of_span = &found[(span.first - start) as usize..];
        let rows = of_span.iter().map(|(figures, scripts)| {
            let price = prices.close_for(figures.day).map(|(day, _)| day);
            DayRow::of(figures, scripts, price.map(|day| closes.number(day)))
        });
        let rows = rows.collect::<Result<Vec<DayRow>, ApiError>>()?;
        let object = |mut rows: Vec<DayRow>| {
            let day = if span.is_series { rows.last().cloned() } else { rows.pop() };
            // The last day is always there.
            let (Some(day), Some((figures, _))) = (day, found.last()) else {
                return Err(cairn_reader::ReadError::Broken("a day without figures".to_owned()).into());
            };
            let complete = span.last < newest;
            let realized = state.realized_waves(span.last);
            let all: Vec<&Figures> = found.iter().map(|(figures, _)| figures).collect();
            let window = |days: u32| Window::of(&all[all.len().saturating_sub(days as usize)..], days);
            Ok(OnchainOutput {
                as_of: block_ref(view, span.height)?,
                day_complete: complete,
                price: price(view, &closes, prices, span.last, !complete),
                hodl_waves: waves(figures, realized.ok())?,
                hodl_waves_reason: realized.err().map(reason),
                windows: Windows { week: window(WEEK)?, month: window(MONTH)? },
                day,
                days: rows,
                definitions: DEFINED,
            })
        };
        input.format.answer(rows, object, |rows| Ok(Table::new(rows)))
    }
}

/// The days that are asked for.
struct Span {
    first: u32,
    last: u32,
    /// The last block of the last day.
    height: Height,
    /// The day of the first block.
    genesis: u32,
    is_series: bool,
}

impl Span {
    fn of(ctx: &Ctx<'_>, view: &View<'_>, input: &OnchainInput) -> Result<Self, ApiError> {
        let bad = |field: &'static str, what: String| Err(ApiError::validation(Location::Query, field, what));
        let day_at = |height| view.chain().get(height).map_or(0, |block| day_of(block.mono_time));
        let (genesis, newest) = (day_at(0), day_of(view.tip().mono_time));
        let is_series = input.from.is_some() || input.to.is_some();
        if is_series && input.as_of.is_some() {
            return bad("as_of", "give either as_of, or from and to".to_owned());
        }
        if let (Some(from), Some(to)) = (input.from, input.to)
            && from > to
        {
            return bad("to", "must not be before from".to_owned());
        }
        let last = match input.to {
            Some(to) => to.day().min(newest),
            None => day_at(ctx.as_of(input.as_of)?),
        };
        let first = input.from.map_or(last, |from| from.day().max(genesis));
        if last < genesis {
            return bad("to", format!("the chain begins on {}", date(genesis)));
        }
        if first > last {
            return bad("from", format!("the newest block is of {}", date(newest)));
        }
        if last - first >= MAX_DAYS {
            let days = last - first + 1;
            return bad(
                "from",
                format!("these are {days} days; at most {MAX_DAYS} are allowed: send several requests"),
            );
        }
        let height = view.chain().height_at(last_second(last)).unwrap_or(0);
        Ok(Span { first, last, height, genesis, is_series })
    }
}

fn price(view: &View<'_>, closes: &DailyCloses, prices: Prices<'_>, day: u32, now: bool) -> DayPrice {
    match prices.close_for(day) {
        Err(missing) => {
            DayPrice { usd: None, as_of: None, source: None, sources: None, stale: None, reason: Some(reason(missing)) }
        }
        Ok((of, _)) => {
            let closed = last_second(of).saturating_add(1);
            let chosen = closes.on(of);
            DayPrice {
                usd: Some(closes.number(of)),
                as_of: Some(rfc3339(closed)),
                source: chosen.and_then(|chosen| chosen.source.as_ref()).map(ToString::to_string),
                sources: chosen.map(|chosen| chosen.sources),
                stale: Some(now && closed.saturating_add(STALE) < view.tip().mono_time),
                reason: None,
            }
        }
    }
}

fn waves(figures: &Figures, realized: Option<[i128; AGE_CLASSES.len()]>) -> Result<Vec<Wave>, ApiError> {
    let classes = AGE_CLASSES.iter().zip(figures.waves).enumerate();
    let wave = classes.map(|(at, (bounds, sats))| {
        Ok(Wave {
            from_days: bounds.from,
            to_days: bounds.to,
            sats: natural(sats)?,
            share: share(sats, figures.supply_sats),
            realized_share: realized.map(|shares| Decimal(shares[at])),
        })
    });
    wave.collect()
}
