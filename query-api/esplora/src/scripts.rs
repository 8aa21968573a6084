//! Scripts, by address or by hash: their sums and their history.

use axum::{
    Router,
    extract::{Query, State},
    http::{StatusCode, request::Parts},
    routing::get,
};
use cairn_chain::{Pinned, Script, Whole};
use cairn_domain::mempool::{ScriptEffect, ScriptTotals};
use cairn_http::{Cost, Work};
use cairn_model::{TxNum, Txid};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    answer::{Age, Answer, Refusal},
    blocks::PAGE,
    named::{Named, about},
    params::ScriptName,
    state::Esplora,
    tx_json, utxos,
};

/// Unconfirmed transactions of a list.
const UNCONFIRMED: usize = 50;

/// The routes of scripts.
pub(crate) fn routes() -> Router<Esplora> {
    let mut routes = Router::new().route("/address-prefix/{prefix}", get(by_prefix));
    for name in [ScriptName::Address, ScriptName::Hash] {
        let path = |rest: &str| format!("/{}/{{script}}{rest}", name.word());
        routes = routes
            .route(&path(""), get(stats))
            .route(&path("/txs"), get(txs))
            .route(&path("/txs/mempool"), get(unconfirmed_txs))
            .route(&path("/txs/chain"), get(confirmed_txs))
            .route(&path("/txs/chain/"), get(confirmed_txs))
            .route(&path("/txs/chain/{last_seen}"), get(confirmed_txs))
            .route(&path("/utxo"), get(utxo));
    }
    routes
}

/// No index of addresses by their first characters exists.
async fn by_prefix() -> Refusal {
    Refusal::Said(StatusCode::NOT_IMPLEMENTED, "address search is not supported".to_owned())
}

/// Sums over transactions of a script.
#[derive(Debug, Default, Serialize)]
struct Stats {
    funded_txo_count: u64,
    funded_txo_sum: u64,
    spent_txo_count: u64,
    spent_txo_sum: u64,
    tx_count: u64,
}

impl Stats {
    fn confirmed(script: &Script) -> Self {
        script.totals().map_or_else(Stats::default, |totals| Stats {
            funded_txo_count: totals.funded_count,
            funded_txo_sum: totals.funded,
            spent_txo_count: totals.spent_count,
            spent_txo_sum: totals.spent,
            tx_count: totals.tx_count,
        })
    }

    fn unconfirmed(totals: &ScriptTotals) -> Self {
        Stats {
            funded_txo_count: totals.received_count,
            // A node accepts no sums beyond 64 bits.
            funded_txo_sum: u64::try_from(totals.received_sats).unwrap_or(u64::MAX),
            spent_txo_count: totals.sent_count,
            spent_txo_sum: u64::try_from(totals.sent_sats).unwrap_or(u64::MAX),
            tx_count: totals.tx_count,
        }
    }
}

async fn stats(State(esplora): State<Esplora>, named: Named, from: Parts) -> Result<Answer, Refusal> {
    let Named { name, text, .. } = named.clone();
    let answer = move |at: &Pinned<'_>, _: &Work, script: &Script| {
        let confirmed = Stats::confirmed(script);
        let unconfirmed = Stats::unconfirmed(&at.unconfirmed_totals(script)?);
        let stats = json!({name.word(): text, "chain_stats": confirmed, "mempool_stats": unconfirmed});
        Answer::json(&stats, Age::Short)
    };
    about(esplora, Cost::Light, named, &from, answer).await
}

/// The last transaction that a client has: a parameter of mempool.space.
#[derive(Debug, Default, Deserialize)]
struct After {
    after_txid: Option<String>,
}

