//! Blocks: the newest, by hash, by height.

use axum::{
    Router,
    extract::{Path, State},
    http::request::Parts,
    routing::get,
};
use cairn_chain::Pinned;
use cairn_http::Cost;
use cairn_model::{BlockHash, Height};

use crate::{
    answer::{Age, Answer, Refusal},
    params,
    state::Esplora,
};

/// The routes of blocks.
pub(crate) fn routes() -> Router<Esplora> {
    Router::new()
        .route("/blocks/tip/height", get(tip_height))
        .route("/blocks/tip/hash", get(tip_hash))
        .route("/block-height/{height}", get(hash_at))
}

async fn tip_height(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora.read(Cost::Light, &from, |at| Ok(Answer::text(at.view.tip().height.to_string(), Age::Short))).await
}

async fn tip_hash(State(esplora): State<Esplora>, from: Parts) -> Result<Answer, Refusal> {
    esplora.read(Cost::Light, &from, |at| Ok(Answer::text(at.view.tip().hash.to_string(), Age::Short))).await
}

async fn hash_at(State(esplora): State<Esplora>, Path(height): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let height = params::number(&height)?;
    esplora
        .read(Cost::Light, &from, move |at| {
            let header = at.view.header(height)?.ok_or_else(no_block)?;
            Ok(Answer::text(header.hash.to_string(), Age::of_depth(height, at.view.tip().height)))
        })
        .await
}

/// The answer about blocks that the chain does not have.
pub(crate) fn no_block() -> Refusal {
    Refusal::not_found("Block not found")
}

/// The height of a block of the chain.
pub(crate) fn height_of(at: &Pinned<'_>, hash: &BlockHash) -> Result<Height, Refusal> {
    at.view.height_of(hash)?.ok_or_else(no_block)
}
