//! The mempool with its projection, and the projection's fields in answers.

use cairn_domain::mempool::{PROJECTED_BLOCKS, Projection, Selection, Stats};

use crate::{
    context::MempoolView,
    operation::prelude::*,
    values::{SatVb, rfc3339_ms},
};

pub(crate) struct ProjectedMempool<'c> {
    pub(crate) pool: &'c MempoolView<'c>,
    /// Statistics of the mempool, as of its last change.
    pub(crate) stats: Stats,
    /// It may be slightly older than the mempool.
    pub(crate) projection: &'c Projection,
}

/// The mempool with its projection. Adds warnings if the projection lags behind a new block, or if the mempool is
/// incomplete.
///
/// # Errors
/// Fails if no mempool is available, or if there is no projection yet.
pub(crate) fn projected<'c>(ctx: &'c Ctx<'_>) -> Result<ProjectedMempool<'c>, ApiError> {
    let pool = ctx.mempool()?;
    let Some(projection) = pool.projection.as_deref() else {
        let detail = "the next blocks are not projected yet";
        return Err(ApiError::unavailable(ErrorCode::MempoolUnavailable, detail, 1));
    };
    ctx.warn_if_comparing();
    let stats = pool.mempool.stats(pool.as_of_ms);
    if projection.tip != stats.tip {
        ctx.warn("projection_behind", "a block has just arrived; the projection still builds on the previous tip");
    }
    if stats.dropped > 0 {
        let message = format!(
            "this server dropped the {} transactions with the lowest feerates for lack of memory; sums and counts omit them",
            stats.dropped
        );
        ctx.warn("mempool_not_whole", message);
    }
    Ok(ProjectedMempool { pool, stats, projection })
}

impl ProjectedMempool<'_> {
    pub(crate) fn as_of(&self) -> String {
        rfc3339_ms(self.pool.as_of_ms)
    }

    pub(crate) fn facts(&self) -> ProjectionFacts {
        let (projection, template) = (self.projection, &self.projection.template);
        ProjectionFacts {
            definition: PROJECTED_BLOCKS,
            generation: projection.generation,
            current: projection.generation == self.stats.generation,
            node_sequence: projection.node_sequence,
            tip: projection.tip.map(|tip| ProjectionTip { height: tip.height, hash: tip.hash.to_string() }),
            selection: match template.selection {
                Selection::AncestorFeerate => "ancestor_feerate",
                Selection::ChunkFeerate => "chunk_feerate",
            },
            blocks: projection.blocks.len(),
            max_blocks: template.max_blocks,
            block_capacity_vb: template.capacity(),
            min_fee_rate_sat_vb: SatVb(template.min_rate),
        }
    }
}

/// The projection that the answer is based on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectionFacts {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    /// Number of the mempool's state from which the projection was computed; compare with `generation` in the answer of
    /// `mempool_stats`.
    generation: u64,
    /// True if the mempool has not changed since then.
    current: bool,
    /// Mempool sequence of the node up to which the projection is complete; null if unknown.
    node_sequence: Option<u64>,
    /// Block that the projection builds on; null if none is known.
    tip: Option<ProjectionTip>,
    /// Selection of packages: `ancestor_feerate` (Bitcoin Core up to v30) or `chunk_feerate` (from v31 on).
    selection: &'static str,
    /// Number of projected blocks.
    blocks: usize,
    /// Maximum number of projected blocks.
    max_blocks: u8,
    /// Virtual bytes available for transactions in a block.
    block_capacity_vb: u64,
    /// Minimum feerate: packages that pay less are not mined.
    min_fee_rate_sat_vb: SatVb,
}

/// Block that the projection builds on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectionTip {
    height: u32,
    hash: String,
}
