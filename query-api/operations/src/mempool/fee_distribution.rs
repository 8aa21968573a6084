//! `GET /v1/mempool/fee-distribution`.

use cairn_domain::mempool::{Bucket, FEE_DISTRIBUTION};
use cairn_http::{ApiError, Info, NoInput, Tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::{FRESHNESS, ProjectionFacts, UNAVAILABLE, projected};
use crate::{
    context::{Ctx, MEMPOOL, TIP, index_get},
    operation::Operation,
    values::{Btc, SatVb},
};

/// How much waits at which feerate.
pub(crate) struct FeeDistribution;

/// How much waits at which feerate.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeeDistributionOutput {
    /// Id of the definition.
    definition: &'static str,
    total: DistributionTotal,
    /// Ascending and without gaps, empty ones included.
    buckets: Vec<FeeBucket>,
    /// When the mempool was current.
    as_of: String,
    projection: ProjectionFacts,
}

/// All buckets together: the statistics of the mempool of the projection's generation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DistributionTotal {
    /// Transactions.
    tx_count: u64,
    /// Sum of their adjusted virtual sizes.
    vsize: u64,
    /// Sum of their fees.
    fees_sats: u64,
    fees_btc: Btc,
}

/// A range of feerates. A transaction counts at the feerate that it would be mined at, that of its package.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeeBucket {
    /// Lowest feerate in it.
    from_sat_vb: SatVb,
    /// First feerate above it; null for the last bucket.
    to_sat_vb: Option<SatVb>,
    /// Transactions.
    tx_count: u64,
    /// Sum of their adjusted virtual sizes.
    vsize: u64,
    /// Transactions in this bucket and in those above.
    cumulative_tx_count: u64,
    /// Sum of the adjusted virtual sizes in this bucket and in those above: what is mined before whoever pays less.
    cumulative_vsize: u64,
}

fn row(bucket: &Bucket) -> FeeBucket {
    FeeBucket {
        from_sat_vb: SatVb(bucket.from),
        to_sat_vb: bucket.to.map(SatVb),
        tx_count: bucket.count,
        vsize: bucket.vsize,
        cumulative_tx_count: bucket.count_from_top,
        cumulative_vsize: bucket.vsize_from_top,
    }
}

impl Operation for FeeDistribution {
    const INFO: Info = Info {
        summary: "How much waits in the mempool at which feerate",
        description: "A histogram of the whole mempool by the feerate at which each transaction would be mined, that \
            of its package: a parent whose child pays for it counts with the child. The sums from the top say how \
            much is ahead of a feerate.",
        source: "mempool",
        freshness: &[TIP, MEMPOOL],
        freshness_semantics: FRESHNESS,
        errors: &[UNAVAILABLE],
        tool: Tool::reads(
            "asked how much waits at which feerate, or how much is ahead of a given feerate",
            "what to pay (fees_recommended), or totals of the mempool (mempool_stats)",
        ),
        ..index_get("fee_distribution", "/v1/mempool/fee-distribution", "mempool")
    };
    type Input = NoInput;
    type Output = FeeDistributionOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<FeeDistributionOutput, ApiError> {
        let now = projected(ctx)?;
        let projection = now.projection;
        Ok(FeeDistributionOutput {
            definition: FEE_DISTRIBUTION,
            total: DistributionTotal {
                tx_count: projection.count,
                vsize: projection.vsize,
                fees_sats: projection.fees_sats,
                fees_btc: Btc::of(projection.fees_sats),
            },
            buckets: projection.histogram.iter().map(row).collect(),
            as_of: now.as_of(),
            projection: now.facts(),
        })
    }
}
