//! The mempool together with its projection, and what answers say about the projection.

use cairn_domain::mempool::{PROJECTED_BLOCKS, Projection, Selection, Stats};
use cairn_http::{ApiError, ErrorCode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    context::{Ctx, MempoolView},
    values::{SatVb, rfc3339_ms},
};

/// The mempool with its projection.
pub(crate) struct Projected<'c> {
    pub(crate) pool: &'c MempoolView<'c>,
    /// The mempool in numbers, as of the moment when it last changed.
    pub(crate) stats: Stats,
    /// It may be some moments older than the mempool.
    pub(crate) projection: &'c Projection,
}

/// The mempool with its projection. Adds warnings where the projection lags behind a new block, or where the mempool is
/// not whole.
///
/// # Errors
/// There is no mempool at present, or it has not been projected yet.
pub(crate) fn projected<'c>(ctx: &'c Ctx<'_>) -> Result<Projected<'c>, ApiError> {
    let pool = ctx.mempool()?;
    let Some(projection) = pool.projection.as_deref() else {
        let detail = "the blocks to come have not been projected yet";
        return Err(ApiError::unavailable(ErrorCode::MempoolUnavailable, detail, 1));
    };
    let stats = pool.mempool.stats(pool.as_of_ms);
    if projection.tip != stats.tip {
        ctx.warn("projection_behind", "a block has just come; what is projected still builds on the tip before it");
    }
    if stats.dropped > 0 {
        let message = format!(
            "this server had no room for {} transactions that paid least: sums and counts lack them",
            stats.dropped
        );
        ctx.warn("mempool_not_whole", message);
    }
    Ok(Projected { pool, stats, projection })
}

impl Projected<'_> {
    /// When the mempool was current.
    pub(crate) fn as_of(&self) -> String {
        rfc3339_ms(self.pool.as_of_ms)
    }

    /// What answers say about the projection.
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

/// The projection that an answer was made from.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectionFacts {
    /// Id of the definition.
    definition: &'static str,
    /// State of the mempool that it was made from, as `generation` of the mempool's statistics.
    generation: u64,
    /// Whether the mempool has not changed since.
    current: bool,
    /// The node's mempool sequence up to which it knows everything; null if the node did not tell.
    node_sequence: Option<u64>,
    /// Block that the projected ones build on; null if none is known.
    tip: Option<ProjectionTip>,
    /// How packages are picked: `ancestor_feerate` (Bitcoin Core up to v30) or `chunk_feerate` (from v31 on).
    selection: &'static str,
    /// Projected blocks.
    blocks: usize,
    /// Most blocks that are projected.
    max_blocks: u8,
    /// Virtual bytes that a block has for transactions.
    block_capacity_vb: u64,
    /// Packages that pay less are not mined.
    min_fee_rate_sat_vb: SatVb,
}

/// Block that the projected ones build on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectionTip {
    height: u32,
    hash: String,
}
