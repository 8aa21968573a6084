//! `GET /v1/chain/projected-blocks`.

use cairn_domain::mempool::{PROJECTED_BLOCKS, ProjectedBlock, Projection};
use cairn_http::{ApiError, Info, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    context::{Ctx, MEMPOOL, TIP, index_get},
    mempool::{FRESHNESS, ProjectionFacts, UNAVAILABLE, projected},
    operation::Operation,
    values::{Btc, SatVb},
};

/// The blocks to come.
pub(crate) struct ProjectedBlocks;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ProjectedBlocksInput {
    /// Most transactions of each block to list by id.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000))]
    txids_limit: u32,
}

/// The blocks to come.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectedBlocksOutput {
    /// Id of the definition.
    definition: &'static str,
    /// The next one first; fewer than `projection.max_blocks` if they hold everything that pays enough.
    blocks: Vec<ProjectedBlockRow>,
    left_over: LeftOver,
    /// When the mempool was current.
    as_of: String,
    projection: ProjectionFacts,
}

/// A block that would be mined now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectedBlockRow {
    /// 0 is the next block.
    index: u32,
    /// Height that it would have; null if no tip is known.
    height: Option<u32>,
    /// Transactions, without the coinbase.
    tx_count: u64,
    /// Their weight.
    weight: u64,
    /// Their weight / 4, rounded up.
    vsize: u64,
    /// Cost of their signature operations.
    sigop_cost: u64,
    /// Sum of their fees.
    fees_sats: u64,
    fees_btc: Btc,
    fee_range: ProjectedFeeRange,
    /// The first transactions in the order of the block, at most `txids_limit`.
    txids: Vec<String>,
    /// Transactions of the block that are not listed.
    txids_omitted: u64,
}

/// Feerates of a projected block. Each transaction counts at the feerate of the package that it was chosen with.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectedFeeRange {
    min_sat_vb: SatVb,
    /// 10 % of the weight pays less.
    p10_sat_vb: SatVb,
    p25_sat_vb: SatVb,
    median_sat_vb: SatVb,
    p75_sat_vb: SatVb,
    p90_sat_vb: SatVb,
    max_sat_vb: SatVb,
}

/// What no projected block holds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LeftOver {
    /// Transactions.
    tx_count: u64,
    /// Adjusted virtual size of the mempool less the virtual sizes of the blocks. Rounding, and transactions with many
    /// signature operations, make it a little more than what the transactions have together.
    vsize: u64,
}

impl Operation for ProjectedBlocks {
    const INFO: Info = Info {
        summary: "The next blocks, as they would be mined now",
        description: "Up to eight blocks filled from the mempool by the rules of Bitcoin Core's miner: packages with \
            their ancestors, best paying first, within the limits of weight and signature operations. Each with its \
            size, fees and range of feerates; transactions by id on request.",
        source: "mempool",
        freshness: &[TIP, MEMPOOL],
        freshness_semantics: FRESHNESS,
        errors: &[UNAVAILABLE],
        tool: Tool::reads(
            "asked what the next blocks will hold and at which feerates",
            "mined blocks (recent_blocks), what to pay (fees_recommended), or when one transaction confirms (mempool_tx)",
        ),
        ..index_get("projected_blocks", "/v1/chain/projected-blocks", "chain")
    };
    type Input = ProjectedBlocksInput;
    type Output = ProjectedBlocksOutput;

    fn run(ctx: &Ctx<'_>, input: ProjectedBlocksInput) -> Result<ProjectedBlocksOutput, ApiError> {
        let now = projected(ctx)?;
        let (projection, limit) = (now.projection, input.txids_limit as usize);
        Ok(ProjectedBlocksOutput {
            definition: PROJECTED_BLOCKS,
            blocks: projection.blocks.iter().map(|block| row(projection, block, limit)).collect(),
            left_over: left_over(projection),
            as_of: now.as_of(),
            projection: now.facts(),
        })
    }
}

fn row(projection: &Projection, block: &ProjectedBlock, limit: usize) -> ProjectedBlockRow {
    let txids: Vec<String> = projection.txids_of(block.index as usize).take(limit).map(ToString::to_string).collect();
    let [p10, p25, median, p75, p90] = block.rates.percentiles.map(SatVb);
    ProjectedBlockRow {
        index: block.index,
        height: projection.tip.map(|tip| tip.height.saturating_add(block.index + 1)),
        tx_count: block.tx_count,
        weight: block.weight,
        vsize: block.vsize,
        sigop_cost: block.sigop_cost,
        fees_sats: block.fees_sats,
        fees_btc: Btc::of(block.fees_sats),
        fee_range: ProjectedFeeRange {
            min_sat_vb: SatVb(block.rates.min),
            p10_sat_vb: p10,
            p25_sat_vb: p25,
            median_sat_vb: median,
            p75_sat_vb: p75,
            p90_sat_vb: p90,
            max_sat_vb: SatVb(block.rates.max),
        },
        txids_omitted: block.tx_count.saturating_sub(txids.len() as u64),
        txids,
    }
}

fn left_over(projection: &Projection) -> LeftOver {
    let sum = |of: fn(&ProjectedBlock) -> u64| projection.blocks.iter().map(of).fold(0, u64::saturating_add);
    let tx_count = projection.count.saturating_sub(sum(|block| block.tx_count));
    let vsize = if tx_count == 0 { 0 } else { projection.vsize.saturating_sub(sum(|block| block.vsize)) };
    LeftOver { tx_count, vsize }
}
