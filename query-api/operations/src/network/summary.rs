//! `GET /v1/network/summary`.

use cairn_domain::{difficulty, mempool::recommended_fees};
use cairn_model::Network;
use cairn_tables::headers::Headers;

use super::pace::{PERIOD, TipTimes, adjustment, halving, hashrate, period_start, work};
use crate::{
    context::PRICE,
    mempool::{BLOCK_SECONDS, stats::NO_FLOOR},
    operation::prelude::*,
    price_now::{source, why_missing},
    values::{Decimal, PriceNumber, SatVb, rfc3339_ms},
};

pub(crate) struct NetworkSummary;

/// Summary of the network.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NetworkSummaryOutput {
    /// Height of the tip.
    height: u32,
    /// Price of one bitcoin in US dollars.
    price_usd: Option<PriceNumber>,
    /// Time of the price: the close of its candle, or the query to the sources.
    price_as_of: Option<String>,
    /// Source of the price; null if it is the mean of two.
    price_source: Option<String>,
    /// True if the price is older than twice the interval of its candle and older than ten minutes.
    price_stale: Option<bool>,
    /// Why `price_usd` is null; otherwise null.
    price_reason: Option<&'static str>,
    /// Recommended feerate for the next block.
    fastest_fee_sat_vb: Option<SatVb>,
    /// Why `fastest_fee_sat_vb` is null; otherwise null.
    fastest_fee_reason: Option<&'static str>,
    /// Virtual bytes in the mempool.
    mempool_vbytes: Option<u64>,
    /// Number of transactions in the mempool.
    mempool_count: Option<u64>,
    /// Time of the mempool data.
    mempool_as_of: Option<String>,
    /// Why the mempool fields are null; otherwise null.
    mempool_reason: Option<&'static str>,
    /// Exahashes per second over the first of `hashrate_windows`.
    hashrate_eh: Option<Decimal<27>>,
    /// Method by which the hash rate is estimated.
    hashrate_source: &'static str,
    /// Hash rate over about a day, and over about two weeks.
    hashrate_windows: Vec<HashrateWindow>,
    /// Difficulty of the tip.
    difficulty: Option<f64>,
    /// Compact target of the tip, hexadecimal.
    bits: String,
    /// Progress of the difficulty period of 2 016 blocks in percent; null if difficulty never changes.
    difficulty_epoch_progress_pct: Option<Decimal<4>>,
    /// The next difficulty adjustment; null if difficulty never changes.
    next_adjustment: Option<NextAdjustment>,
    /// Why `next_adjustment` is null; otherwise null.
    next_adjustment_reason: Option<&'static str>,
    /// The next halving; null once the subsidy is zero.
    halving: Option<NextHalving>,
    /// Why `halving` is null; otherwise null.
    halving_reason: Option<&'static str>,
    /// Average seconds between blocks over the first of `hashrate_windows`.
    average_block_interval_seconds: Option<Decimal<3>>,
    /// Target block interval of the network in seconds.
    target_block_interval_seconds: u32,
}

/// Hash rate over the newest blocks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HashrateWindow {
    /// Number of blocks in the window; fewer if the chain is shorter.
    blocks: u32,
    /// Seconds from the monotone time of the block before the window to that of the tip.
    seconds: u32,
    /// Exahashes per second, to eight digits.
    hashrate_eh: Option<Decimal<27>>,
    average_block_interval_seconds: Option<Decimal<3>>,
    /// Why a field is null; otherwise null.
    reason: Option<&'static str>,
}

/// The next difficulty adjustment.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NextAdjustment {
    /// Height of the first block with the new difficulty.
    height: u32,
    /// Number of blocks until then, including that block.
    blocks_left: u32,
    /// Estimated change in percent at the pace of this period; null before its first 144 blocks.
    estimated_change_pct: Option<Decimal<2>>,
    /// Why `estimated_change_pct` is null; otherwise null.
    estimated_change_reason: Option<&'static str>,
    /// Estimated time at that pace; before the first 144 blocks of the period, at ten minutes per block.
    estimated_at: Option<String>,
}

/// The next halving of the subsidy.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NextHalving {
    /// Height of the first block with the lower subsidy.
    next_height: u32,
    /// Number of blocks until then, including that block.
    blocks_left: u32,
    /// Estimated time at ten minutes per block.
    estimated_at: Option<String>,
    /// Block subsidy at the tip.
    current_subsidy_sats: u64,
    current_subsidy_btc: Btc,
    /// Block subsidy after the halving.
    next_subsidy_sats: u64,
}

const WINDOWS: [u32; 2] = [144, PERIOD];
const HASHRATE_SOURCE: &str =
    "expected work of the window's blocks, from their targets, divided by their monotone block time";
const NO_RETARGET: &str = "difficulty never changes on regtest";

