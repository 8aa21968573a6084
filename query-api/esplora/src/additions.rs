//! Further routes of mempool.space: relatives of unconfirmed transactions, when they were seen, spenders of several
//! transactions, and the check of addresses.

use axum::{
    Router,
    extract::{Path, Query, State},
    http::request::Parts,
    routing::get,
};
use bitcoin::Script;
use cairn_chain::Pinned;
use cairn_domain::FeeRate;
use cairn_http::{Cost, Work};
use cairn_model::Txid;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    answer::{Age, Answer, List, Refusal},
    fees::sat_vb,
    outspends::Outspends,
    params,
    state::Esplora,
};

/// Ancestors, and descendants, that are listed. Nodes allow fewer.
const MAX_RELATIVES: usize = 100;
/// Transactions of one request.
const MAX_TXS: usize = 50;
/// The name of a parameter that is given once for each transaction.
const TXIDS: &str = "txId[]";

/// The routes.
pub(crate) fn routes() -> Router<Esplora> {
    Router::new()
        .route("/v1/cpfp/{txid}", get(cpfp))
        .route("/v1/transaction-times", get(times))
        .route("/v1/outspends", get(outspends_each))
        .route("/txs/outspends", get(outspends_listed))
        .route("/v1/validate-address/{address}", get(validate))
}

/// A relative of an unconfirmed transaction.
#[derive(Debug, Serialize)]
struct Relative {
    txid: String,
    fee: u64,
    weight: u64,
}

/// The relatives of an unconfirmed transaction, and its feerate with them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cpfp {
    ancestors: Vec<Relative>,
    best_descendant: Option<Relative>,
    descendants: Vec<Relative>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_fee_per_vsize: Option<f64>,
    sigops: u32,
    fee: u64,
    adjusted_vsize: u64,
}

async fn cpfp(State(esplora): State<Esplora>, Path(txid): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let txid = params::txid(&txid)?;
    esplora
        .read(Cost::Standard, &from, move |at, _| match relatives(at, &txid)? {
            Some(found) => Answer::json(&found, Age::Recent),
            None => Answer::json(&json!({"ancestors": []}), Age::Short),
        })
        .await
}

/// `None` if the transaction is not in the mempool.
fn relatives(at: &Pinned<'_>, txid: &Txid) -> Result<Option<Cpfp>, Refusal> {
    let mempool = at.mempool()?;
    let Some((tx, found)) = mempool.get(txid).zip(mempool.relatives(txid, MAX_RELATIVES)) else { return Ok(None) };
    let list = |txids: &[Txid]| {
        let known = txids.iter().filter_map(|txid| mempool.get(txid));
        known.map(|tx| Relative { txid: tx.txid.to_string(), fee: tx.fee_sats, weight: tx.weight() }).collect()
    };
    let own = || FeeRate::of(tx.fee_sats, tx.adjusted_vsize());
    let place = at.projection()?.and_then(|projection| projection.position(txid));
    let rate = place.map(|place| place.rate).or_else(own);
    Ok(Some(Cpfp {
        ancestors: list(&found.ancestors.txids),
        best_descendant: None,
        descendants: list(&found.descendants.txids),
        effective_fee_per_vsize: rate.map(sat_vb),
        sigops: tx.sigop_cost,
        fee: tx.fee_sats,
        adjusted_vsize: tx.adjusted_vsize(),
    }))
}

/// The transactions of a query string; `None` for a text that is not a txid.
fn each_txid(query: Vec<(String, String)>) -> Result<Vec<Option<Txid>>, Refusal> {
    let given = query.into_iter().filter(|(name, _)| name == TXIDS);
    bounded(given.map(|(_, txid)| txid.parse().ok()).collect())
}

fn bounded(txids: Vec<Option<Txid>>) -> Result<Vec<Option<Txid>>, Refusal> {
    match txids.len() {
        0 => Err(Refusal::bad("No txids specified")),
        1..=MAX_TXS => Ok(txids),
        _ => Err(Refusal::bad("Too many txids requested")),
    }
}

async fn times(
    State(esplora): State<Esplora>,
    Query(query): Query<Vec<(String, String)>>,
    from: Parts,
) -> Result<Answer, Refusal> {
    let txids = each_txid(query)?;
    esplora
        .read(Cost::Light, &from, move |at, _| {
            let mempool = at.mempool()?;
            // 0 stands for a transaction that is not in the mempool.
            let seen = |txid: &Option<Txid>| mempool.get(txid.as_ref()?).map(|tx| tx.first_seen_ms / 1_000);
            let times: Vec<u64> = txids.iter().map(|txid| seen(txid).unwrap_or(0)).collect();
            Answer::json(&times, Age::Recent)
        })
        .await
}

async fn outspends_each(
    State(esplora): State<Esplora>,
    Query(query): Query<Vec<(String, String)>>,
    from: Parts,
) -> Result<Answer, Refusal> {
    let txids = each_txid(query)?;
    esplora.read(Cost::Standard, &from, move |at, work| outspends(at, work, &txids)).await
}

async fn outspends_listed(
    State(esplora): State<Esplora>,
    Query(query): Query<Vec<(String, String)>>,
    from: Parts,
) -> Result<Answer, Refusal> {
    let listed = query.into_iter().find(|(name, _)| name == "txids").map(|(_, txids)| txids);
    let listed = listed.ok_or_else(|| Refusal::bad("No txids specified"))?;
    let txids = bounded(listed.split(',').map(|txid| txid.parse().ok()).collect())?;
    esplora.read(Cost::Standard, &from, move |at, work| outspends(at, work, &txids)).await
}

/// For each transaction the inputs that spend its outputs; an empty list for one that nobody knows.
fn outspends(at: &Pinned<'_>, work: &Work, txids: &[Option<Txid>]) -> Result<Answer, Refusal> {
    let mut list = List::new(work);
    for txid in txids {
        let found = txid.map(|txid| Outspends::find(at, work, txid)).transpose()?.flatten();
        let spends = found.map(|mut found| found.all()).transpose()?.unwrap_or_default();
        list.push(&spends)?;
    }
    list.finish(Age::Short)
}

async fn validate(State(esplora): State<Esplora>, Path(address): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    esplora
        .read(Cost::Light, &from, move |at, _| {
            let checked = match params::address(&address, at.view.network()) {
                Ok(script) => described(&address, Script::from_bytes(&script)),
                Err(Refusal::Said(_, error)) => json!({"isvalid": false, "error_locations": [], "error": error}),
                Err(other) => return Err(other),
            };
            Answer::json(&checked, Age::Long)
        })
        .await
}

/// An address in the form of Bitcoin Core's `validateaddress`.
fn described(address: &str, script: &Script) -> Value {
    let is_script = script.is_p2sh() || script.is_p2wsh() || script.is_p2tr();
    let mut described = json!({
        "isvalid": true,
        "address": address,
        "scriptPubKey": hex::encode(script.as_bytes()),
        "isscript": is_script,
        "iswitness": script.is_witness_program(),
    });
    if let Some(version) = script.witness_version() {
        described["witness_version"] = version.to_num().into();
        // The version and the length of the program come before it.
        described["witness_program"] = hex::encode(script.as_bytes().get(2..).unwrap_or_default()).into();
    }
    described
}
