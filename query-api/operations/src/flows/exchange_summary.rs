//! `GET /v1/exchange/flows/summary`.

use std::cmp::Reverse;

use cairn_events::EntityName;

use super::{
    exchange_days::{BEING_MADE, ExchangeDays, ExchangeTotals, Mode, days_to, total},
    exchanges::Range,
};
use crate::{context::BESIDE, definitions::EXCHANGE_FLOWS, operation::prelude::*, values::date};

const MAX_NAMED: usize = 5;

pub(crate) struct ExchangeFlowsSummary;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SummaryInput {}

/// Flows of all exchanges together.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ExchangeFlowsSummaryOutput")]
pub(crate) struct SummaryOutput {
    /// Height of the newest block that counts: the tip, or some blocks below it; null while flows are being computed.
    as_of_height: Option<Height>,
    /// Why `as_of_height` is null; otherwise null.
    reason: Option<&'static str>,
    /// Number of exchanges that labels name.
    exchange_count: Option<usize>,
    /// Balance of these exchanges.
    balance_sats: Option<u64>,
    balance_btc: Option<Btc>,
    /// Flows of the last day, week and month: UTC days up to that of the newest block, which may not be over.
    windows: Vec<FlowWindow>,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// Flows of a range of days.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FlowWindow {
    range: Range,
    from_date: String,
    to_date: String,
    #[serde(flatten)]
    totals: ExchangeTotals,
    /// Exchanges with a net inflow, the largest first; at most 5.
    top_net_inflows: Vec<NetFlow>,
    /// Exchanges with a net outflow, the largest first; at most 5.
    top_net_outflows: Vec<NetFlow>,
}

/// Change of the balance of an exchange.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NetFlow {
    /// Name of the exchange in paths.
    slug: String,
    /// Inflow minus outflow, including other exchanges.
    net_sats: i64,
    net_btc: Btc,
}

impl Operation for ExchangeFlowsSummary {
    const INFO: Info = Info {
        summary: "Inflows and outflows of all exchanges together, in the last day, week and month",
        description: "Inflow, outflow and the difference over all exchanges that today's labels name, without payments \
            between them, which have their own field; their balance; and the exchanges with the largest net flows. \
            exchange_flows has each exchange day by day. Only known scripts count.",
        freshness: &[TIP, CLAIMS, LABELS, BESIDE],
        tool: Tool::reads(
            "asked whether bitcoin flows into or out of exchanges, or what exchanges hold together",
            "one transaction to an exchange (whale_alerts), or what one exchange's addresses did (entity_recent_activity)",
        ),
        ..index_get("exchange_flows_summary", "/v1/exchange/flows/summary", "entities")
    };
    type Input = SummaryInput;
    type Output = SummaryOutput;

    fn run(ctx: &Ctx<'_>, _: SummaryInput) -> Result<SummaryOutput, ApiError> {
        let view = ctx.view()?;
        if !view.claims().has_any()? {
            ctx.warn("no_label_source", "no labels are loaded: no exchange is known");
        }
        let Some(flows) = ExchangeDays::read(view, Mode::Latest)? else {
            return Ok(SummaryOutput {
                as_of_height: None,
                reason: Some(BEING_MADE),
                exchange_count: None,
                balance_sats: None,
                balance_btc: None,
                windows: Vec::new(),
                definition: EXCHANGE_FLOWS,
            });
        };
        let held = flows.held();
        let last = flows.last_day()?;
        let ranges = [Range::Day, Range::Week, Range::Month];
        // Of each exchange its net flow in each window.
        let mut nets = Vec::new();
        for name in held.keys() {
            ctx.work.poll()?;
            let by_day = flows.by_day(Some(name), days_to(last, Range::Month.days()))?;
            let mut net = [0; 3];
            for (net, range) in net.iter_mut().zip(ranges) {
                let days = days_to(last, range.days());
                *net = total(by_day.range(days).map(|(_, sum)| sum)).net();
            }
            nets.push((name, net));
        }
        let mut windows = Vec::new();
        for (at, range) in ranges.into_iter().enumerate() {
            let days = days_to(last, range.days());
            let sum = total(flows.by_day(None, days.clone())?.values());
            let mut net: Vec<_> = nets.iter().filter_map(|(name, net)| Some((*name, *net.get(at)?))).collect();
            net.sort_by_key(|(name, net)| (Reverse(*net), *name));
            windows.push(FlowWindow {
                range,
                from_date: date(*days.start()),
                to_date: date(*days.end()),
                totals: ExchangeTotals::of(&sum),
                top_net_inflows: named(&mut net.iter().take_while(|(_, net)| *net > 0)),
                top_net_outflows: named(&mut net.iter().rev().take_while(|(_, net)| *net < 0)),
            });
        }
        let balance = held.values().fold(0u64, |sum, sats| sum.saturating_add(*sats));
        Ok(SummaryOutput {
            as_of_height: Some(flows.height()),
            reason: None,
            exchange_count: Some(held.len()),
            balance_sats: Some(balance),
            balance_btc: Some(Btc::of(balance)),
            windows,
            definition: EXCHANGE_FLOWS,
        })
    }
}

fn named(nets: &mut dyn Iterator<Item = &(&EntityName, i64)>) -> Vec<NetFlow> {
    let named =
        |(name, net): &(&EntityName, i64)| NetFlow { slug: name.to_string(), net_sats: *net, net_btc: Btc(*net) };
    nets.take(MAX_NAMED).map(named).collect()
}
