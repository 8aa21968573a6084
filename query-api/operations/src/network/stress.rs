//! `GET /v1/network/mempool/stress`.

use cairn_domain::{
    FeeRate,
    mempool::{MEMPOOL_STRESS, Stress, StressInput, StressParams, feerate_percentile, stress},
};
use cairn_http::Freshness;
use cairn_model::{DAY_SECS, MempoolSample};

use super::samples::thinned;
use crate::{
    mempool::{
        ProjectionFacts, UNAVAILABLE, projected,
        stats::{NO_FLOOR, NO_INFLOW},
    },
    operation::prelude::*,
    values::{Decimal, SatVb, rfc3339_ms},
};

pub(crate) struct MempoolStress;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MempoolStressInput {
    /// If true, the answer includes the components of the score.
    #[serde(default)]
    include_components: bool,
    /// Hours of samples to return; 0: none.
    #[serde(default)]
    #[schemars(range(min = 0, max = 720))]
    history_hours: u32,
}

/// Stress of the mempool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MempoolStressOutput {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    /// Stress from 0 (none) to 100 (full); null if no component is known.
    stress: Option<Decimal<4>>,
    /// Why `stress` is null; otherwise null.
    stress_reason: Option<&'static str>,
    /// True if a component is unknown and the weights of the others were scaled up.
    renormalised: bool,
    /// Components that are unknown.
    unknown_components: Vec<&'static str>,
    /// Components of the score; null unless requested.
    components: Option<Vec<Component>>,
    /// Past samples; null unless requested.
    history: Option<History>,
    /// Time of the mempool data.
    as_of: String,
    projection: ProjectionFacts,
}

/// A component of the score.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Component {
    /// Name: `backlog`, `feerate`, `inflow` or `entry`.
    name: &'static str,
    /// Value of the component from 0 to 1; null if unknown.
    value: Option<Decimal<6>>,
    /// Weight of the component if all components are known.
    weight: Decimal<2>,
    /// Formula of the component in words.
    meaning: &'static str,
    /// The measured value; null if unknown.
    measured: Option<Decimal<3>>,
    /// Unit of `measured`.
    unit: &'static str,
    /// Why `value` is null; otherwise null.
    reason: Option<String>,
}

/// Past samples.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct History {
    hours: u32,
    /// Step in seconds; the first sample of each step is returned.
    step_seconds: u64,
    /// Samples, ascending by time; empty if there are none.
    points: Vec<StressPoint>,
}

/// A sample of the mempool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StressPoint {
    time: String,
    time_unix: u64,
    /// Height of the tip at that time; null if unknown.
    height: Option<u32>,
    /// Stress from 0 to 100, as computed at that time; null if no component was known.
    stress: Option<Decimal<4>>,
    /// Number of transactions.
    count: u64,
    /// Sum of the adjusted virtual sizes.
    vsize: u64,
    /// Sum of the fees.
    fees_sats: u64,
    /// Median feerate of the next block; 0 if the mempool was empty.
    next_block_median_sat_vb: SatVb,
    /// Inflow in virtual bytes per second; null if no full window had been observed.
    inflow_vb_s: Option<Decimal<3>>,
    /// Minimum feerate of the node's mempool; null if unknown.
    mempool_min_fee_sat_vb: Option<SatVb>,
    /// Components of the score, each from 0 to 1 or null if unknown; null unless requested.
    components: Option<PointComponents>,
}

/// Components of a sample.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PointComponents {
    backlog: Option<Decimal<6>>,
    feerate: Option<Decimal<6>>,
    inflow: Option<Decimal<6>>,
    entry: Option<Decimal<6>>,
}

/// Maximum number of points of a history, and of samples that the feerate is compared with: one per hour for 30 days.
const MAX_POINTS: u64 = 720;

impl Operation for MempoolStress {
    const INFO: Info = Info {
        summary: "Mempool stress from 0 to 100",
        description: "One number from the backlog, the percentile of the next block's median feerate in the last 30 \
            days (one sample per hour), the inflow, and the node's entry feerate: 100 × (0.35 b + 0.30 f + 0.20 g + \
            0.15 e). Unknown components are left out, and the other weights are scaled up in proportion; the answer \
            reports it. Components and a history of samples on request.",
        // The history is what will be sold.
        source: "index+mempool",
        freshness: &[TIP, MEMPOOL, Freshness::NOW],
        freshness_semantics: "time of the last change or check of this server's copy of the mempool; each sample \
            of the history has its own time",
        errors: &[UNAVAILABLE],
        tool: Tool::reads(
            "asked for one number for the congestion of the mempool, or how it compares with the last 30 days",
            "what to pay (fees_recommended), or counts and sizes (mempool_stats)",
        ),
        ..index_get("mempool_stress", "/v1/network/mempool/stress", "network")
    };
    type Input = MempoolStressInput;
    type Output = MempoolStressOutput;