async fn txs(
    State(esplora): State<Esplora>,
    Query(after): Query<After>,
    named: Named,
    from: Parts,
) -> Result<Answer, Refusal> {
    // Anything but a txid stands for the first page, as in electrs.
    let after: Option<Txid> = after.after_txid.and_then(|txid| txid.parse().ok());
    let answer = move |at: &Pinned<'_>, work: &Work, script: &Script| {
        let pending = after.map_or(Ok(Some(None)), |txid| unconfirmed_place(at, &txid))?;
        let (unconfirmed, last_seen) = match pending {
            Some(place) => (at.mempool()?.script_txs(&script.hash, place, UNCONFIRMED), None),
            None => (Vec::new(), after),
        };
        // Bytes that the node has to bring are noted for both before this fails.
        let confirmed = confirmed_page(at, work, script, last_seen.as_ref());
        let mut all = whole_unconfirmed(at, &unconfirmed)?;
        all.extend(confirmed?);
        tx_json::page(at, work, &all, Age::Short)
    };
    about(esplora, Cost::Standard, named, &from, answer).await
}

/// The place of a transaction among unconfirmed ones; `None` if it is confirmed.
fn unconfirmed_place(at: &Pinned<'_>, txid: &Txid) -> Result<Option<Option<(u64, Txid)>>, Refusal> {
    if let Some(tx) = at.mempool()?.get(txid) {
        return Ok(Some(Some((tx.first_seen_ms, tx.txid))));
    }
    let is_confirmed = at.view.transactions().by_txid(txid)?.is_some();
    let unknown = || Refusal::Said(StatusCode::UNPROCESSABLE_ENTITY, "after_txid not found".to_owned());
    if is_confirmed { Ok(None) } else { Err(unknown()) }
}

async fn unconfirmed_txs(State(esplora): State<Esplora>, named: Named, from: Parts) -> Result<Answer, Refusal> {
    let answer = |at: &Pinned<'_>, work: &Work, script: &Script| {
        let txs = whole_unconfirmed(at, &at.unconfirmed_history(script, UNCONFIRMED)?)?;
        tx_json::page(at, work, &txs, Age::Short)
    };
    about(esplora, Cost::Standard, named, &from, answer).await
}

async fn confirmed_txs(State(esplora): State<Esplora>, named: Named, from: Parts) -> Result<Answer, Refusal> {
    // Anything but a txid stands for the first page, as in electrs.
    let last_seen: Option<Txid> = named.last.as_ref().and_then(|txid| txid.parse().ok());
    let answer = move |at: &Pinned<'_>, work: &Work, script: &Script| {
        let txs = confirmed_page(at, work, script, last_seen.as_ref())?;
        tx_json::page(at, work, &txs, Age::Short)
    };
    about(esplora, Cost::Standard, named, &from, answer).await
}

async fn utxo(State(esplora): State<Esplora>, named: Named, from: Parts) -> Result<Answer, Refusal> {
    about(esplora, Cost::Standard, named, &from, utxos::list).await
}

/// Confirmed transactions of a script after one of them, newest first; none if that one is not of the script.
fn confirmed_page(
    at: &Pinned<'_>,
    work: &Work,
    script: &Script,
    last_seen: Option<&Txid>,
) -> Result<Vec<Whole>, Refusal> {
    let skip = match last_seen {
        None => 0,
        Some(txid) => match at.skip_until(script, txid)? {
            Some(skip) => skip,
            None => return Ok(Vec::new()),
        },
    };
    let entries = at.confirmed_history(script, skip, PAGE as usize)?;
    let numbers: Vec<TxNum> = entries.iter().map(|entry| entry.tx_num).collect();
    Ok(tx_json::confirmed(at, work, &numbers)?)
}

/// The transactions of these effects.
fn whole_unconfirmed(at: &Pinned<'_>, effects: &[ScriptEffect]) -> Result<Vec<Whole>, Refusal> {
    let mempool = at.mempool()?;
    let txs = effects.iter().filter_map(|effect| mempool.get(&effect.txid));
    Ok(at.whole_unconfirmed(txs.map(|tx| &**tx))?)
}
