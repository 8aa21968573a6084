//! `GET /v1/mempool/stats`.

use cairn_domain::{
    FeeRate,
    mempool::{CongestionThresholds, MEMPOOL_CONGESTION},
};

use super::{FRESHNESS, ProjectionFacts, UNAVAILABLE, projected};
use crate::operation::prelude::*;
use crate::values::{Decimal, SatVb};

pub(crate) struct MempoolStats;

/// Statistics of the mempool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MempoolStatsOutput {
    /// Number of transactions.
    count: u64,
    /// Sum of the virtual sizes, adjusted for signature operations as the node's mempool counts them.
    vsize: u64,
    /// Sum of the weights.
    weight: u64,
    /// Sum of the fees.
    fees_sats: u64,
    fees_btc: Btc,
    /// The node's minimum feerates; null until they are known.
    floor: Option<Floor>,
    /// Why `floor` is null; otherwise null.
    floor_reason: Option<&'static str>,
    /// Inflow in virtual bytes per second; null until a full window was observed.
    inflow_vb_s: Option<Decimal<3>>,
    /// Length of the window in seconds; null if `inflow_vb_s` is null.
    inflow_window_seconds: Option<u64>,
    /// Why `inflow_vb_s` is null; otherwise null.
    inflow_reason: Option<&'static str>,
    congestion: Congestion,
    /// Median feerate of the next block, by weight; null if the mempool is empty.
    next_block_median_sat_vb: Option<SatVb>,
    usage: Usage,
    /// True if this server has every transaction of the node's mempool.
    whole: bool,
    /// Number of transactions that this server dropped or did not load for lack of memory.
    dropped: u64,
    /// Mempool sequence of the node up to which this server is complete; null if unknown.
    node_sequence: Option<u64>,
    /// Number of the mempool's state: answers with the same number and the same tip cover the same transactions. It
    /// restarts when the server starts.
    generation: u64,
    /// Time of the mempool data.
    as_of: String,
    projection: ProjectionFacts,
}

/// The node's minimum feerates.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Floor {
    /// Minimum feerate to enter the mempool now: the larger of the other two.
    entry_fee_sat_vb: SatVb,
    /// `mempoolminfee`: the current minimum of the node's mempool.
    mempool_min_fee_sat_vb: SatVb,
    /// `minrelaytxfee`: the node's fixed minimum.
    min_relay_fee_sat_vb: SatVb,
    /// Memory that the node's mempool uses, in bytes.
    node_usage_bytes: u64,
    /// Memory limit of the node's mempool, in bytes.
    node_max_bytes: u64,
}

/// Congestion of the mempool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Congestion {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    /// Word for the congestion: `low`, `moderate`, `high` or `severe`.
    word: &'static str,
    /// Backlog in full blocks.
    backlog_blocks: Decimal<3>,
    /// Backlog above which the word is `moderate`.
    moderate_above_blocks: u64,
    /// Backlog above which the word is `high`.
    high_above_blocks: u64,
    /// Backlog above which the word is `severe`.
    severe_above_blocks: u64,
}

/// Memory of this server's copy of the mempool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Usage {
    /// Estimated memory in bytes.
    bytes: u64,
    /// Memory limit in bytes.
    max_bytes: u64,
}

impl Operation for MempoolStats {
    const INFO: Info = Info {
        summary: "Statistics of the mempool",
        description: "Number, size and fees of the unconfirmed transactions, the node's entry feerate, the inflow, and \
            a word for the congestion of the network. For recommended feerates use fees_recommended, for the \
            distribution by feerate fee_distribution.",
        source: "mempool",
        freshness: &[TIP, MEMPOOL],
        freshness_semantics: FRESHNESS,
        errors: &[UNAVAILABLE],
        tool: Tool::reads(
            "asked how many transactions are unconfirmed, how large the mempool is, or how congested the network is",
            "what to pay (fees_recommended), the distribution by feerate (fee_distribution), or one transaction (mempool_tx)",
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

pub(crate) const NO_FLOOR: &str = "the node has not reported its minimum feerates yet";
pub(crate) const NO_INFLOW: &str = "the mempool has not been observed for a whole window since it was loaded";
