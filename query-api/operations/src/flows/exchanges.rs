//! `GET /v1/exchange/flows`.

use std::{cmp::Reverse, collections::BTreeMap, ops::RangeInclusive};

use cairn_events::{Category, EntityName};
use cairn_http::{Format, Formatted, Location, Table};

use super::exchange_days::{BEING_MADE, ExchangeDays, ExchangeTotals, Mode, Sum, days_to, total};
use crate::{
    context::BESIDE,
    definitions::EXCHANGE_FLOWS,
    entities::FoundEntity,
    operation::prelude::*,
    parameters::{date::DateParam, limit::Limit},
    transfers::Owners,
    values::date,
    vocabulary::columns::columns,
};

pub(crate) struct ExchangeFlows;

/// Length of the range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "ExchangeFlowRange")]
pub(crate) enum Range {
    #[serde(rename = "1d")]
    Day,
    #[default]
    #[serde(rename = "7d")]
    Week,
    #[serde(rename = "30d")]
    Month,
    #[serde(rename = "90d")]
    Quarter,
    #[serde(rename = "1y")]
    Year,
}

impl Range {
    pub(super) const fn days(self) -> u32 {
        match self {
            Range::Day => 1,
            Range::Week => 7,
            Range::Month => 30,
            Range::Quarter => 90,
            Range::Year => 365,
        }
    }
}

/// Days of all exchanges that one answer has.
const MAX_DAYS: u32 = 31;
/// Days of one exchange that one answer has.
const MAX_DAYS_OF_ONE: u32 = 366;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FlowsInput {
    /// Number of UTC days, up to that of the newest block, which may not be over, or up to `to`. `90d` and `1y` only
    /// for one exchange.
    #[serde(default)]
    range: Range,
    /// First day, as YYYY-MM-DD (UTC, monotone block time), instead of `range`. At most 31 days up to `to`; for one
    /// exchange 366.
    #[schemars(example = "2011-02-02")]
    from: Option<DateParam>,
    /// Last day, as YYYY-MM-DD. Default and maximum: the newest block's.
    #[schemars(example = "2011-02-28")]
    to: Option<DateParam>,
    /// Attribution of scripts to exchanges: by today's labels for the whole history (`latest`), or by those asserted by
    /// the time of each block (`pit`), which ends at an earlier block.
    #[serde(default)]
    mode: Mode,
    /// Only this exchange, in any spelling, or by another name in the sources.
    #[schemars(length(min = 1, max = 100), example = "cairn-exchange")]
    exchange: Option<String>,
    /// Maximum number of exchanges, the largest flows first; the totals cover all.
    #[serde(default)]
    limit: Limit<20, 50>,
    /// `json`, `csv` or `markdown`; the latter two have a row for each exchange and day.
    #[serde(default)]
    format: Format,
}

/// Flows of exchanges.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ExchangeFlowsOutput")]
pub(crate) struct FlowsOutput {
    mode: Mode,
    /// First day (UTC).
    from_date: Option<String>,
    /// Last day (UTC).
    to_date: Option<String>,
    /// Height of the newest block that counts: the tip, or some blocks below it; in mode `pit`, `generation_height`.
    /// Null while flows are being computed.
    as_of_height: Option<Height>,
    /// Why `as_of_height` is null; otherwise null.
    reason: Option<&'static str>,
    /// Height of the block up to which all histories were computed with the same labels. Later blocks count with the
    /// labels at their arrival.
    generation_height: Option<Height>,
    /// Number of exchanges that labels name.
    exchange_count: Option<usize>,
    /// Exchanges, the largest flows first.
    exchanges: Vec<FlowsOfExchange>,
    /// True if there are more exchanges with flows than `limit`.
    has_more: bool,
    /// Totals of all exchanges, including those beyond `limit`; with `exchange`, of that one alone.
    totals: Option<ExchangeTotals>,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// Flows of an exchange.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FlowsOfExchange {
    /// Name of the exchange in paths.
    slug: String,
    /// Balance of the exchange's scripts at `as_of_height`.
    balance_sats: u64,
    balance_btc: Btc,
    inflow_btc: Btc,
    outflow_btc: Btc,
    net_btc: Btc,
    #[serde(flatten)]
    flows: FlowFigures,
    /// Flows by UTC day (monotone block time), the newest first; days without flows are left out.
    days: Vec<FlowsOfDay>,
}

