//! `GET /v1/mempool/stats`.

use cairn_domain::{
    FeeRate,
    mempool::{CongestionThresholds, MEMPOOL_CONGESTION},
};
use cairn_http::{ApiError, Info, NoInput, Tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::{FRESHNESS, ProjectionFacts, UNAVAILABLE, projected};
use crate::{
    context::{Ctx, MEMPOOL, TIP, index_get},
    operation::Operation,
    values::{Btc, Decimal, SatVb},
};

/// The mempool in numbers.
pub(crate) struct MempoolStats;

/// The mempool in numbers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MempoolStatsOutput {
    /// Transactions.
    count: u64,
    /// Sum of their virtual sizes, adjusted for signature operations as the node's mempool counts them.
    vsize: u64,
    /// Sum of their weights.
    weight: u64,
    /// Sum of their fees.
    fees_sats: u64,
    fees_btc: Btc,
    /// What the node demands for entry; null until it told.
    floor: Option<Floor>,
    /// Why `floor` is null; null if it is not.
    floor_reason: Option<&'static str>,
    /// Virtual bytes per second that entered; null until a whole window was watched.
    inflow_vb_s: Option<Decimal<3>>,
    /// The window; null if `inflow_vb_s` is.
    inflow_window_seconds: Option<u64>,
    /// Why `inflow_vb_s` is null; null if it is not.
    inflow_reason: Option<&'static str>,
    congestion: Congestion,
    /// Median feerate of the next block, by weight; null if nothing waits.
    next_block_median_sat_vb: Option<SatVb>,
    usage: Usage,
    /// Whether every transaction of the node's mempool is here.
    whole: bool,
    /// Transactions that this server dropped or turned away for want of memory.
    dropped: u64,
    /// The node's mempool sequence up to which everything is here; null if the node did not tell.
    node_sequence: Option<u64>,
    /// State of the mempool: answers with the same number (and the same tip) speak of the same transactions. Begins anew
    /// when the server starts.
    generation: u64,
    /// When the mempool was current.
    as_of: String,
    projection: ProjectionFacts,
}

/// What the node demands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Floor {
    /// What a transaction needs to enter now: the larger of the two.
    entry_fee_sat_vb: SatVb,
    /// `mempoolminfee`: below this nothing enters now.
    mempool_min_fee_sat_vb: SatVb,
    /// `minrelaytxfee`: below this nothing ever enters.
    min_relay_fee_sat_vb: SatVb,
    /// Bytes of memory that the node's mempool takes.
    node_usage_bytes: u64,
    /// Limit of these bytes.
    node_max_bytes: u64,
}

/// How full the mempool is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Congestion {
    /// Id of the definition.
    definition: &'static str,
    /// `low`, `moderate`, `high` or `severe`.
    word: &'static str,
    /// Full blocks that wait.
    backlog_blocks: Decimal<3>,
    /// More full blocks than this: `moderate`.
    moderate_above_blocks: u64,
    /// More full blocks than this: `high`.
    high_above_blocks: u64,
    /// More full blocks than this: `severe`.
    severe_above_blocks: u64,
}

/// Memory of this server's copy.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Usage {
    /// Bytes, estimated.
    bytes: u64,
    /// Limit of these bytes.
    max_bytes: u64,
}

impl Operation for MempoolStats {
    const INFO: Info = Info {
        summary: "The mempool in numbers",
        description: "How many transactions wait, their size and fees, what the node demands for entry, how fast they \
            come, and how congested the network is, in a word. For what to pay use the recommended fees, for how much \
            waits at which feerate the fee distribution.",
        source: "mempool",
        freshness: &[TIP, MEMPOOL],
        freshness_semantics: FRESHNESS,
        errors: &[UNAVAILABLE],
        tool: Tool::reads(
            "asked how many transactions wait, how large the mempool is, or how congested the network is",
            "what to pay (fees_recommended), how much waits at which feerate (fee_distribution), or one transaction (mempool_tx)",
        ),
        ..index_get("mempool_stats", "/v1/mempool/stats", "mempool")
    };
    type Input = NoInput;
    type Output = MempoolStatsOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<MempoolStatsOutput, ApiError> {
        let now = projected(ctx)?;
        let (stats, template) = (&now.stats, &now.projection.template);
        let thresholds = CongestionThresholds::default();
        let inflow = stats.inflow;
        Ok(MempoolStatsOutput {
            count: stats.count,
            vsize: stats.vsize,
            weight: stats.weight,
            fees_sats: stats.fees_sats,
            fees_btc: Btc::of(stats.fees_sats),
            floor: stats.floor.map(|floor| Floor {
                entry_fee_sat_vb: SatVb(FeeRate(floor.entry_fee())),
                mempool_min_fee_sat_vb: SatVb(FeeRate(floor.mempool_min_fee)),
                min_relay_fee_sat_vb: SatVb(FeeRate(floor.min_relay_fee)),
                node_usage_bytes: floor.usage_bytes,
                node_max_bytes: floor.max_bytes,
            }),
            floor_reason: stats.floor.is_none().then_some(NO_FLOOR),
            inflow_vb_s: inflow.map(|i| Decimal(i.milli_vb_per_second().into())),
            inflow_window_seconds: inflow.map(|i| i.window_ms / 1000),
            inflow_reason: inflow.is_none().then_some(NO_INFLOW),
            congestion: Congestion {
                definition: MEMPOOL_CONGESTION,
                word: thresholds.word(stats.vsize, template).as_str(),
                backlog_blocks: Decimal(i128::from(stats.vsize) * 1000 / i128::from(template.capacity())),
                moderate_above_blocks: thresholds.moderate,
                high_above_blocks: thresholds.high,
                severe_above_blocks: thresholds.severe,
            },
            next_block_median_sat_vb: now.projection.blocks.first().map(|block| SatVb(block.rates.median())),
            usage: Usage { bytes: stats.usage_bytes, max_bytes: stats.max_bytes },
            whole: stats.dropped == 0,
            dropped: stats.dropped,
            node_sequence: stats.node_sequence,
            generation: stats.generation,
            as_of: now.as_of(),
            projection: now.facts(),
        })
    }
}

/// Why the floor is unknown.
pub(crate) const NO_FLOOR: &str = "the node has not told what it demands for entry";
/// Why the inflow is unknown.
pub(crate) const NO_INFLOW: &str = "the mempool has not been watched for a whole window since it was loaded";
