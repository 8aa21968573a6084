//! `GET /v1/network/summary`.

use cairn_domain::{difficulty, mempool::recommended_fees};
use cairn_http::{ApiError, Info, NoInput, Tool};
use cairn_model::{Height, Network};
use cairn_reader::View;
use schemars::JsonSchema;
use serde::Serialize;

use super::pace::{PERIOD, TipTimes, adjustment, halving, hashrate, period_start, work};
use crate::{
    context::{Ctx, MEMPOOL, TIP, index_get},
    mempool::{BLOCK_SECONDS, stats::NO_FLOOR},
    operation::Operation,
    values::{Btc, Decimal, SatVb, rfc3339, rfc3339_ms},
};

/// The network at a glance.
pub(crate) struct NetworkSummary;

/// The network at a glance.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NetworkSummaryOutput {
    /// Height of the tip.
    height: u32,
    /// Price of a bitcoin; null without a price source.
    price_usd: Option<f64>,
    /// Why `price_usd` is null; null if it is not.
    price_reason: Option<&'static str>,
    /// Recommended feerate for the next block.
    fastest_fee_sat_vb: Option<SatVb>,
    /// Why `fastest_fee_sat_vb` is null; null if it is not.
    fastest_fee_reason: Option<&'static str>,
    /// Virtual bytes that wait.
    mempool_vbytes: Option<u64>,
    /// Transactions that wait.
    mempool_count: Option<u64>,
    /// When the mempool was current.
    mempool_as_of: Option<String>,
    /// Why the members about the mempool are null; null if they are not.
    mempool_reason: Option<&'static str>,
    /// Exahashes per second over the first of `hashrate_windows`.
    hashrate_eh: Option<Decimal<27>>,
    /// What the hash rate is estimated from.
    hashrate_source: &'static str,
    /// About a day, and about two weeks.
    hashrate_windows: Vec<HashrateWindow>,
    /// Difficulty of the tip.
    difficulty: Option<f64>,
    /// Compact target of the tip, hexadecimal.
    bits: String,
    /// Blocks since the first one of the period of 2 016 blocks, as a share of the period; null where difficulty never
    /// changes.
    difficulty_epoch_progress_pct: Option<Decimal<4>>,
    /// Null where difficulty never changes.
    next_adjustment: Option<NextAdjustment>,
    /// Why `next_adjustment` is null; null if it is not.
    next_adjustment_reason: Option<&'static str>,
    /// Null once there is no subsidy left.
    halving: Option<NextHalving>,
    /// Why `halving` is null; null if it is not.
    halving_reason: Option<&'static str>,
    /// Seconds from block to block over the first of `hashrate_windows`.
    average_block_interval_seconds: Option<Decimal<3>>,
    /// What the network aims at.
    target_block_interval_seconds: u32,
}

/// Hash rate over the newest blocks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HashrateWindow {
    /// Blocks of the window; fewer if the chain has no more.
    blocks: u32,
    /// From the monotone time of the block before the window to that of the tip.
    seconds: u32,
    /// Exahashes per second, to eight digits.
    hashrate_eh: Option<Decimal<27>>,
    average_block_interval_seconds: Option<Decimal<3>>,
    /// Why something is null; null if nothing is.
    reason: Option<&'static str>,
}

/// The next change of difficulty.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NextAdjustment {
    /// First block of the new difficulty.
    height: u32,
    /// Blocks until that one, itself included.
    blocks_left: u32,
    /// What the change would be if the rest of the period came as its blocks so far; null before 144 of them.
    estimated_change_pct: Option<Decimal<2>>,
    /// Why `estimated_change_pct` is null; null if it is not.
    estimated_change_reason: Option<&'static str>,
    /// When, if the blocks keep that pace; before 144 blocks of the period at ten minutes a block.
    estimated_at: Option<String>,
}

