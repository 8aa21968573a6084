//! `GET /v1/blocks/{height_or_hash}`.

use cairn_domain::{address_of, difficulty, fee_percentiles, script_type};
use cairn_http::Location;
use cairn_reader::BriefTx;
use cairn_tables::{block_log::BlockLog, headers::HeaderRow};

use super::{CoinbaseClaim, CoinbaseTag, coinbase_tag, tx_facts};
use crate::{
    context::{block_ref, confirmations},
    operation::prelude::*,
    parameters::{identifier::BlockParam, limit::Limit},
    pools::{BlockPool, Judge},
    values::{Decimal, SatVb, sat_vb},
    vocabulary::cursor::{CursorParam, Cursors},
};

pub(crate) struct BlockDetail;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BlockDetailInput {
    height_or_hash: BlockParam,
    /// Maximum number of transactions to return, starting at `tx_offset`.
    #[serde(default)]
    tx_limit: Limit<25, 100, 0>,
    /// Index of the first transaction to return; 0 is the coinbase.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    tx_offset: u32,
    /// `next_cursor` of the previous page. It replaces `tx_offset` and has no maximum.
    cursor: Option<CursorParam>,
}

/// A block.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BlockDetailOutput {
    height: u32,
    hash: String,
    confirmations: u32,
    /// Time of the header.
    time: String,
    time_unix: u32,
    /// Monotone block time: the largest header time up to this block. Days and ages use it.
    monotone_time: String,
    previous_hash: Option<String>,
    /// Hash of the next block; null at the tip.
    next_hash: Option<String>,
    version: i32,
    merkle_root: String,
    /// Compact target in hexadecimal.
    bits: String,
    nonce: u32,
    difficulty: Option<f64>,
    /// Size in bytes, including witnesses.
    size: u32,
    /// Weight in weight units.
    weight: u32,
    tx_count: u32,
    /// Mining pool; null if none is recognised.
    pool: Option<BlockPool>,
    /// Why `pool` is null; otherwise null.
    pool_reason: Option<&'static str>,
    coinbase: Coinbase,
    totals: BlockTotals,
    /// Feerate percentiles by weight; null if the block has only its coinbase.
    fee_percentiles: Option<Percentiles>,
    /// Transactions, starting at `tx_offset`.
    transactions: Vec<BlockTx>,
    /// `tx_offset` of the next page; null at the end.
    next_tx_offset: Option<u32>,
    /// Cursor of the next page; null at the end, and if no transactions were requested.
    next_cursor: Option<String>,
}

/// The coinbase.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Coinbase {
    txid: String,
    #[serde(flatten)]
    tag: CoinbaseTag,
    /// Sum of the coinbase outputs.
    reward_sats: u64,
    reward_btc: Btc,
    /// Block subsidy at this height.
    subsidy_sats: u64,
    /// First 100 outputs of the coinbase; the operation `tx_lookup` lists all.
    outputs: Vec<Payout>,
    /// Number of outputs that are not listed.
    outputs_omitted: u32,
}

/// An output of the coinbase.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Payout {
    index: u32,
    value_sats: u64,
    script_type: &'static str,
    /// Address of the script; null if it has none.
    address: Option<String>,
}

/// Sums over the block.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BlockTotals {
    /// Number of inputs, without the coinbase.
    input_count: u32,
    output_count: u32,
    /// Sum of the outputs, without the coinbase.
    transferred_sats: u64,
    transferred_btc: Btc,
    fees_sats: u64,
    fees_btc: Btc,
    /// Coin days that the block destroyed: the sum over all spent coins of amount in bitcoin × age in days (monotone
    /// block time). The days of `onchain_stats` sum them up.
    coin_days_destroyed: Decimal<8>,
    #[serde(flatten)]
    claimed: CoinbaseClaim,
}

/// Feerate percentiles by weight: `p10` is the feerate below which 10 % of the weight pays.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Percentiles {
    p10_sat_vb: SatVb,
    p25_sat_vb: SatVb,
    p50_sat_vb: SatVb,
    p75_sat_vb: SatVb,
    p90_sat_vb: SatVb,
}

/// Summary of a transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BlockTx {
    /// Index in the block.
    index: u32,
    txid: String,
    vsize: u64,
    fee_sats: u64,
    /// Feerate; null for the coinbase.
    fee_rate_sat_vb: Option<SatVb>,
    input_count: u32,
    output_count: u32,
    output_sats: u64,
}

impl Operation for BlockDetail {
    const INFO: Info = Info {
        summary: "A block of the active chain by height or hash",
        description: "Header, sizes, coinbase with its readable text, totals, feerates and a page of transactions. \
            Blocks that are not on the active chain return 404. Page through the transactions with `cursor`, or with `tx_offset`.",
        errors: &[ErrorCode::BlockNotFound, ErrorCode::CursorExpired],
        tool: Tool::reads(
            "asked about one block by height or hash, or for its transactions",
            "a list of the newest blocks (recent_blocks), or future blocks (projected_blocks)",
        ),
        cost: Cost::Heavy,
        freshness: &[TIP, CLAIMS],
        ..index_get("block_detail", "/v1/blocks/{height_or_hash}", "blocks")
    };
    type Input = BlockDetailInput;
    type Output = BlockDetailOutput;