/// Figures of an exchange.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FlowFigures {
    /// Inflow: the sum by which transactions increased the balance of the exchange.
    inflow_sats: u64,
    /// Outflow: the sum by which transactions decreased the balance of the exchange, without fees.
    outflow_sats: u64,
    /// Inflow minus outflow.
    net_sats: i64,
    /// Sum that returned to the exchange, including change.
    internal_sats: u64,
    /// Share of transaction fees that the exchange paid.
    fees_sats: u64,
    /// Part of the inflow that came from other exchanges.
    from_exchanges_sats: u64,
    /// Part of the outflow that went to other exchanges.
    to_exchanges_sats: u64,
    /// Balance of scripts newly attributed to the exchange, minus that of scripts no longer attributed to it.
    reclassified_sats: i64,
    /// Part of inflow and outflow that rests on documents received on a later day; 0 in mode `latest`.
    backfilled_sats: u64,
    tx_count: u64,
}

impl FlowFigures {
    fn of(sum: &Sum) -> Self {
        FlowFigures {
            inflow_sats: sum.inflow,
            outflow_sats: sum.outflow,
            net_sats: sum.net(),
            internal_sats: sum.internal,
            fees_sats: sum.fees,
            from_exchanges_sats: sum.from_exchanges,
            to_exchanges_sats: sum.to_exchanges,
            reclassified_sats: sum.reclassified,
            backfilled_sats: sum.backfilled,
            tx_count: sum.transactions,
        }
    }
}

/// A day of an exchange.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ExchangeFlowsDay")]
pub(crate) struct FlowsOfDay {
    date: String,
    #[serde(flatten)]
    flows: FlowFigures,
}

impl Operation for ExchangeFlows {
    const INFO: Info = Info {
        summary: "Inflows and outflows of exchanges, day by day",
        description: "For each exchange that labels name, by day: inflow, outflow, sums that stayed, flows from and to \
            other exchanges, and the balance. Over any days, the balance of an exchange changes by inflow minus \
            outflow minus fees plus reclassified. Scripts belong to exchanges by today's labels for the whole history, \
            or, for backtests, by those that were asserted at the time of each block (mode pit), with the part that \
            rests on documents received later. Only known scripts count.",
        freshness: &[TIP, CLAIMS, LABELS, BESIDE],
        errors: &[ErrorCode::EntityNotFound],
        tool: Tool::UNLISTED,
        ..index_get("exchange_flows", "/v1/exchange/flows", "entities")
    };
    type Input = FlowsInput;
    type Output = Formatted<FlowsOutput>;

    fn run(ctx: &Ctx<'_>, input: FlowsInput) -> Result<Formatted<FlowsOutput>, ApiError> {
        let view = ctx.view()?;
        if !view.claims().has_any()? {
            ctx.warn("no_label_source", "no labels are loaded: no exchange is known");
        }
        let Some(flows) = ExchangeDays::read(view, input.mode)? else { return input.being_made() };
        let (held, days) = (flows.held(), input.days(flows.last_day()?)?);
        let asked = match &input.exchange {
            Some(name) => Some(exchange(ctx, name)?),
            None => None,
        };
        let mut found: Vec<(EntityName, BTreeMap<u32, Sum>)> = Vec::new();
        for name in held.keys().filter(|name| asked.as_ref().is_none_or(|asked| asked == *name)) {
            ctx.work.poll()?;
            found.push((name.clone(), flows.by_day(Some(name), days.clone())?));
        }
        // Without flows, an exchange is shown only if it is asked for.
        found.retain(|(_, by_day)| asked.is_some() || !by_day.is_empty());
        let moved = |by_day: &BTreeMap<u32, Sum>| {
            let sum = total(by_day.values());
            sum.inflow.saturating_add(sum.outflow)
        };
        found.sort_by_cached_key(|(name, by_day)| (Reverse(moved(by_day)), name.clone()));
        let totals = match &found[..] {
            [(_, by_day)] if asked.is_some() => total(by_day.values()),
            _ => total(flows.by_day(None, days.clone())?.values()),
        };
        let has_more = found.len() > input.limit.get() as usize;
        found.truncate(input.limit.get() as usize);
        let exchanges = found.into_iter().map(|(name, by_day)| {
            let held = held.get(&name).copied().unwrap_or_default();
            FlowsOfExchange::of(&name, held, &by_day)
        });
        let exchanges: Vec<FlowsOfExchange> = exchanges.collect();
        let object = |exchanges| {
            Ok(FlowsOutput {
                mode: input.mode,
                from_date: Some(date(*days.start())),
                to_date: Some(date(*days.end())),
                as_of_height: Some(flows.height()),
                reason: None,
                generation_height: Some(flows.made_at()),
                exchange_count: Some(held.len()),
                exchanges,
                has_more,
                totals: Some(ExchangeTotals::of(&totals)),
                definition: EXCHANGE_FLOWS,
            })
        };
        input.format.answer(exchanges, object, |exchanges| Ok(table(exchanges)))
    }
}

