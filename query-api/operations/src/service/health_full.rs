//! `GET /api/health/full`.

use cairn_domain::price::{Missing, RATE_FRESH, Series, rate_at, stale_after};
use cairn_events::{Currency, Interval};
use cairn_http::Freshness;
use cairn_link::Absent;
use cairn_model::{DAY_SECS, MempoolWatch, News, SourceKind, SourceStatus, Trouble};
use cairn_reader::ScrubState;

use super::{
    claim_details::{ClaimDetails, claims_loaded},
    details::{IndexDetails, MempoolDetails, NodeDetails, PriceDetails},
};
use crate::{
    candles::Candles,
    context::PRICE,
    explain::damaged,
    operation::prelude::*,
    price_now::{source, why_missing, why_no_rate},
    troubles::{self, TroubleRow},
    values::rfc3339_ms,
};

pub(crate) struct HealthFull;

/// State of every component.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HealthFullOutput {
    /// The worst status of the configured components. Old or missing prices do not count: chain data is valid without
    /// them.
    status: Status,
    service: &'static str,
    version: &'static str,
    /// `full`: one row per component.
    mode: &'static str,
    /// Time of the check.
    checked_at: String,
    components: Vec<Component>,
    /// Parts that do not work at present, and what the server does about it; empty if all work.
    troubles: Vec<TroubleRow>,
}

/// Status of a component, from best to worst; `not_configured` does not count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    NotConfigured,
    Ok,
    /// The data is old.
    Stale,
    /// The data is missing or incomplete.
    Missing,
    Degraded,
    Down,
}

impl Status {
    /// Effect of a component on the overall status.
    fn overall(self) -> Self {
        if matches!(self, Status::Stale | Status::Missing) { Status::Ok } else { self }
    }
}

/// A component.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthComponent")]
pub(crate) struct Component {
    /// Component: `node`, `index`, `mempool`, `market`, `fx`, `vault` or `artifacts`.
    name: &'static str,
    status: Status,
    /// Seconds since the component's last sign of life; null if there was none.
    age_seconds: Option<u64>,
    /// Why the component is not `ok`, or a remark if it is; otherwise null.
    reason: Option<String>,
    /// Time since which a part of the component does not work (`troubles`); null if all of it works.
    since: Option<String>,
    /// Details; null if nothing is known.
    details: Option<Details>,
}

/// Details of a component.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Details {
    Node(NodeDetails),
    Index(IndexDetails),
    Mempool(MempoolDetails),
    Prices(PriceDetails),
    Claims(ClaimDetails),
}

/// The indexer is degraded if it reports nothing for this many seconds.
const SILENCE: u64 = 180;

impl Operation for HealthFull {
    const INFO: Info = Info {
        summary: "State of every component of the service",
        description: "One row for each of node, index, mempool, market, fx, vault and artifacts: status, age, reason \
            and details. The overall status is the worst of the configured components; old or missing prices do not \
            count. The HTTP status is always 200, also while the index is empty. For a quick check and the catalog of \
            operations use /api/health.",
        source: "service",
        freshness: &[TIP, MEMPOOL, PRICE, Freshness::STATE, Freshness::NOW],
        has_ages: true,
        freshness_semantics: "time of the mempool data; without a mempool, the time of the newest block in the index; each component has its own age",
        ..index_get("health_full", "/api/health/full", "service")
    };
    type Input = NoInput;
    type Output = HealthFullOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<HealthFullOutput, ApiError> {
        let mut components = vec![
            node(ctx.source, ctx.now_ms / 1000),
            index(ctx)?,
            mempool(ctx),
            market(ctx),
            fx(ctx),
            vault(ctx),
            absent("artifacts", "no snapshots or reports are configured"),
        ];
        components.iter_mut().for_each(|component| component.meet(ctx.troubles));
        let own = if ctx.troubles.is_empty() { Status::Ok } else { Status::Degraded };
        Ok(HealthFullOutput {
            status: components.iter().map(|c| c.status.overall()).fold(own, Status::max),
            service: "cairn",
            version: env!("CARGO_PKG_VERSION"),
            mode: "full",
            checked_at: rfc3339_ms(ctx.now_ms),
            components,
            troubles: TroubleRow::all(ctx.troubles),
        })
    }
}

impl Component {
    fn without_data(name: &'static str, reason: String) -> Self {
        Component { name, status: Status::Down, age_seconds: None, reason: Some(reason), since: None, details: None }
    }

