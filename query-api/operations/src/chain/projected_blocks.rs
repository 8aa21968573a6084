//! `GET /v1/chain/projected-blocks`.

use cairn_domain::mempool::{PROJECTED_BLOCKS, ProjectedBlock, Projection};

use crate::{
    mempool::{FRESHNESS, ProjectionFacts, UNAVAILABLE, projected},
    operation::prelude::*,
    values::SatVb,
};

pub(crate) struct ProjectedBlocks;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ProjectedBlocksInput {
    /// Maximum number of txids to list for each block.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000))]
    txids_limit: u32,
}

/// The projected blocks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectedBlocksOutput {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    /// The next block first; fewer than `projection.max_blocks` if they contain all transactions above the minimum
    /// feerate.
    blocks: Vec<ProjectedBlockRow>,
    left_over: LeftOver,
    /// Time of the mempool data.
    as_of: String,
    projection: ProjectionFacts,
}

/// A projected block.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectedBlockRow {
    /// Position of the block; 0 is the next block.
    index: u32,
    /// Height that the block would have; null if no tip is known.
    height: Option<u32>,
    /// Number of transactions, without the coinbase.
    tx_count: u64,
    /// Sum of the transactions' weights.
    weight: u64,
    /// Weight / 4 in virtual bytes, rounded up.
    vsize: u64,
    /// Signature operation cost of the transactions.
    sigop_cost: u64,
    /// Sum of the fees.
    fees_sats: u64,
    fees_btc: Btc,
    fee_range: ProjectedFeeRange,
    /// The first transactions in the order of the block, at most `txids_limit`.
    txids: Vec<String>,
    /// Number of transactions in the block that are not listed.
    txids_omitted: u64,
}

/// Feerates of a projected block. Each transaction counts at the feerate of the package that it was chosen with.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectedFeeRange {
    min_sat_vb: SatVb,
    /// 10 % of the weight pays a lower feerate.
    p10_sat_vb: SatVb,
    p25_sat_vb: SatVb,
    median_sat_vb: SatVb,
    p75_sat_vb: SatVb,
    p90_sat_vb: SatVb,
    max_sat_vb: SatVb,
}

/// Transactions in no projected block.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LeftOver {
    /// Number of transactions.
    tx_count: u64,
    /// Adjusted virtual size of the mempool minus the virtual sizes of the blocks. Rounding, and transactions with many
    /// signature operations, make it slightly larger than the sum of the transactions' virtual sizes.
    vsize: u64,
}

impl Operation for ProjectedBlocks {
    const INFO: Info = Info {
        summary: "The next blocks, as projected from the mempool",
        description: "Up to eight blocks filled from the mempool by the rules of Bitcoin Core's block template: \
            packages with their ancestors, highest feerate first, within the limits of weight and sigop cost. Each has \
            its size, fees and feerate range, and on request its txids.",
        source: "mempool",
        freshness: &[TIP, MEMPOOL],
        freshness_semantics: FRESHNESS,
        errors: &[UNAVAILABLE],
        tool: Tool::reads(
            "asked what the next blocks will contain and at which feerates",
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