/// The next halving of the subsidy.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NextHalving {
    /// First block with the lower subsidy.
    next_height: u32,
    /// Blocks until that one, itself included.
    blocks_left: u32,
    /// When, at ten minutes a block.
    estimated_at: Option<String>,
    /// Subsidy of the tip.
    current_subsidy_sats: u64,
    current_subsidy_btc: Btc,
    /// Subsidy after it.
    next_subsidy_sats: u64,
}

/// Lengths of the windows.
const WINDOWS: [u32; 2] = [144, PERIOD];
const HASHRATE_SOURCE: &str =
    "expected work of the window's blocks, by their targets, over the monotone block time that they took";
const NO_RETARGET: &str = "difficulty never changes on regtest";

impl Operation for NetworkSummary {
    const INFO: Info = Info {
        summary: "The network at a glance",
        description: "Feerate for the next block, size of the mempool, estimated hash rate, difficulty and its next \
            change, the next halving, pace of the blocks. Works without a mempool, too: its members are then null.",
        source: "index and mempool",
        freshness: &[TIP, MEMPOOL],
        freshness_semantics: "when the mempool was current, or without one the time of the newest block in the index",
        needs_tip: true,
        tool: Tool::reads(
            "asked for the state of the whole network: hash rate, difficulty, halving, pace of blocks, price of block space",
            "one block (block_detail), one transaction (tx_lookup), or what to pay (fees_recommended)",
        ).named("network_intelligence"),
        ..index_get("network_summary", "/v1/network/summary", "network")
    };
    type Input = NoInput;
    type Output = NetworkSummaryOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<NetworkSummaryOutput, ApiError> {
        let view = ctx.view()?;
        let network = view.network();
        let tip = view.tip();
        let times = TipTimes { height: tip.height, time: tip.time, mono_time: tip.mono_time };
        let bits = bits(view, tip.height)?;
        let [day, period] = WINDOWS.map(|blocks| window(view, blocks));
        let (day, period) = (day?, period?);
        let adjustment = (network != Network::Regtest)
            .then(|| {
                let start = view.chain().get(period_start(tip.height)).map(|block| block.time);
                start.map(|start| adjustment(times, start)).ok_or_else(ApiError::internal)
            })
            .transpose()?;
        let halving = halving(network, times);
        let waiting = waiting(ctx);
        Ok(NetworkSummaryOutput {
            height: tip.height,
            price_usd: None,
            price_reason: Some("no price source is loaded"),
            fastest_fee_sat_vb: waiting.fastest,
            fastest_fee_reason: waiting.fastest_reason,
            mempool_vbytes: waiting.vbytes,
            mempool_count: waiting.count,
            mempool_as_of: waiting.as_of,
            mempool_reason: waiting.reason,
            hashrate_eh: day.hashrate_eh,
            hashrate_source: HASHRATE_SOURCE,
            average_block_interval_seconds: day.average_block_interval_seconds,
            hashrate_windows: vec![day, period],
            difficulty: difficulty(bits),
            bits: format!("{bits:08x}"),
            difficulty_epoch_progress_pct: adjustment.map(|next| Decimal(next.progress.into())),
            next_adjustment_reason: adjustment.is_none().then_some(NO_RETARGET),
            next_adjustment: adjustment.map(|next| NextAdjustment {
                height: next.height,
                blocks_left: next.blocks_left,
                estimated_change_pct: next.change.map(|change| Decimal(change.into())),
                estimated_change_reason: next
                    .change
                    .is_none()
                    .then_some("fewer than 144 blocks have come since the last change"),
                estimated_at: at(next.time),
            }),
            halving: halving.map(|next| NextHalving {
                next_height: next.height,
                blocks_left: next.blocks_left,
                estimated_at: at(next.time),
                current_subsidy_sats: next.subsidy,
                current_subsidy_btc: Btc::of(next.subsidy),
                next_subsidy_sats: next.next_subsidy,
            }),
            halving_reason: halving.is_none().then_some("no subsidy is left"),
            target_block_interval_seconds: BLOCK_SECONDS,
        })
    }
}