    /// Adds the troubles of its parts.
    fn meet(&mut self, troubles: &[Trouble]) {
        for trouble in troubles.iter().filter(|trouble| troubles::component(trouble.part) == Some(self.name)) {
            self.status = self.status.max(Status::Degraded);
            // A gap in the block files is a finding about the index, too: reported once.
            if !self.reason.as_ref().is_some_and(|own| own.contains(&trouble.reason)) {
                self.reason = Some(self.reason.take().map_or_else(String::new, |own| own + "; ") + &trouble.reason);
            }
            self.since.get_or_insert_with(|| troubles::since(trouble));
        }
    }
}

/// The claims about addresses.
fn vault(ctx: &Ctx<'_>) -> Component {
    let (age, details) = match claims_loaded(ctx) {
        Ok(Some(loaded)) => loaded,
        Ok(None) => return absent("vault", "no claims about addresses are loaded"),
        Err(error) => return unreadable("vault", &error),
    };
    let is_old = age > details.stale_after_seconds;
    let reason = is_old.then(|| "the newest list of claims was retrieved more than a year ago".to_owned());
    let status = if is_old { Status::Stale } else { Status::Ok };
    let details = Some(Details::Claims(details));
    Component { name: "vault", status, age_seconds: Some(age.into()), reason, since: None, details }
}

fn absent(name: &'static str, reason: &str) -> Component {
    Component { status: Status::NotConfigured, ..Component::without_data(name, reason.to_owned()) }
}

fn at(seconds: u64) -> String {
    rfc3339_ms(seconds.saturating_mul(1000))
}

/// The worst status of several findings, and all their reasons.
#[derive(Default)]
struct Findings(Vec<(Status, String)>);

impl Findings {
    fn add(&mut self, holds: bool, status: Status, reason: impl Into<String>) {
        if holds {
            self.0.push((status, reason.into()));
        }
    }

    fn status(&self) -> Status {
        self.0.iter().map(|(status, _)| *status).max().unwrap_or(Status::Ok).max(Status::Ok)
    }

