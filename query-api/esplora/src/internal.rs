//! Routes that mempool.space's backend asks of its electrs: whole blocks, pages of the mempool, and many transactions
//! at once. They are for a listener that only the operator reaches.

use axum::{
    Router,
    extract::{Path, Query, Request, State},
    http::request::Parts,
    routing::{get, post},
};
use cairn_chain::{Pinned, Whole};
use cairn_http::{ApiError, Cost, Work};
use cairn_model::{TxNum, Txid};
use serde::Deserialize;

use crate::{
    answer::{Age, Answer, List, Refusal},
    blocks::height_of,
    outspends::{Outspends, UNSPENT},
    params,
    state::Esplora,
    tx_json::TxList,
};

/// Transactions of a page of the mempool.
const PAGE: usize = 1_000;
/// A list of unconfirmed transactions that has more bytes gets no further one: half of the largest answer.
const FULL: usize = 8 << 20;
/// Transactions of a block that are in memory together.
const AT_A_TIME: usize = 50;

/// The routes, without those that everybody has.
pub(crate) fn routes() -> Router<Esplora> {
    Router::new()
        .route("/internal/block/{hash}/txs", get(block_txs))
        .route("/internal/mempool/txs", get(mempool_page).post(mempool_txs))
        .route("/internal/mempool/txs/{last_seen}", get(mempool_page_after))
        .route("/internal/txs", post(txs))
        .route("/internal/txs/outspends/by-txid", post(outspends_by_txid))
        .route("/internal/txs/outspends/by-outpoint", post(outspends_by_outpoint))
}

async fn block_txs(State(esplora): State<Esplora>, Path(hash): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let hash = params::block_hash(&hash)?;
    let read = move |at: &Pinned<'_>, work: &Work| {
        let height = height_of(at, &hash)?;
        let row = at.header(height)?;
        let numbers: Vec<TxNum> = (0..u64::from(row.tx_count)).map(|index| TxNum(row.first_tx.0 + index)).collect();
        let mut list = TxList::new(at, work);
        for some in numbers.chunks(AT_A_TIME) {
            at.whole_of(some)?.iter().try_for_each(|whole| list.push(whole))?;
        }
        list.finish(Age::of_depth(height, at.view.tip().height))
    };
    esplora.read(Cost::Heavy, &from, read).await
}

/// The size of a page.
#[derive(Debug, Deserialize)]
struct Size {
    max_txs: Option<String>,
}

async fn mempool_page(
    State(esplora): State<Esplora>,
    Query(size): Query<Size>,
    from: Parts,
) -> Result<Answer, Refusal> {
    page_of_mempool(esplora, None, size, from).await
}

async fn mempool_page_after(
    State(esplora): State<Esplora>,
    Path(last): Path<String>,
    Query(size): Query<Size>,
    from: Parts,
) -> Result<Answer, Refusal> {
    page_of_mempool(esplora, last.parse().ok(), size, from).await
}

/// Unconfirmed transactions in the order of the bytes of their ids, after one of them: those of the newest projection.
async fn page_of_mempool(esplora: Esplora, after: Option<Txid>, size: Size, from: Parts) -> Result<Answer, Refusal> {
    let most = size.max_txs.and_then(|text| text.parse().ok()).unwrap_or(PAGE).min(PAGE);
    let read = move |at: &Pinned<'_>, work: &Work| {
        let (mempool, projection) = (at.mempool()?, at.projection()?);
        let txids = projection.into_iter().flat_map(|projection| projection.txids_after(after.as_ref()));
        let txids: Vec<Txid> = txids.filter(|txid| mempool.get(txid).is_some()).take(most).copied().collect();
        shortened(at, work, &txids, Age::Short)
    };
    esplora.read(Cost::Heavy, &from, read).await
}

/// A list of texts in the body.
async fn texts(esplora: &Esplora, request: Request) -> Result<(Vec<String>, Parts), Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = esplora.api().body(body, &parts).await.map_err(Refusal::Written)?;
    let texts = serde_json::from_slice(&bytes).map_err(|error| Refusal::bad(error.to_string()))?;
    Ok((texts, parts))
}