    fn run(ctx: &Ctx<'_>, mut input: BlockDetailInput) -> Result<BlockDetailOutput, ApiError> {
        let view = ctx.view()?;
        if input.cursor.is_some() && input.tx_offset > 0 {
            return Err(ApiError::validation(Location::Query, "cursor", "cannot be combined with tx_offset"));
        }
        let height = match input.height_or_hash {
            BlockParam::Height(height) => (height <= view.tip().height).then_some(height),
            BlockParam::Hash(hash) => view.height_of(&hash)?,
        };
        let found = match height {
            Some(height) => view.header(height)?.map(|row| (height, row)),
            None => None,
        };
        let (height, row) = found
            .ok_or_else(|| ctx.missing(ErrorCode::BlockNotFound, "the active chain has no such block".to_owned()))?;
        // A cursor belongs to one block, under both of its names.
        let cursors = Cursors::new(view, &ctx.fingerprint().resolved("height_or_hash", &row.hash.0));
        if let Some(token) = &input.cursor {
            input.tx_offset = u32::try_from(cursors.read(token)?).unwrap_or(u32::MAX);
        }
        let next = u64::from(input.tx_offset) + u64::from(input.tx_limit.get());
        let has_more = input.tx_limit.get() > 0 && next < u64::from(row.tx_count);
        let next_hash = match height < view.tip().height {
            true => Some(block_ref(view, height + 1)?.hash),
            false => None,
        };
        let (pool, pool_reason) = BlockPool::find(&mut Judge::new(ctx)?, height, &row.coinbase_script)?;
        let mut facts = tx_facts(view, height)?;
        let percentiles = fee_percentiles(&mut facts.rates);
        let shown_to = input.tx_offset.saturating_add(input.tx_limit.get()).min(row.tx_count);
        Ok(BlockDetailOutput {
            height,
            hash: row.hash.to_string(),
            confirmations: confirmations(view.tip(), height),
            time: rfc3339(row.time()),
            time_unix: row.time(),
            monotone_time: rfc3339(row.mono_time),
            previous_hash: (height > 0).then(|| row.previous().to_string()),
            next_hash,
            next_cursor: has_more.then(|| cursors.token(next)),
            version: row.version(),
            merkle_root: hex::encode(row.merkle_root().iter().rev().copied().collect::<Vec<_>>()),
            bits: format!("{:08x}", row.bits()),
            nonce: row.nonce(),
            difficulty: difficulty(row.bits()),
            size: row.size,
            weight: row.weight,
            tx_count: row.tx_count,
            pool,
            pool_reason,
            coinbase: coinbase(view, height, &row)?,
            totals: BlockTotals {
                input_count: row.input_count,
                output_count: row.output_count,
                transferred_sats: row.output_sats.saturating_sub(row.coinbase_sats),
                transferred_btc: Btc::of(row.output_sats.saturating_sub(row.coinbase_sats)),
                fees_sats: row.fees,
                fees_btc: Btc::of(row.fees),
                coin_days_destroyed: Decimal(i128::try_from(facts.destroyed_sat_days).unwrap_or(i128::MAX)),
                claimed: CoinbaseClaim::of(view, height, &row),
            },
            fee_percentiles: percentiles.map(|[p10, p25, p50, p75, p90]| Percentiles {
                p10_sat_vb: SatVb(p10),
                p25_sat_vb: SatVb(p25),
                p50_sat_vb: SatVb(p50),
                p75_sat_vb: SatVb(p75),
                p90_sat_vb: SatVb(p90),
            }),
            transactions: view
                .transactions()
                .brief(height, input.tx_offset, input.tx_limit.get())?
                .iter()
                .map(brief)
                .collect(),
            next_tx_offset: (shown_to < row.tx_count && input.tx_offset < row.tx_count).then_some(shown_to),
        })
    }
}

fn stored(view: &View<'_>, row: &HeaderRow, index: u32) -> Result<cairn_reader::StoredTx, ApiError> {
    let tx_num = TxNum(row.first_tx.0 + u64::from(index));
    Ok(view.transactions().get(tx_num)?.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx_num.0)))?)
}

/// Outputs of a coinbase that are listed. Few have more than ten; consensus allows 100 000.
const MAX_PAYOUTS: usize = 100;

fn coinbase(view: &View<'_>, height: Height, row: &HeaderRow) -> Result<Coinbase, ApiError> {
    let tx = stored(view, row, 0)?;
    let shown = tx.outputs().len().min(MAX_PAYOUTS);
    let payout = |(at, output): (usize, &cairn_model::OutputMeta)| Payout {
        index: at as u32,
        value_sats: output.value,
        script_type: script_type(tx.script(output)).name(),
        address: address_of(tx.script(output), view.network()),
    };
    Ok(Coinbase {
        txid: tx.txid().to_string(),
        tag: coinbase_tag(&row.coinbase_script),
        reward_sats: row.coinbase_sats,
        reward_btc: Btc::of(row.coinbase_sats),
        subsidy_sats: view.network().subsidy_sats(height),
        outputs_omitted: (tx.outputs().len() - shown) as u32,
        outputs: tx.outputs().iter().take(shown).enumerate().map(payout).collect(),
    })
}

fn brief(tx: &BriefTx) -> BlockTx {
    BlockTx {
        index: tx.index,
        txid: tx.txid.to_string(),
        vsize: tx.vsize,
        fee_sats: tx.fee_sats(),
        fee_rate_sat_vb: sat_vb(tx.fee_sats(), tx.vsize).filter(|_| tx.index > 0),
        input_count: if tx.index == 0 { 1 } else { tx.input_count },
        output_count: tx.output_count,
        output_sats: tx.output_sats,
    }
}
