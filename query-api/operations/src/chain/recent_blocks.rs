//! `GET /v1/chain/recent-blocks`.

use cairn_tables::headers::Headers;

use crate::{
    blocks::{CoinbaseClaim, CoinbaseTag, FeeRange, coinbase_tag, fee_range, tx_facts},
    operation::prelude::*,
    parameters::limit::Limit,
    pools::{BlockPool, Judge},
    values::{SatVb, sat_vb},
    vocabulary::cursor::{CursorParam, Cursors},
};

pub(crate) struct RecentBlocks;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RecentBlocksInput {
    /// Blocks per page.
    #[serde(default)]
    limit: Limit<10, 50>,
    /// `next_cursor` of the previous page.
    cursor: Option<CursorParam>,
}

/// The newest blocks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RecentBlocksOutput {
    limit: u32,
    /// Blocks, the newest first.
    blocks: Vec<RecentBlock>,
    /// Cursor of the next page; null at genesis.
    next_cursor: Option<String>,
}

/// A block.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RecentBlock {
    height: u32,
    hash: String,
    /// Time of the header.
    time: String,
    time_unix: u32,
    tx_count: u32,
    /// Size in bytes, including witnesses.
    size: u32,
    /// Weight in weight units.
    weight: u32,
    /// Virtual size: weight / 4, rounded up.
    vsize: u32,
    fees_sats: u64,
    /// Sum of the coinbase outputs; the same as `coinbase_sats`.
    reward_sats: u64,
    #[serde(flatten)]
    claimed: CoinbaseClaim,
    /// Total fees divided by total vsize, without the coinbase; null if the block has only its coinbase.
    average_fee_rate_sat_vb: Option<SatVb>,
    /// Range of the feerates; null if the block has only its coinbase.
    fee_range: Option<FeeRange>,
    /// Mining pool; null if none is recognised.
    pool: Option<BlockPool>,
    /// Why `pool` is null; otherwise null.
    pool_reason: Option<&'static str>,
    coinbase: CoinbaseTag,
}

impl Operation for RecentBlocks {
    const INFO: Info = Info {
        summary: "The newest blocks, newest first",
        description: "Size, fees, feerates and coinbase text of the newest blocks of the active chain. Page back to \
            genesis with `cursor`. For the transactions of a block use block_detail.",
        needs_tip: true,
        freshness: &[TIP, CLAIMS],
        errors: &[ErrorCode::CursorExpired],
        tool: Tool::reads(
            "asked what the newest blocks are, or to walk back through blocks",
            "the transactions of one block (block_detail), or future blocks (projected_blocks)",
        ),
        ..index_get("recent_blocks", "/v1/chain/recent-blocks", "chain")
    };
    type Input = RecentBlocksInput;
    type Output = RecentBlocksOutput;

    fn run(ctx: &Ctx<'_>, input: RecentBlocksInput) -> Result<RecentBlocksOutput, ApiError> {
        let view = ctx.view()?;
        let cursors = Cursors::new(view, &ctx.fingerprint());
        // Counted from genesis: the page has the blocks below this height.
        let all = u64::from(view.tip().height) + 1;
        let end = match &input.cursor {
            Some(token) => cursors.read(token)?.min(all),
            None => all,
        };
        let start = end.saturating_sub(input.limit.get().into());
        let mut judge = Judge::new(ctx)?;
        if !judge.is_loaded()? {
            ctx.warn("no_pool_list", "no list of mining pools is loaded: pool is null");
        }
        let blocks = (start..end).rev().map(|height| block(view, &mut judge, height)).collect::<Result<_, _>>()?;
        let next_cursor = (start > 0).then(|| cursors.token(start));
        Ok(RecentBlocksOutput { limit: input.limit.get(), blocks, next_cursor })
    }
}

fn block(view: &View<'_>, judge: &mut Judge<'_, '_>, height: u64) -> Result<RecentBlock, ApiError> {
    // Heights up to the tip fit.
    let height = u32::try_from(height).unwrap_or(u32::MAX);
    let row = view.header(height)?.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?;
    let (pool, pool_reason) = BlockPool::find(judge, height, &row.coinbase_script)?;
    let mut rates = tx_facts(view, height)?.rates;
    let weight: u64 = rates.iter().map(|(_, weight)| *weight).sum();
    Ok(RecentBlock {
        height,
        hash: row.hash.to_string(),
        time: rfc3339(row.time()),
        time_unix: row.time(),
        tx_count: row.tx_count,
        size: row.size,
        weight: row.weight,
        vsize: row.weight.div_ceil(4),
        fees_sats: row.fees,
        reward_sats: row.coinbase_sats,
        claimed: CoinbaseClaim::of(view, height, &row),
        average_fee_rate_sat_vb: sat_vb(row.fees, weight.div_ceil(4)),
        fee_range: fee_range(&mut rates),
        pool,
        pool_reason,
        coinbase: coinbase_tag(&row.coinbase_script),
    })
}
