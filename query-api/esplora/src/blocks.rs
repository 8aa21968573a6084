//! Blocks: the newest, by hash, by height; their transactions.

use std::rc::Rc;

use axum::{
    Router,
    extract::{Path, State},
    http::request::Parts,
    routing::get,
};
use bitcoin::hashes::{Hash, sha256d};
use cairn_chain::{Chain, Pinned};
use cairn_http::{ApiError, Cost, ErrorCode, Work};
use cairn_model::{BlockHash, Height, TxNum};
use cairn_tables::headers::HeaderRow;
use serde::Serialize;

use crate::{
    answer::{Age, Answer, List, Refusal},
    block_json::BlockJson,
    params,
    state::{Esplora, pinned},
    tx_json,
};

/// Blocks of a list.
const BLOCKS: Height = 10;
/// Transactions of a page.
pub(crate) const PAGE: u64 = 25;

/// The routes of blocks.
pub(crate) fn routes() -> Router<Esplora> {
    lists("/blocks", blocks)
        .route("/blocks/tip/height", get(tip_height))
        .route("/blocks/tip/hash", get(tip_hash))
        .route("/block-height/{height}", get(hash_at))
        .route("/block/{hash}", get(block))
        .route("/block/{hash}/status", get(status))
        .route("/block/{hash}/header", get(header))
        .route("/block/{hash}/raw", get(raw))
        .route("/block/{hash}/txids", get(txids))
        .route("/block/{hash}/txid/{index}", get(txid_at))
        .route("/block/{hash}/txs", get(first_txs))
        .route("/block/{hash}/txs/", get(first_txs))
        .route("/block/{hash}/txs/{start}", get(txs_from))
}

async fn tip_height(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora.read(Cost::Light, &from, |at, _| Ok(Answer::text(at.view.tip().height.to_string(), Age::Short))).await
}

async fn tip_hash(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora.read(Cost::Light, &from, |at, _| Ok(Answer::text(at.view.tip().hash.to_string(), Age::Short))).await
}