    fn run(ctx: &Ctx<'_>, input: MempoolStressInput) -> Result<MempoolStressOutput, ApiError> {
        let now = projected(ctx)?;
        let view = ctx.view()?;
        let now_unix = ctx.now_ms / 1000;
        let params = StressParams::default();
        let start = now_unix.saturating_sub(params.window_secs);
        let samples = thinned(view, start, now_unix, params.window_secs / MAX_POINTS)?;
        let median = now.projection.next_block_median();
        let backlog = (now.projection.vsize, now.projection.template.capacity());
        let measured = StressInput {
            backlog: Some(backlog),
            feerate: feerate_percentile(median, &samples, now_unix, &params),
            inflow: now.stats.inflow,
            floor: now.stats.floor,
        };
        let result = stress(&measured);
        let known = components(&result, &measured, median, &samples, &params);
        let history = match input.history_hours {
            0 => None,
            hours => {
                let span = u64::from(hours) * 3600;
                let step_seconds = span.div_ceil(MAX_POINTS);
                let samples = thinned(view, now_unix.saturating_sub(span), now_unix, step_seconds)?;
                let points = samples.iter().map(|sample| point(sample, input.include_components)).collect();
                Some(History { hours, step_seconds, points })
            }
        };
        Ok(MempoolStressOutput {
            definition: MEMPOOL_STRESS,
            stress: result.score.map(score),
            stress_reason: result.score.is_none().then_some("no component is known"),
            renormalised: result.is_renormalised(),
            unknown_components: known.iter().filter(|c| c.value.is_none()).map(|c| c.name).collect(),
            components: input.include_components.then_some(known),
            history,
            as_of: now.as_of(),
            projection: now.facts(),
        })
    }
}

/// Millionths as 0 to 100.
fn score(millionths: u32) -> Decimal<4> {
    Decimal(millionths.into())
}

/// Millionths as 0 to 1.
fn share(millionths: u32) -> Decimal<6> {
    Decimal(millionths.into())
}

fn components(
    stress: &Stress,
    input: &StressInput,
    median: FeeRate,
    samples: &[MempoolSample],
    params: &StressParams,
) -> Vec<Component> {
    let blocks = input.backlog.map(|(vsize, capacity)| i128::from(vsize) * 1000 / i128::from(capacity.max(1)));
    let fees = input.floor.filter(|floor| floor.min_relay_fee > 0);
    vec![
        Component {
            name: "backlog",
            value: stress.backlog.map(share),
            weight: Decimal(35),
            meaning: "ln(1 + full blocks waiting) / ln 145, at most 1: a day of blocks is full stress",
            measured: blocks.map(Decimal),
            unit: "blocks",
            reason: None,
        },
        Component {
            name: "feerate",
            value: stress.feerate.map(share),
            weight: Decimal(30),
            meaning: "share of the last 30 days with a lower median feerate of the next block",
            measured: Some(Decimal(median.0.into())),
            unit: "sat/vB",
            reason: stress.feerate.is_none().then(|| {
                format!(
                    "{} hourly samples are available; at least {} from at least {} days are needed",
                    samples.len(),
                    params.min_samples,
                    params.min_history_secs / u64::from(DAY_SECS)
                )
            }),
        },
        Component {
            name: "inflow",
            value: stress.inflow.map(share),
            weight: Decimal(20),
            meaning: "(inflow / 1 667 vB/s − 1) / 2, limited to 0 to 1; blocks take up 1 667 vB/s",
            measured: input.inflow.map(|inflow| Decimal(inflow.milli_vb_per_second().into())),
            unit: "vB/s",
            reason: stress.inflow.is_none().then(|| NO_INFLOW.to_owned()),
        },
        Component {
            name: "entry",
            value: stress.entry.map(share),
            weight: Decimal(15),
            meaning: "log10(mempoolminfee / minrelaytxfee) / 2, limited to 0 to 1",
            measured: fees.map(|f| Decimal(i128::from(f.mempool_min_fee) * 1000 / i128::from(f.min_relay_fee))),
            unit: "ratio",
            reason: stress.entry.is_none().then(|| match input.floor {
                None => NO_FLOOR.to_owned(),
                Some(_) => "the node's minimum relay feerate is 0, so there is no ratio".to_owned(),
            }),
        },
    ]
}

fn point(sample: &MempoolSample, with_components: bool) -> StressPoint {
    StressPoint {
        time: rfc3339_ms(sample.time_unix.saturating_mul(1000)),
        time_unix: sample.time_unix,
        height: sample.height,
        stress: sample.stress.map(score),
        count: sample.count,
        vsize: sample.vsize,
        fees_sats: sample.fees_sats,
        next_block_median_sat_vb: SatVb(FeeRate(sample.next_block_median)),
        inflow_vb_s: sample.inflow_milli_vb_s.map(|inflow| Decimal(inflow.into())),
        mempool_min_fee_sat_vb: sample.mempool_min_fee.map(|fee| SatVb(FeeRate(fee))),
        components: with_components.then(|| PointComponents {
            backlog: sample.stress_backlog.map(share),
            feerate: sample.stress_feerate.map(share),
            inflow: sample.stress_inflow.map(share),
            entry: sample.stress_entry.map(share),
        }),
    }
}
