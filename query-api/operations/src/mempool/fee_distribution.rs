//! `GET /v1/mempool/fee-distribution`.

use cairn_domain::mempool::{Bucket, FEE_DISTRIBUTION};

use super::{FRESHNESS, ProjectionFacts, UNAVAILABLE, projected};
use crate::{operation::prelude::*, values::SatVb};

pub(crate) struct FeeDistribution;

/// Distribution of the mempool by feerate.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeeDistributionOutput {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    total: DistributionTotal,
    /// Buckets in ascending order without gaps, including empty ones.
    buckets: Vec<FeeBucket>,
    /// Time of the mempool data.
    as_of: String,
    projection: ProjectionFacts,
}

/// Sum of all buckets: the mempool's statistics at the projection's generation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DistributionTotal {
    /// Number of transactions.
    tx_count: u64,
    /// Sum of the adjusted virtual sizes.
    vsize: u64,
    /// Sum of the fees.
    fees_sats: u64,
    fees_btc: Btc,
}

/// A range of feerates. A transaction counts at the feerate of the package that it would be mined with.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeeBucket {
    /// Lower bound, inclusive.
    from_sat_vb: SatVb,
    /// Upper bound, exclusive; null for the last bucket.
    to_sat_vb: Option<SatVb>,
    /// Number of transactions.
    tx_count: u64,
    /// Sum of the adjusted virtual sizes.
    vsize: u64,
    /// Number of transactions in this bucket and above.
    cumulative_tx_count: u64,
    /// Sum of the adjusted virtual sizes in this bucket and above, which are mined before lower feerates.
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
        summary: "Distribution of the mempool by feerate",
        description: "A histogram of the whole mempool by the feerate at which each transaction would be mined. This \
            is the feerate of its package: a parent whose child pays for it counts with the child. The cumulative sums \
            show how much is ahead of a feerate.",
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