/// The routes of a list of blocks: from the tip downwards, and from a height.
pub(crate) fn lists(path: &str, list: fn(&Pinned<'_>, Option<u64>) -> Result<Answer, Refusal>) -> Router<Esplora> {
    let from_tip = move |State(esplora): State<Esplora>, from: Parts| async move {
        esplora.read(Cost::Standard, &from, move |at, _| list(at, None)).await
    };
    let from_height = move |State(esplora): State<Esplora>, Path(start): Path<String>, from: Parts| async move {
        // Anything but a number stands for the tip, as in electrs.
        let start = params::digits(&start);
        esplora.read(Cost::Standard, &from, move |at, _| list(at, start)).await
    };
    Router::new()
        .route(path, get(from_tip))
        .route(&format!("{path}/"), get(from_tip))
        .route(&format!("{path}/{{start}}"), get(from_height))
}

fn blocks(at: &Pinned<'_>, start: Option<u64>) -> Result<Answer, Refusal> {
    let rows = rows_down_from(at, start, BLOCKS)?;
    let blocks: Vec<BlockJson> = rows.iter().map(|(height, row)| BlockJson::new(at, *height, row)).collect();
    Answer::json(&blocks, Age::Short)
}

/// The rows of `count` blocks, from a height (else the tip) downwards.
pub(crate) fn rows_down_from(
    at: &Pinned<'_>,
    start: Option<u64>,
    count: Height,
) -> Result<Vec<(Height, HeaderRow)>, Refusal> {
    let newest = height_in(at, start.unwrap_or(at.view.tip().height.into()))?;
    let heights: Vec<Height> = (newest.saturating_sub(count - 1)..=newest).collect();
    let rows = at.view.headers(&heights)?;
    let found = heights.into_iter().zip(rows).rev();
    found.map(|(height, row)| Ok((height, row.ok_or_else(ApiError::internal)?))).collect()
}

/// A height of the chain.
fn height_in(at: &Pinned<'_>, height: u64) -> Result<Height, Refusal> {
    Height::try_from(height).ok().filter(|height| *height <= at.view.tip().height).ok_or_else(no_block)
}

async fn hash_at(State(esplora): State<Esplora>, Path(height): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let height = params::number(&height)?;
    esplora
        .read(Cost::Light, &from, move |at, _| {
            let height = height_in(at, height)?;
            let hash = at.header(height)?.hash;
            Ok(Answer::text(hash.to_string(), Age::of_depth(height, at.view.tip().height)))
        })
        .await
}

async fn block(State(esplora): State<Esplora>, Path(hash): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let hash = params::block_hash(&hash)?;
    esplora
        .read(Cost::Light, &from, move |at, _| {
            let height = height_of(at, &hash)?;
            Answer::json(&BlockJson::new(at, height, &at.header(height)?), Age::Long)
        })
        .await
}

/// The place of a block.
#[derive(Debug, Serialize)]
struct BlockStatus {
    in_best_chain: bool,
    height: Option<Height>,
    next_best: Option<String>,
}

async fn status(State(esplora): State<Esplora>, Path(hash): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let hash = params::block_hash(&hash)?;
    esplora
        .read(Cost::Light, &from, move |at, _| {
            let tip = at.view.tip().height;
            let height = at.view.height_of(&hash)?;
            let next = height.filter(|height| *height < tip).map(|height| at.header(height + 1)).transpose()?;
            let next_best = next.map(|row| row.hash.to_string());
            let age = height.map_or(Age::Short, |height| Age::of_depth(height, tip));
            Answer::json(&BlockStatus { in_best_chain: height.is_some(), height, next_best }, age)
        })
        .await
}

async fn header(State(esplora): State<Esplora>, Path(hash): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let hash = params::block_hash(&hash)?;
    esplora
        .read(Cost::Light, &from, move |at, _| {
            let row = at.header(height_of(at, &hash)?)?;
            Ok(Answer::text(hex::encode(row.header), Age::Long))
        })
        .await
}

async fn raw(State(esplora): State<Esplora>, Path(hash): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let hash = params::block_hash(&hash)?;
    let chain = esplora.chain();
    esplora.work(Cost::Heavy, &from, move |work| Ok(Answer::bytes(raw_block(&chain, work, hash)?, Age::Long))).await
}

/// The bytes of a block: from the block files, otherwise from the node.
fn raw_block(chain: &Chain, work: &Rc<Work>, hash: BlockHash) -> Result<Vec<u8>, Refusal> {
    let found = pinned(chain, work, |at| {
        let row = at.header(height_of(at, &hash)?)?;
        let Some((raw, position)) = at.view.raw().zip(row.position) else { return Ok(None) };
        at.view.count_other_bytes(row.size as usize)?;
        let read = raw.read(position, 0, row.size as usize);
        let read = read.inspect_err(|error| tracing::warn!(%error, "the bytes of a block are unreadable"));
        Ok(read.ok().filter(|bytes| is_of(bytes, &hash)))
    })?;
    if let Some(bytes) = found {
        return Ok(bytes);
    }
    let unavailable = |detail| ApiError::unavailable(ErrorCode::NodeUnavailable, detail, 5);
    work.give_turn_back();
    let brought = chain.node()?.raw_block(&hash);
    let brought = brought.map_err(|_| unavailable("the node cannot be reached"))?;
    let bytes = brought.ok_or_else(|| unavailable("neither block files nor the node have the bytes of this block"))?;
    work.read(bytes.len())?;
    if is_of(&bytes, &hash) { Ok(bytes) } else { Err(unavailable("the node sent another block").into()) }
}

/// Bytes of a header.
const HEADER: usize = 80;

/// True if these bytes begin with the header of this block.
fn is_of(bytes: &[u8], hash: &BlockHash) -> bool {
    bytes.get(..HEADER).is_some_and(|header| sha256d::Hash::hash(header).to_byte_array() == hash.0)
}

async fn txids(State(esplora): State<Esplora>, Path(hash): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let hash = params::block_hash(&hash)?;
    esplora
        .read(Cost::Heavy, &from, move |at, work| {
            let height = height_of(at, &hash)?;
            let mut list = List::new(work);
            for tx in at.view.transactions().brief(height, 0, u32::MAX)? {
                list.push(&tx.txid.to_string())?;
            }
            list.finish(Age::Long)
        })
        .await
}

async fn txid_at(
    State(esplora): State<Esplora>,
    Path((hash, index)): Path<(String, String)>,
    from: Parts,
) -> Result<Answer, Refusal> {
    let (hash, index) = (params::block_hash(&hash)?, params::number(&index)?);
    esplora
        .read(Cost::Light, &from, move |at, _| {
            let row = at.header(height_of(at, &hash)?)?;
            if index >= u64::from(row.tx_count) {
                return Err(Refusal::not_found("tx index out of range"));
            }
            let found = at.view.transactions().txid(TxNum(row.first_tx.0 + index))?;
            let (txid, _) = found.ok_or_else(ApiError::internal)?;
            Ok(Answer::text(txid.to_string(), Age::Long))
        })
        .await
}

async fn first_txs(State(esplora): State<Esplora>, Path(hash): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let hash = params::block_hash(&hash)?;
    esplora.read(Cost::Standard, &from, move |at, work| txs(at, work, &hash, 0)).await
}

async fn txs_from(
    State(esplora): State<Esplora>,
    Path((hash, start)): Path<(String, String)>,
    from: Parts,
) -> Result<Answer, Refusal> {
    // Anything but a number stands for the first page, as in electrs.
    let (hash, start) = (params::block_hash(&hash)?, params::digits(&start).unwrap_or(0));
    esplora.read(Cost::Standard, &from, move |at, work| txs(at, work, &hash, start)).await
}

fn txs(at: &Pinned<'_>, work: &Work, hash: &BlockHash, start: u64) -> Result<Answer, Refusal> {
    let height = height_of(at, hash)?;
    let row = at.header(height)?;
    let count = u64::from(row.tx_count);
    if !start.is_multiple_of(PAGE) {
        return Err(Refusal::bad(format!("start index must be a multiple of {PAGE}")));
    }
    if start >= count {
        return Err(Refusal::bad("start index out of range"));
    }
    let numbers: Vec<TxNum> = (start..count.min(start + PAGE)).map(|at| TxNum(row.first_tx.0 + at)).collect();
    let txs = tx_json::confirmed(at, work, &numbers)?;
    tx_json::page(at, work, &txs, Age::of_depth(height, at.view.tip().height))
}

/// The answer about blocks that the chain does not have.
pub(crate) fn no_block() -> Refusal {
    Refusal::not_found("Block not found")
}

/// The height of a block of the chain.
pub(crate) fn height_of(at: &Pinned<'_>, hash: &BlockHash) -> Result<Height, Refusal> {
    at.view.height_of(hash)?.ok_or_else(no_block)
}