impl FlowsInput {
    /// The answer while there are none.
    fn being_made(&self) -> Result<Formatted<FlowsOutput>, ApiError> {
        let object = |exchanges| {
            Ok(FlowsOutput {
                mode: self.mode,
                from_date: None,
                to_date: None,
                as_of_height: None,
                reason: Some(BEING_MADE),
                generation_height: None,
                exchange_count: None,
                exchanges,
                has_more: false,
                totals: None,
                definition: EXCHANGE_FLOWS,
            })
        };
        self.format.answer(Vec::new(), object, |exchanges| Ok(table(exchanges)))
    }

    /// The days that are asked for; `last` is the last that there is.
    fn days(&self, last: u32) -> Result<RangeInclusive<u32>, ApiError> {
        let wrong = |name: &'static str, message: String| Err(ApiError::validation(Location::Query, name, message));
        let to = self.to.map_or(last, DateParam::day).min(last);
        let days = match self.from.map(DateParam::day) {
            Some(from) if self.to.is_some_and(|to| to.day() < from) => {
                return wrong("to", "must not be before from".to_owned());
            }
            Some(from) if from > last => return wrong("from", format!("is after the last day, {}", date(last))),
            Some(from) => from..=to,
            None => days_to(to, self.range.days()),
        };
        let most = if self.exchange.is_some() { MAX_DAYS_OF_ONE } else { MAX_DAYS };
        let count = days.end() - days.start() + 1;
        if count <= most {
            return Ok(days);
        }
        let name = if self.from.is_some() { "from" } else { "range" };
        wrong(
            name,
            match self.exchange {
                Some(_) => format!("{count} days are asked for; {most} are allowed in one request"),
                None => format!(
                    "{count} days are asked for; {most} are allowed for all exchanges, and {MAX_DAYS_OF_ONE} for one: name it with \
                 exchange"
                ),
            },
        )
    }
}

fn exchange(ctx: &Ctx<'_>, name: &str) -> Result<EntityName, ApiError> {
    let view = ctx.view()?;
    let entity = FoundEntity::find(ctx, view, name)?.row.name;
    let (category, _) = Owners::default().facts(view, &entity)?;
    if category == Some(Category::Exchange) {
        return Ok(entity);
    }
    let detail = format!(
        "{entity} is not an exchange by today's labels; /v1/entities/list?category=exchange has all \
        exchanges"
    );
    Err(ctx.missing(ErrorCode::EntityNotFound, detail))
}

impl FlowsOfExchange {
    fn of(name: &EntityName, held: Sats, by_day: &BTreeMap<u32, Sum>) -> Self {
        let sum = total(by_day.values());
        let day = |(day, sum): (&u32, &Sum)| FlowsOfDay { date: date(*day), flows: FlowFigures::of(sum) };
        FlowsOfExchange {
            slug: name.to_string(),
            balance_sats: held,
            balance_btc: Btc::of(held),
            inflow_btc: Btc::of(sum.inflow),
            outflow_btc: Btc::of(sum.outflow),
            net_btc: Btc(sum.net()),
            flows: FlowFigures::of(&sum),
            days: by_day.iter().rev().map(day).collect(),
        }
    }
}

struct DayOfExchange(String, FlowsOfDay);

columns! { DayOfExchange {
    date: |of| of.1.date,
    exchange: |of| of.0,
    inflow_sats: |of| of.1.flows.inflow_sats,
    outflow_sats: |of| of.1.flows.outflow_sats,
    net_sats: |of| of.1.flows.net_sats,
    internal_sats: |of| of.1.flows.internal_sats,
    fees_sats: |of| of.1.flows.fees_sats,
    from_exchanges_sats: |of| of.1.flows.from_exchanges_sats,
    to_exchanges_sats: |of| of.1.flows.to_exchanges_sats,
    reclassified_sats: |of| of.1.flows.reclassified_sats,
    backfilled_sats: |of| of.1.flows.backfilled_sats,
    tx_count: |of| of.1.flows.tx_count,
} }

fn table(exchanges: Vec<FlowsOfExchange>) -> Table {
    let days = |of: FlowsOfExchange| of.days.into_iter().map(move |day| DayOfExchange(of.slug.clone(), day));
    Table::new(exchanges.into_iter().flat_map(days))
}