impl Operation for NetworkSummary {
    const INFO: Info = Info {
        summary: "Summary of the Bitcoin network",
        description: "Feerate for the next block, size of the mempool, estimated hash rate, difficulty and its next \
            adjustment, the next halving, the block interval, and the price of bitcoin with its time and source. Without a \
            mempool, its fields are null.",
        source: "index+mempool",
        freshness: &[TIP, MEMPOOL, PRICE],
        freshness_semantics: "time of the mempool data; without a mempool, the time of the newest block in the index",
        needs_tip: true,
        tool: Tool::reads(
            "asked for the state of the whole network: hash rate, difficulty, halving, block interval, feerate",
            "one block (block_detail), one transaction (tx_lookup), or what to pay (fees_recommended)",
        )
        .named("network_intelligence"),
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
        let price = ctx.dollars()?;
        Ok(NetworkSummaryOutput {
            height: tip.height,
            price_usd: price.ok().map(|price| PriceNumber(price.price)),
            price_as_of: price.ok().map(|price| rfc3339(price.as_of)),
            price_source: price.ok().and_then(source),
            price_stale: price.ok().map(|price| price.is_stale_at(ctx.now())),
            price_reason: price.err().map(why_missing),
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
                estimated_change_reason: next.change.is_none().then_some("the period has fewer than 144 blocks so far"),
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
            halving_reason: halving.is_none().then_some("the subsidy is zero"),
            target_block_interval_seconds: BLOCK_SECONDS,
        })
    }
}

/// A time; `None` beyond the year 2106, the limit of header times.
fn at(seconds: u64) -> Option<String> {
    u32::try_from(seconds).ok().map(rfc3339)
}

/// Compact target of a block. One row read.
fn bits(view: &View<'_>, height: Height) -> Result<u32, ApiError> {
    let row = view.header(height)?.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?;
    Ok(row.bits())
}

/// True if blocks of one period may have different targets: on networks that allow easy blocks after twenty minutes.
fn targets_vary(network: Network) -> bool {
    matches!(network, Network::Testnet3 | Network::Testnet4)
}

/// Work of the blocks above `below` up to `last`; `None` if a target is invalid. Reads one row per period, or one per
/// block if targets vary.
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

pub(crate) type Exahashes = Decimal<27>;

/// Returns the hash rate over at most `blocks` newest blocks, or the reason why it is unknown. Reads a row for each
/// difficulty period.
pub(crate) fn hashrate_of(view: &View<'_>, blocks: u32) -> Result<(Option<Exahashes>, Option<&'static str>), ApiError> {
    let window = window(view, blocks)?;
    Ok((window.hashrate_eh, window.reason))
}

fn window(view: &View<'_>, blocks: u32) -> Result<HashrateWindow, ApiError> {
    let tip = view.tip();
    let blocks = blocks.min(tip.height);
    let below = tip.height - blocks;
    let start = view.chain().get(below).ok_or_else(ApiError::internal)?.mono_time;
    let seconds = tip.mono_time.saturating_sub(start);
    let mut window =
        HashrateWindow { blocks, seconds, hashrate_eh: None, average_block_interval_seconds: None, reason: None };
    if blocks == 0 {
        window.reason = Some("the chain has only one block");
        return Ok(window);
    }
    window.average_block_interval_seconds = Some(Decimal(i128::from(seconds) * 1000 / i128::from(blocks)));
    if targets_vary(view.network()) && blocks > WINDOWS[0] {
        window.reason = Some("on this network each block may have its own target; only the short window is computed");
        return Ok(window);
    }
    let rate = work_of(view, below, tip.height)?.and_then(|work| hashrate(work, seconds));
    // In billionths of hashes; an exahash is 10^18 hashes.
    window.hashrate_eh = rate.and_then(|rate| i128::try_from(rate).ok()).map(Decimal);
    window.reason = window.hashrate_eh.is_none().then_some("the header times of the blocks do not differ");
    Ok(window)
}

#[derive(Default)]
struct MempoolFields {
    fastest: Option<SatVb>,
    fastest_reason: Option<&'static str>,
    vbytes: Option<u64>,
    count: Option<u64>,
    as_of: Option<String>,
    reason: Option<&'static str>,
}

fn waiting(ctx: &Ctx<'_>) -> MempoolFields {
    let Some(pool) = ctx.unconfirmed() else {
        let reason = ctx.pool.as_ref().err().map(|absent| absent.reason());
        return MempoolFields { fastest_reason: reason, reason, ..MempoolFields::default() };
    };
    let stats = pool.mempool.stats(pool.as_of_ms);
    let fees = pool.projection.as_deref().map(|projection| recommended_fees(projection, stats.floor.as_ref()));
    let (fastest, fastest_reason) = match fees {
        None => (None, Some("the next blocks are not projected yet")),
        Some(None) => (None, Some(NO_FLOOR)),
        Some(Some(fees)) => (Some(SatVb(fees.fastest)), None),
    };
    MempoolFields {
        fastest,
        fastest_reason,
        vbytes: Some(stats.vsize),
        count: Some(stats.count),
        as_of: Some(rfc3339_ms(pool.as_of_ms)),
        reason: None,
    }
}
