//! `GET /v1/fees/recommended`.

use cairn_domain::mempool::{RECOMMENDED_FEES, recommended_fees};

use crate::{
    mempool::{FRESHNESS, ProjectionFacts, UNAVAILABLE, projected, stats::NO_FLOOR},
    operation::prelude::*,
    values::SatVb,
};

pub(crate) struct FeesRecommended;

/// Recommended feerates, in non-increasing order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeesRecommendedOutput {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    /// Feerate for the next block.
    fastest_fee_sat_vb: Option<SatVb>,
    /// Feerate for one of the next three blocks.
    half_hour_fee_sat_vb: Option<SatVb>,
    /// Feerate for one of the next six blocks.
    hour_fee_sat_vb: Option<SatVb>,
    /// Feerate for one of the next eight blocks.
    economy_fee_sat_vb: Option<SatVb>,
    /// Minimum feerate to enter the mempool.
    minimum_fee_sat_vb: Option<SatVb>,
    /// Why the fees are null; otherwise null.
    reason: Option<&'static str>,
    /// Time of the mempool data.
    as_of: String,
    projection: ProjectionFacts,
}

impl Operation for FeesRecommended {
    const INFO: Info = Info {
        summary: "Recommended feerates for confirmation within the next blocks",
        description: "Feerates from fastest to cheapest, computed from projected blocks: packages with their ancestors, \
            highest feerate first. A faster recommendation is never lower, and none is below the node's entry feerate. \
            They reflect the current mempool; later transactions may pay more.",
        source: "mempool",
        freshness: &[TIP, MEMPOOL],
        freshness_semantics: FRESHNESS,
        errors: &[UNAVAILABLE],
        tool: Tool::reads(
            "asked what feerate to pay, or what a transaction of a given size would cost now",
            "how full the mempool is (mempool_stats), or which transactions the next blocks will contain (projected_blocks)",
        ),
        ..index_get("fees_recommended", "/v1/fees/recommended", "mempool")
    };
    type Input = NoInput;
    type Output = FeesRecommendedOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<FeesRecommendedOutput, ApiError> {
        let now = projected(ctx)?;
        let fees = recommended_fees(now.projection, now.stats.floor.as_ref());
        Ok(FeesRecommendedOutput {
            definition: RECOMMENDED_FEES,
            fastest_fee_sat_vb: fees.map(|fees| SatVb(fees.fastest)),
            half_hour_fee_sat_vb: fees.map(|fees| SatVb(fees.half_hour)),
            hour_fee_sat_vb: fees.map(|fees| SatVb(fees.hour)),
            economy_fee_sat_vb: fees.map(|fees| SatVb(fees.economy)),
            minimum_fee_sat_vb: fees.map(|fees| SatVb(fees.minimum)),
            reason: fees.is_none().then_some(NO_FLOOR),
            as_of: now.as_of(),
            projection: now.facts(),
        })
    }
}
