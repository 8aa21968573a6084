//! The mempool: sums, ids, and the transactions that entered last.

use std::{cmp::Reverse, collections::BinaryHeap};

use axum::{
    Router,
    extract::{Path, State},
    http::request::Parts,
    routing::get,
};
use cairn_chain::Pinned;
use cairn_domain::mempool::Bucket;
use cairn_http::{Cost, Work};
use cairn_model::Txid;
use serde::Serialize;

use crate::{
    answer::{Age, Answer, List, Refusal},
    overview::Overview,
    state::Esplora,
};

/// Transactions of the list of recent ones.
const RECENT: usize = 10;
/// Ids of a page.
const PAGE: usize = 10_000;

/// The routes of the mempool.
pub(crate) fn routes() -> Router<Esplora> {
    Router::new()
        .route("/mempool", get(stats))
        .route("/mempool/txids", get(txids))
        .route("/mempool/txids/page", get(first_page))
        .route("/mempool/txids/page/{last_seen}", get(page_after))
        .route("/mempool/recent", get(recent))
}

/// Sums over the mempool.
#[derive(Debug, Serialize)]
struct Stats {
    count: u64,
    vsize: u64,
    total_fee: u64,
    /// Feerates in sat/vB, each with the virtual bytes that pay at least it and less than the one before.
    fee_histogram: Vec<(f64, u64)>,
}

async fn stats(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora
        .read(Cost::Light, &from, |at, _| {
            let stats = at.mempool()?.stats(0);
            let buckets = at.projection()?.map_or(&[][..], |projection| &projection.histogram);
            let fee_histogram = histogram(buckets);
            let (count, vsize, total_fee) = (stats.count, stats.vsize, stats.fees_sats);
            Answer::json(&Stats { count, vsize, total_fee, fee_histogram }, Age::Short)
        })
        .await
}

/// The buckets that are not empty, the highest feerate first.
fn histogram(buckets: &[Bucket]) -> Vec<(f64, u64)> {
    let filled = buckets.iter().rev().filter(|bucket| bucket.vsize > 0);
    filled.map(|bucket| (bucket.from.0 as f64 / 1_000.0, bucket.vsize)).collect()
}

async fn txids(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora
        .read(Cost::Heavy, &from, |at, work| {
            let mut list = List::new(work);
            for tx in at.mempool()?.iter() {
                list.push(&tx.txid.to_string())?;
            }
            list.finish(Age::Short)
        })
        .await
}

async fn first_page(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora.read(Cost::Standard, &from, |at, work| page(at, work, None)).await
}

async fn page_after(State(esplora): State<Esplora>, Path(last): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    // Anything but a txid stands for the first page, as in electrs.
    let last: Option<Txid> = last.parse().ok();
    esplora.read(Cost::Standard, &from, move |at, work| page(at, work, last.as_ref())).await
}

/// Ids in the order of their bytes, after one of them: those of the newest projection.
fn page(at: &Pinned<'_>, work: &Work, after: Option<&Txid>) -> Result<Answer, Refusal> {
    let mut list = List::new(work);
    let (mempool, projection) = (at.mempool()?, at.projection()?);
    let txids = projection.into_iter().flat_map(|projection| projection.txids_after(after));
    for txid in txids.filter(|txid| mempool.get(txid).is_some()).take(PAGE) {
        list.push(&txid.to_string())?;
    }
    list.finish(Age::Short)
}

async fn recent(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    let caches = esplora.caches();
    esplora
        .read(Cost::Standard, &from, move |at, work| {
            let generation = at.mempool()?.stats(0).generation;
            let recent = match caches.recent.get(&generation) {
                Some(known) => known,
                None => caches.recent.put(generation, newest(at, work)?),
            };
            Answer::json(&*recent, Age::Recent)
        })
        .await
}

/// The transactions that were first seen last, newest first.
fn newest(at: &Pinned<'_>, work: &Work) -> Result<Vec<Overview>, Refusal> {
    let mut newest: BinaryHeap<Reverse<(u64, Txid)>> = BinaryHeap::with_capacity(RECENT + 1);
    for tx in at.mempool()?.iter() {
        work.poll()?;
        newest.push(Reverse((tx.first_seen_ms, tx.txid)));
        if newest.len() > RECENT {
            newest.pop();
        }
    }
    // Ascending order of the reversed ones: the newest first.
    let (newest, mempool) = (newest.into_sorted_vec(), at.mempool()?);
    Ok(newest.iter().filter_map(|Reverse((_, txid))| mempool.get(txid)).map(|tx| Overview::new(tx)).collect())
}