/// A time; `None` beyond the year 2106, which no header can name.
fn at(seconds: u64) -> Option<String> {
    u32::try_from(seconds).ok().map(rfc3339)
}

/// Compact target of a block. One row read.
fn bits(view: &View<'_>, height: Height) -> Result<u32, ApiError> {
    let row = view.header(height)?.ok_or_else(|| {
        tracing::error!(height, "a header is missing");
        ApiError::internal()
    })?;
    Ok(row.bits())
}

/// Whether blocks of one period may have different targets: where a block after twenty idle minutes may be easy.
fn targets_vary(network: Network) -> bool {
    matches!(network, Network::Testnet3 | Network::Testnet4)
}

/// Work of the blocks above `below` up to `last`; `None` if a target makes no sense. Reads a row for each period that
/// they belong to, or for each block where targets vary.
fn work_of(view: &View<'_>, below: Height, last: Height) -> Result<Option<u128>, ApiError> {
    let mut sum = 0u128;
    let mut from = below + 1;
    while from <= last {
        let end = match targets_vary(view.network()) {
            true => from,
            false => period_start(from).saturating_add(PERIOD - 1).min(last),
        };
        let Some(work) = work(bits(view, from)?) else { return Ok(None) };
        let Some(next) = work.checked_mul((end - from + 1).into()).and_then(|work| sum.checked_add(work)) else {
            return Ok(None);
        };
        sum = next;
        from = end + 1;
    }
    Ok(Some(sum))
}

/// The newest `blocks` blocks.
fn window(view: &View<'_>, blocks: u32) -> Result<HashrateWindow, ApiError> {
    let tip = view.tip();
    let blocks = blocks.min(tip.height);
    let below = tip.height - blocks;
    let start = view.chain().get(below).ok_or_else(ApiError::internal)?.mono_time;
    let seconds = tip.mono_time.saturating_sub(start);
    let mut window =
        HashrateWindow { blocks, seconds, hashrate_eh: None, average_block_interval_seconds: None, reason: None };
    if blocks == 0 {
        window.reason = Some("the chain has one block only");
        return Ok(window);
    }
    window.average_block_interval_seconds = Some(Decimal(i128::from(seconds) * 1000 / i128::from(blocks)));
    if targets_vary(view.network()) && blocks > WINDOWS[0] {
        window.reason =
            Some("on this network every block may have a target of its own: only the short window is summed");
        return Ok(window);
    }
    let rate = work_of(view, below, tip.height)?.and_then(|work| hashrate(work, seconds));
    // In billionths of hashes; an exahash is 10^18 hashes.
    window.hashrate_eh = rate.and_then(|rate| i128::try_from(rate).ok()).map(Decimal);
    window.reason = window.hashrate_eh.is_none().then_some("the blocks took no time by their headers");
    Ok(window)
}

/// What the summary says about the mempool.
#[derive(Default)]
struct Waiting {
    fastest: Option<SatVb>,
    fastest_reason: Option<&'static str>,
    vbytes: Option<u64>,
    count: Option<u64>,
    as_of: Option<String>,
    reason: Option<&'static str>,
}

fn waiting(ctx: &Ctx<'_>) -> Waiting {
    let Some(pool) = ctx.unconfirmed() else {
        let reason = ctx.pool.as_ref().err().map(|absent| absent.reason());
        return Waiting { fastest_reason: reason, reason, ..Waiting::default() };
    };
    let stats = pool.mempool.stats(pool.as_of_ms);
    let fees = pool.projection.as_deref().map(|projection| recommended_fees(projection, stats.floor.as_ref()));
    let (fastest, fastest_reason) = match fees {
        None => (None, Some("the blocks to come have not been projected yet")),
        Some(None) => (None, Some(NO_FLOOR)),
        Some(Some(fees)) => (Some(SatVb(fees.fastest)), None),
    };
    Waiting {
        fastest,
        fastest_reason,
        vbytes: Some(stats.vsize),
        count: Some(stats.count),
        as_of: Some(rfc3339_ms(pool.as_of_ms)),
        reason: None,
    }
}