async fn txids(esplora: &Esplora, request: Request) -> Result<(Vec<Txid>, Parts), Refusal> {
    let (texts, parts) = texts(esplora, request).await?;
    let txids = texts.iter().map(|text| params::txid(text)).collect::<Result<_, _>>()?;
    Ok((txids, parts))
}

async fn txs(State(esplora): State<Esplora>, request: Request) -> Result<Answer, Refusal> {
    let (txids, from) = txids(&esplora, request).await?;
    esplora.read(Cost::Heavy, &from, move |at, work| listed(at, work, &txids, Age::None)).await
}

async fn mempool_txs(State(esplora): State<Esplora>, request: Request) -> Result<Answer, Refusal> {
    let (txids, from) = txids(&esplora, request).await?;
    let read = move |at: &Pinned<'_>, work: &Work| {
        let mempool = at.mempool()?;
        let known: Vec<Txid> = txids.iter().filter(|txid| mempool.get(txid).is_some()).copied().collect();
        shortened(at, work, &known, Age::None)
    };
    esplora.read(Cost::Heavy, &from, read).await
}

/// Unconfirmed transactions, in their order, as many as fit into an answer. mempool.space's backend asks for the rest
/// again: it takes only an empty list for the end.
fn shortened(at: &Pinned<'_>, work: &Work, txids: &[Txid], age: Age) -> Result<Answer, Refusal> {
    let (mut list, mut unknown) = (TxList::new(at, work), None::<ApiError>);
    for (number, txid) in txids.iter().enumerate() {
        work.poll()?;
        if list.len() > FULL {
            break;
        }
        match at.whole(txid) {
            Ok(Some(whole)) if unknown.is_none() => list.push(&whole)?,
            Ok(_) => {}
            Err(_) if list.len() > 1 && unknown.is_none() => break,
            // Bytes that the node has to bring are noted for some of them.
            Err(error) => unknown = unknown.or(Some(error)),
        }
        if unknown.is_some() && number >= AT_A_TIME {
            break;
        }
    }
    match unknown {
        Some(error) => Err(error.into()),
        None => list.finish(age),
    }
}

/// Those of the transactions that anybody knows.
fn listed(at: &Pinned<'_>, work: &Work, txids: &[Txid], age: Age) -> Result<Answer, Refusal> {
    let (mut list, mut failed) = (TxList::new(at, work), None::<ApiError>);
    for txid in txids {
        work.poll()?;
        let found: Result<Option<Whole>, ApiError> = at.whole(txid);
        match found {
            Ok(Some(whole)) if failed.is_none() => list.push(&whole)?,
            Ok(_) => {}
            // Bytes that the node has to bring are noted for all of them.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) => Err(error.into()),
        None => list.finish(age),
    }
}

async fn outspends_by_txid(State(esplora): State<Esplora>, request: Request) -> Result<Answer, Refusal> {
    let (texts, from) = texts(&esplora, request).await?;
    let read = move |at: &Pinned<'_>, work: &Work| {
        let mut list = List::new(work);
        for text in &texts {
            let found = text.parse().ok().map(|txid| Outspends::find(at, work, txid)).transpose()?.flatten();
            list.push(&found.map(|mut found| found.all()).transpose()?.unwrap_or_default())?;
        }
        list.finish(Age::Short)
    };
    esplora.read(Cost::Heavy, &from, read).await
}

async fn outspends_by_outpoint(State(esplora): State<Esplora>, request: Request) -> Result<Answer, Refusal> {
    let (texts, from) = texts(&esplora, request).await?;
    let read = move |at: &Pinned<'_>, work: &Work| {
        let mut list = List::new(work);
        for (txid, vout) in texts.iter().map(|text| outpoint(text).unzip()) {
            let found = txid.map(|txid| Outspends::find(at, work, txid)).transpose()?.flatten();
            let spend = found.zip(vout).map(|(mut found, vout)| found.of_output(vout)).transpose()?;
            list.push(&spend.unwrap_or(UNSPENT))?;
        }
        list.finish(Age::Short)
    };
    esplora.read(Cost::Heavy, &from, read).await
}

/// `txid:vout`.
fn outpoint(text: &str) -> Option<(Txid, u32)> {
    let (txid, vout) = text.split_once(':')?;
    Some((txid.parse().ok()?, vout.parse().ok()?))
}
