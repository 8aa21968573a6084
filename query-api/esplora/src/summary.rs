//! The history of a script in brief: a list of mempool.space.

use axum::{
    Router,
    extract::{Query, State},
    http::{StatusCode, request::Parts},
    routing::get,
};
use cairn_chain::{Pinned, Script};
use cairn_http::{ApiError, Cost, Work};
use cairn_model::{Height, TxNum, Txid};
use serde::{Deserialize, Serialize};

use crate::{
    answer::{Age, Answer, List, Refusal},
    named::{Named, about},
    params::ScriptName,
    state::Esplora,
};

/// Transactions of a page.
const MAX_TXS: usize = 5_000;
/// Transactions whose ids are looked up together: not more than a view keeps.
const AT_A_TIME: usize = 64;

/// The routes of summaries.
pub(crate) fn routes() -> Router<Esplora> {
    [ScriptName::Address, ScriptName::Hash].into_iter().fold(Router::new(), |routes, name| {
        let path = format!("/{}/{{script}}/txs/summary", name.word());
        routes.route(&format!("{path}/{{last_seen}}"), get(summary)).route(&path, get(summary))
    })
}

/// A confirmed transaction of a script.
#[derive(Debug, Serialize)]
struct SummaryJson {
    txid: String,
    height: Height,
    /// Received minus sent.
    value: i64,
    time: u32,
    tx_position: u64,
}

/// The size of a page.
#[derive(Debug, Deserialize)]
struct Size {
    max_txs: Option<String>,
}

async fn summary(
    State(esplora): State<Esplora>,
    Query(size): Query<Size>,
    named: Named,
    from: Parts,
) -> Result<Answer, Refusal> {
    // Anything but a number, or a txid, stands for what is left out, as in electrs.
    let limit = size.max_txs.and_then(|text| text.parse().ok()).unwrap_or(MAX_TXS).min(MAX_TXS);
    let last_seen: Option<Txid> = named.last.as_ref().and_then(|txid| txid.parse().ok());
    let answer = move |at: &Pinned<'_>, work: &Work, script: &Script| {
        let mut list = List::new(work);
        if let Some(skip) = skip_until(at, script, last_seen.as_ref())? {
            push_entries(at, script, (skip, limit), &mut list)?;
        }
        list.finish(Age::Short)
    };
    about(esplora, Cost::Heavy, named, &from, answer).await
}

/// The number of transactions that a page skips; `None` if the last one that the client has is not of the script.
fn skip_until(at: &Pinned<'_>, script: &Script, last_seen: Option<&Txid>) -> Result<Option<u64>, Refusal> {
    let Some(txid) = last_seen else { return Ok(Some(0)) };
    let skip = at.skip_until(script, txid)?;
    let is_known = skip.is_some() || at.view.transactions().by_txid(txid)?.is_some();
    if !is_known && at.mempool()?.get(txid).is_none() {
        return Err(Refusal::Said(StatusCode::UNPROCESSABLE_ENTITY, "after_txid not found".to_owned()));
    }
    Ok(skip)
}

fn push_entries(
    at: &Pinned<'_>,
    script: &Script,
    (skip, limit): (u64, usize),
    list: &mut List<'_>,
) -> Result<(), Refusal> {
    for some in at.confirmed_history(script, skip, limit)?.chunks(AT_A_TIME) {
        // The history has the newest first.
        let numbers: Vec<TxNum> = some.iter().rev().map(|entry| entry.tx_num).collect();
        let txids = at.view.transactions().txids(&numbers)?;
        for (entry, (txid, height)) in some.iter().zip(txids.into_iter().rev()) {
            let block = at.view.chain().get(height).ok_or_else(ApiError::internal)?;
            list.push(&SummaryJson {
                txid: txid.to_string(),
                height,
                // Amounts of coins fit in 51 bits.
                value: entry.received.cast_signed().saturating_sub(entry.sent.cast_signed()),
                time: block.time,
                tx_position: entry.tx_num.0.saturating_sub(block.first_tx.0),
            })?;
        }
    }
    Ok(())
}