    fn reason(&self) -> Option<String> {
        let texts: Vec<&str> = self.0.iter().map(|(_, reason)| reason.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

fn node(source: Option<&SourceStatus>, now: u64) -> Component {
    let Some(source) = source else {
        return absent("node", "no indexer has reported its state");
    };
    let details = NodeDetails {
        source: match source.kind {
            SourceKind::Files => "files",
            SourceKind::Node => "node",
            SourceKind::Demo => "demo",
        },
        reachable: source.reachable,
        last_answer_at: source.last_answer.map(at),
        reported_at: at(source.at),
        blocks: source.blocks,
        headers: source.headers,
        news: match source.news {
            News::Polling => "polling",
            News::Zmq => "zmq",
        },
        last_message_at: source.last_message.map(at),
        gaps_seen: source.gaps_seen,
        gaps_repaired: source.gaps_repaired,
        tips_found_by_polling: source.tips_found_by_polling,
    };
    let is_node = source.kind == SourceKind::Node;
    let mut findings = Findings::default();
    findings.add(!source.reachable && is_node, Status::Down, "the node does not answer");
    findings.add(!source.reachable && !is_node, Status::Down, "the block files cannot be read");
    if is_node {
        let silence = now.saturating_sub(source.at);
        findings.add(silence > SILENCE, Status::Degraded, format!("the indexer has not reported for {silence} s"));
        let behind = source.headers.zip(source.blocks).map_or(0, |(headers, blocks)| headers.saturating_sub(blocks));
        findings.add(behind > 1, Status::Degraded, format!("the node is {behind} blocks behind its headers"));
        let open = source.gaps_seen.saturating_sub(source.gaps_repaired);
        findings.add(open > 0, Status::Degraded, format!("{open} gaps in the node's messages are not repaired yet"));
        findings.add(source.news == News::Polling, Status::Ok, "no ZMQ: the indexer polls the node");
    }
    let status = match (findings.status(), is_node) {
        (Status::Ok, false) => Status::NotConfigured,
        (status, _) => status,
    };
    let reason = match status {
        Status::NotConfigured if source.kind == SourceKind::Demo => {
            Some("no node: the demo generates its chain and its unconfirmed transactions".to_owned())
        }
        Status::NotConfigured => Some("the index is built from block files only".to_owned()),
        _ => findings.reason(),
    };
    let age_seconds = source.last_answer.map(|last| now.saturating_sub(last));
    Component { name: "node", status, age_seconds, reason, since: None, details: Some(Details::Node(details)) }
}

fn index(ctx: &Ctx<'_>) -> Result<Component, ApiError> {
    let tip = ctx.index.map(|view| *view.tip());
    let stages_unfinished = ctx.index.map_or(Ok(Vec::new()), View::unfinished)?;
    let (mut findings, mut problems) = (Findings::default(), Vec::new());
    let mut find = |problem, status, reason: String| {
        findings.add(true, status, reason);
        problems.push(problem);
    };
    let damaged_tables = ctx.damages.tables();
    if tip.is_none() && damaged_tables.is_empty() {
        find("empty", Status::Down, "nothing has been indexed yet".to_owned());
    }
    if let Some(gap) = ctx.source.and_then(|source| source.gap.as_ref()) {
        find("cut_short", Status::Degraded, gap.clone());
    }
    if let Some(lag) = ctx.lag().filter(|lag| *lag > ctx.chain.max_lag_blocks) {
        find("behind", Status::Degraded, format!("the index is {lag} blocks behind"));
    }
    if let Some(age) = ctx.old_tip() {
        find("tip_is_old", Status::Degraded, format!("the newest block is {} days old", age / u64::from(DAY_SECS)));
    }
    if !stages_unfinished.is_empty() {
        let stages = format!("these stages are being rebuilt: {}", stages_unfinished.join(", "));
        find("stages_unfinished", Status::Degraded, stages);
    }
    if !damaged_tables.is_empty() {
        let status = if tip.is_none() { Status::Down } else { Status::Degraded };
        find("damaged", status, damaged(&damaged_tables));
    }
    let scrubbed = ctx.damages.scrubbed();
    Ok(Component {
        name: "index",
        status: findings.status(),
        age_seconds: tip.map(|tip| (ctx.now_ms / 1000).saturating_sub(tip.time.into())),
        reason: findings.reason(),
        since: None,
        details: Some(Details::Index(IndexDetails {
            tip_height: tip.map(|tip| tip.height),
            tip_hash: tip.map(|tip| tip.hash.to_string()),
            tip_time_unix: tip.map(|tip| tip.time),
            best_height: ctx.best_height,
            lag_blocks: ctx.lag(),
            max_lag_blocks: ctx.chain.max_lag_blocks,
            stages_unfinished,
            problems,
            damaged_tables,
            scrubber: match scrubbed.state {
                ScrubState::Off => "off",
                ScrubState::Waiting => "waiting",
                ScrubState::Running => "running",
            },
            last_scrub_at: scrubbed.last_end.map(at),
        })),
    })
}

fn mempool(ctx: &Ctx<'_>) -> Component {
    let (source, now) = (ctx.source, ctx.now_ms / 1000);
    let pool = ctx.pool.as_ref().ok();
    let stats = pool.map(|pool| pool.mempool.stats(pool.as_of_ms));
    let projection = pool.zip(stats).map(|(pool, stats)| match &pool.projection {
        None => "none",
        Some(made) if made.generation == stats.generation => "current",
        Some(_) => "behind",
    });
    let mut findings = Findings::default();
    let mut not_watched = false;
    if let Err(absent) = &ctx.pool {
        not_watched = *absent == Absent::NotWatched;
        let status = if *absent == Absent::Lost { Status::Down } else { Status::Degraded };
        findings.add(true, if not_watched { Status::NotConfigured } else { status }, absent.reason());
    }
    let stale = source.is_some_and(|source| source.mempool == MempoolWatch::Stale);
    findings.add(stale, Status::Degraded, "the node is unreachable: the mempool may be outdated");
    let dropped = stats.map_or(0, |stats| stats.dropped);
    findings.add(
        dropped > 0,
        Status::Degraded,
        format!("dropped the {dropped} transactions with the lowest feerates for lack of memory"),
    );
    findings.add(projection == Some("none"), Status::Degraded, "the next blocks are not projected yet");
    let invented = pool.is_some() && source.is_some_and(|source| source.kind == SourceKind::Demo);
    findings.add(invented, Status::Ok, "generated by the demo: no node has these transactions");
    let reconciled = source.and_then(|source| source.mempool_reconciled);
    Component {
        name: "mempool",
        status: if not_watched && !stale { Status::NotConfigured } else { findings.status() },
        age_seconds: pool.map(|pool| ctx.now_ms.saturating_sub(pool.as_of_ms) / 1000),
        reason: findings.reason(),
        since: None,
        details: Some(Details::Mempool(MempoolDetails {
            state: source.map(|source| match source.mempool {
                MempoolWatch::Off => "off",
                MempoolWatch::Loading => "loading",
                MempoolWatch::Synced => "synced",
                MempoolWatch::Stale => "stale",
            }),
            count: stats.map(|stats| stats.count),
            vsize: stats.map(|stats| stats.vsize),
            dropped: stats.map(|stats| stats.dropped),
            as_of: pool.map(|pool| rfc3339_ms(pool.as_of_ms)),
            projection,
            known: source.map(|source| source.mempool_known),
            missing: source.map(|source| source.mempool_missing),
            last_reconciled_at: reconciled.map(at),
            last_reconciled_age_seconds: reconciled.map(|last| now.saturating_sub(last)),
            corrections: source.map(|source| source.mempool_corrections),
            node_sequence: stats
                .and_then(|stats| stats.node_sequence)
                .or_else(|| source.and_then(|source| source.mempool_sequence)),
        })),
    }
}

/// Number of the series of the index whose first currency is this one.
fn series_of(ctx: &Ctx<'_>, base: Currency) -> Result<usize, ApiError> {
    Ok(ctx.known()?.spans().iter().filter(|span| span.series.base == base).count())
}

/// A component whose data cannot be read.
fn unreadable(name: &'static str, error: &ApiError) -> Component {
    Component::without_data(name, format!("it cannot be read: {}", error.detail))
}

fn market(ctx: &Ctx<'_>) -> Component {
    let name = "market";
    if ctx.index.is_none() {
        return absent(name, "nothing has been indexed yet");
    }
    let (price, series) = match ctx.dollars().and_then(|price| Ok((price, series_of(ctx, Currency::BTC)?))) {
        Err(error) => return unreadable(name, &error),
        Ok(found) => found,
    };
    let details = |as_of: Option<u32>, source, stale_after_seconds| {
        Some(Details::Prices(PriceDetails { series, as_of: as_of.map(rfc3339), source, stale_after_seconds }))
    };
    match price {
        Err(Missing::NoSeries) if series == 0 => absent(name, "no prices are loaded, and none are fetched"),
        Err(missing) => {
            let reason = format!("no price in US dollars: {}", why_missing(missing));
            let details = details(None, None, None);
            Component { status: Status::Missing, details, ..Component::without_data(name, reason) }
        }
        Ok(price) => {
            let most = stale_after(price.interval);
            let stale = price.is_stale_at(ctx.now());
            let reason = format!("the newest price is older than {most} s");
            Component {
                name,
                status: if stale { Status::Stale } else { Status::Ok },
                age_seconds: Some(price.gap(ctx.now()).into()),
                reason: stale.then_some(reason),
                since: None,
                details: details(Some(price.as_of), source(price), Some(most)),
            }
        }
    }
}

/// The rate between euro and dollar, without which nothing is converted.
fn fx(ctx: &Ctx<'_>) -> Component {
    let name = "fx";
    let Some(view) = ctx.index else { return absent(name, "nothing has been indexed yet") };
    let look = || -> Result<_, ApiError> {
        let known = ctx.known()?;
        let rate = rate_at(&Candles::new(view, &known), Currency::EUR, Currency::USD, ctx.now())?;
        let pair = Series { base: Currency::EUR, quote: Currency::USD, interval: Interval::Day };
        // A rate that is too old for conversions is shown, too.
        let newest = known.span(pair).map(|span| (span.last, span.newest.source.clone()));
        Ok((rate, newest, series_of(ctx, Currency::EUR)?))
    };
    let (rate, newest, series) = match look() {
        Err(error) => return unreadable(name, &error),
        Ok(found) => found,
    };
    if series == 0 {
        return absent(name, "no exchange rates are loaded, and none are fetched");
    }
    let details = Some(Details::Prices(PriceDetails {
        series,
        as_of: newest.as_ref().map(|(as_of, _)| rfc3339(*as_of)),
        source: newest.as_ref().and_then(|(_, source)| source.as_ref().map(|source| source.as_str().to_owned())),
        stale_after_seconds: newest.as_ref().map(|_| RATE_FRESH),
    }));
    let (status, reason) = match rate {
        Err(none) => (Status::Missing, Some(format!("no rate between euro and dollar: {}", why_no_rate(none)))),
        Ok(rate) if rate.is_stale_at(ctx.now()) => {
            (Status::Stale, Some("the newest rate is older than five days".to_owned()))
        }
        Ok(_) => (Status::Ok, None),
    };
    let age_seconds = newest.map(|(as_of, _)| ctx.now().saturating_sub(as_of).into());
    Component { name, status, age_seconds, reason, since: None, details }
}
