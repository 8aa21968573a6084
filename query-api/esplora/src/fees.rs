//! Feerates: the node's estimates, and the projection of the mempool into blocks.

use std::time::Duration;

use axum::{Router, extract::State, http::request::Parts, routing::get};
use cairn_chain::{Chain, Pinned};
use cairn_domain::{
    FeeRate,
    mempool::{ProjectedBlock, RecommendedFees, recommended_fees},
};
use cairn_http::{ApiError, Cost};
use serde::Serialize;

use crate::{
    answer::{Age, Answer, Refusal},
    caches::FeeEstimates,
    state::{Esplora, pinned},
};

/// Numbers of blocks until confirmation.
const TARGETS: [u16; 28] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 144, 504, 1008];
/// How long the node's estimates are kept.
const KEPT: Duration = Duration::from_secs(60);
/// How long a request may take to renew them.
const PATIENCE: Duration = Duration::from_secs(10);
/// One bitcoin per 1,000 virtual bytes in satoshis per virtual byte.
const SATS_PER_VBYTE: f64 = 100_000.0;

/// The routes of feerates.
pub(crate) fn routes() -> Router<Esplora> {
    Router::new()
        .route("/fee-estimates", get(estimates))
        .route("/v1/fees/recommended", get(recommended))
        .route("/v1/fees/precise", get(precise))
        .route("/v1/fees/mempool-blocks", get(mempool_blocks))
}

async fn estimates(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    let (chain, caches) = (esplora.chain(), esplora.caches());
    if chain.node().is_err() {
        return esplora.read(Cost::Light, &from, |at, _| Answer::json(&projected(at)?, Age::Short)).await;
    }
    if let Some(known) = caches.fees.get(PATIENCE) {
        return Answer::json(&*known, Age::Short);
    }
    esplora
        .work(Cost::Heavy, &from, move |work| {
            work.give_turn_back();
            match ask(&chain) {
                Some(estimates) => Answer::json(&*caches.fees.put(estimates, KEPT), Age::Short),
                None => match caches.fees.old() {
                    Some(old) => Answer::json(&*old, Age::Short),
                    None => pinned(&chain, work, |at| Answer::json(&projected(at)?, Age::Short)),
                },
            }
        })
        .await
}

/// The node's estimates; `None` if it cannot be reached. Targets that it knows too little about are left out.
fn ask(chain: &Chain) -> Option<FeeEstimates> {
    let rates = chain.node().ok()?.fee_estimates(&TARGETS).ok()?;
    let known = TARGETS.into_iter().zip(rates).filter_map(|(target, rate)| Some((target, rate?)));
    Some(known.filter(|(_, rate)| *rate > 0.0).map(|(target, rate)| (target, rate * SATS_PER_VBYTE)).collect())
}

/// The estimates that follow from the projection; none without a projection, or while the node's minimum is unknown.
fn projected(at: &Pinned<'_>) -> Result<FeeEstimates, Refusal> {
    let Some(fees) = fees(at)? else { return Ok(FeeEstimates::new()) };
    let rate = |target: u16| match target {
        1 => fees.fastest,
        2..=3 => fees.half_hour,
        4..=6 => fees.hour,
        7..=25 => fees.economy,
        _ => fees.minimum,
    };
    Ok(TARGETS.into_iter().map(|target| (target, sat_vb(rate(target)))).collect())
}

fn fees(at: &Pinned<'_>) -> Result<Option<RecommendedFees>, ApiError> {
    let floor = at.mempool()?.stats(0).floor;
    Ok(at.projection()?.and_then(|projection| recommended_fees(projection, floor.as_ref())))
}

/// A feerate in satoshis per virtual byte.
pub(crate) fn sat_vb(rate: FeeRate) -> f64 {
    rate.0 as f64 / 1_000.0
}

/// Recommended feerates in sat/vB.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RecommendedJson<R> {
    fastest_fee: R,
    half_hour_fee: R,
    hour_fee: R,
    economy_fee: R,
    minimum_fee: R,
}

impl<R> RecommendedJson<R> {
    fn new(fees: &RecommendedFees, rate: impl Fn(FeeRate) -> R) -> Self {
        RecommendedJson {
            fastest_fee: rate(fees.fastest),
            half_hour_fee: rate(fees.half_hour),
            hour_fee: rate(fees.hour),
            economy_fee: rate(fees.economy),
            minimum_fee: rate(fees.minimum),
        }
    }
}

/// The answer while there is no projection.
fn unknown() -> Refusal {
    Refusal::Said(axum::http::StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable".to_owned())
}

/// The recommended feerates in whole sat/vB; `None` while they are unknown.
pub(crate) fn whole_fees(at: &Pinned<'_>) -> Result<Option<impl Serialize + use<>>, ApiError> {
    Ok(fees(at)?.map(|fees| RecommendedJson::new(&fees, |rate| rate.0.div_ceil(1_000))))
}

async fn recommended(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora.read(Cost::Light, &from, |at, _| Answer::json(&whole_fees(at)?.ok_or_else(unknown)?, Age::Short)).await
}

async fn precise(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora
        .read(Cost::Light, &from, |at, _| {
            Answer::json(&RecommendedJson::new(&fees(at)?.ok_or_else(unknown)?, sat_vb), Age::Short)
        })
        .await
}

/// A block that would be mined now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MempoolBlock {
    #[serde(rename = "blockVSize")]
    block_vsize: u64,
    n_tx: u64,
    total_fees: u64,
    median_fee: f64,
    /// The lowest, the percentiles 10, 25, 50, 75 and 90, and the highest.
    fee_range: Vec<f64>,
}

impl MempoolBlock {
    fn new(block: &ProjectedBlock) -> Self {
        let rates = &block.rates;
        let range = std::iter::once(rates.min).chain(rates.percentiles).chain([rates.max]);
        MempoolBlock {
            block_vsize: block.vsize,
            n_tx: block.tx_count,
            total_fees: block.fees_sats,
            median_fee: sat_vb(rates.median()),
            fee_range: range.map(sat_vb).collect(),
        }
    }
}

/// The blocks that would be mined now.
pub(crate) fn next_blocks(at: &Pinned<'_>) -> Result<Vec<MempoolBlock>, ApiError> {
    let blocks = at.projection()?.map_or(&[][..], |projection| &projection.blocks);
    Ok(blocks.iter().map(MempoolBlock::new).collect())
}

async fn mempool_blocks(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora.read(Cost::Light, &from, |at, _| Answer::json(&next_blocks(at)?, Age::Short)).await
}
