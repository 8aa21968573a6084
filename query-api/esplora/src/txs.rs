//! Transactions: whole, their bytes, status, proofs, and what spends their outputs.

use axum::{
    Router,
    extract::{Path, State},
    http::request::Parts,
    routing::get,
};
use cairn_chain::{Pinned, Whole};
use cairn_http::{Cost, Work};
use cairn_model::Txid;

use crate::{
    answer::{Age, Answer, Refusal},
    outspends::{Outspends, UNSPENT},
    params, proofs,
    state::Esplora,
    status::TxStatus,
    tx_json,
};

/// The routes of transactions.
pub(crate) fn routes() -> Router<Esplora> {
    Router::new()
        .route("/tx/{txid}", get(tx))
        .route("/tx/{txid}/hex", get(hex_of))
        .route("/tx/{txid}/raw", get(raw))
        .route("/tx/{txid}/status", get(status))
        .route("/tx/{txid}/merkle-proof", get(merkle_proof))
        .route("/tx/{txid}/merkleblock-proof", get(merkle_block))
        .route("/tx/{txid}/outspend/{vout}", get(outspend))
        .route("/tx/{txid}/outspends", get(outspends))
}

/// Answers about one transaction.
async fn about(
    esplora: Esplora,
    (cost, txid): (Cost, &str),
    from: &Parts,
    answer: impl Fn(&Pinned<'_>, &Work, &Txid) -> Result<Answer, Refusal> + Send + 'static,
) -> Result<Answer, Refusal> {
    let txid = params::txid(txid)?;
    esplora.read(cost, from, move |at, work| answer(at, work, &txid)).await
}

/// The whole transaction, and how long an answer about it may be kept.
fn whole(at: &Pinned<'_>, txid: &Txid) -> Result<(Whole, Age), Refusal> {
    let whole = at.whole(txid)?.ok_or_else(no_tx)?;
    let age = whole.at.map_or(Age::Short, |block| Age::of_depth(block.height, at.view.tip().height));
    Ok((whole, age))
}

fn no_tx() -> Refusal {
    Refusal::not_found("Transaction not found")
}

async fn tx(State(esplora): State<Esplora>, Path(txid): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let answer = |at: &Pinned<'_>, work: &Work, txid: &Txid| {
        let (whole, age) = whole(at, txid)?;
        tx_json::single(at, work, &whole, age)
    };
    about(esplora, (Cost::Standard, &txid), &from, answer).await
}

async fn hex_of(State(esplora): State<Esplora>, Path(txid): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let answer = |at: &Pinned<'_>, _: &Work, txid: &Txid| {
        let (whole, age) = whole(at, txid)?;
        Ok(Answer::text(hex::encode(&whole.bytes), age))
    };
    about(esplora, (Cost::Standard, &txid), &from, answer).await
}

async fn raw(State(esplora): State<Esplora>, Path(txid): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let answer = |at: &Pinned<'_>, _: &Work, txid: &Txid| {
        let (whole, age) = whole(at, txid)?;
        Ok(Answer::bytes(whole.bytes, age))
    };
    about(esplora, (Cost::Standard, &txid), &from, answer).await
}

async fn status(State(esplora): State<Esplora>, Path(txid): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let answer = |at: &Pinned<'_>, _: &Work, txid: &Txid| {
        let stored = at.view.transactions().by_txid(txid)?;
        let block = stored.map(|stored| at.at(stored.height)).transpose()?;
        let age = block.map_or(Age::Short, |block| Age::of_depth(block.height, at.view.tip().height));
        Answer::json(&TxStatus::new(block), age)
    };
    about(esplora, (Cost::Light, &txid), &from, answer).await
}

async fn merkle_proof(
    State(esplora): State<Esplora>,
    Path(txid): Path<String>,
    from: Parts,
) -> Result<Answer, Refusal> {
    about(esplora, (Cost::Standard, &txid), &from, |at, _, txid| proofs::merkle_proof(at, txid)).await
}

async fn merkle_block(
    State(esplora): State<Esplora>,
    Path(txid): Path<String>,
    from: Parts,
) -> Result<Answer, Refusal> {
    about(esplora, (Cost::Standard, &txid), &from, |at, _, txid| proofs::merkle_block(at, txid)).await
}

async fn outspend(
    State(esplora): State<Esplora>,
    Path((txid, vout)): Path<(String, String)>,
    from: Parts,
) -> Result<Answer, Refusal> {
    let vout = u32::try_from(params::number(&vout)?).map_err(|_| Refusal::bad("Invalid number"))?;
    let answer = move |at: &Pinned<'_>, work: &Work, txid: &Txid| {
        let spend = match Outspends::find(at, work, *txid)? {
            Some(mut found) => found.of_output(vout)?,
            None => UNSPENT,
        };
        let height = spend.height();
        let age = height.map_or(Age::Short, |height| Age::of_depth(height, at.view.tip().height));
        Answer::json(&spend, age)
    };
    about(esplora, (Cost::Standard, &txid), &from, answer).await
}

async fn outspends(State(esplora): State<Esplora>, Path(txid): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let answer = |at: &Pinned<'_>, work: &Work, txid: &Txid| {
        let mut found = Outspends::find(at, work, *txid)?.ok_or_else(no_tx)?;
        Answer::large(&found.all()?, Age::Short, work)
    };
    about(esplora, (Cost::Standard, &txid), &from, answer).await
}
