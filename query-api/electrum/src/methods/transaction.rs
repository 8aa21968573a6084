//! Transactions: their bytes, their place in a block, and how they are sent.

use cairn_chain::{BroadcastLimits, Pinned, Question, Refused, branch};
use cairn_http::Cost;
use cairn_model::{Height, Txid};
use serde_json::{Map, Value, json};

use crate::{
    answer::{Answer, write},
    client::Client,
    electrum::said,
    failure::{Failure, Refusal},
    params::Params,
};

/// Most transactions of a package.
const MAX_PACKAGE: usize = 25;

/// The answer about a transaction that nobody knows.
fn unknown() -> Failure {
    Failure::new(Failure::NODE, "No such mempool or blockchain transaction")
}

/// The error for a node that does not accept something.
fn refused(what: &str, refused: Refused) -> Failure {
    match refused {
        Refused::Rejected { reason, .. } => Failure::bad(format!("{what}\n\n{reason}")),
        Refused::Unavailable => Failure::new(Failure::NODE, "the node cannot be reached; try again later"),
    }
}

pub(super) async fn get(client: &Client, params: &Params) -> Answer {
    let txid = params.txid(0, "tx_hash")?;
    if params.flag(1, "verbose")? {
        return decoded(client, txid).await;
    }
    let found = client.electrum.read(Cost::Standard, client.asker, move |at, work| {
        let whole = at.whole(&txid)?.ok_or_else(unknown)?;
        let text = hex::encode(whole.bytes);
        work.answered(text.len())?;
        Ok(text)
    });
    // Hexadecimal digits need no escapes.
    Ok(format!("\"{}\"", found.await?))
}

/// The node's decoded form of a transaction.
async fn decoded(client: &Client, txid: Txid) -> Answer {
    let chain = client.electrum.chain.clone();
    if chain.node().is_err() {
        client.electrum.charge(client.asker).await?;
        // Clients decode the bytes themselves if an error begins so.
        let message = "verbose transactions are currently unsupported: the server has no node";
        return Err(Failure::new(Failure::NODE, message));
    }
    let asked = client.electrum.work(Cost::Heavy, client.asker, move |work| {
        let block = chain.read(work, |at| {
            let stored = at.view.transactions().by_txid(&txid)?;
            stored.map(|stored| Ok(at.header(stored.height)?.hash)).transpose()
        })?;
        let answer = chain.node()?.ask(&Question::DecodedTransaction(txid, block));
        let text = answer.map_err(|error| match error {
            Refused::Rejected { reason, .. } => Failure::new(Failure::NODE, reason),
            unavailable @ Refused::Unavailable => refused("", unavailable),
        })?;
        let text = text.to_string();
        work.answered(text.len())?;
        Ok(text)
    });
    asked.await.map_err(said)
}

/// Txids of a block in order.
fn txids(at: &Pinned<'_>, height: Height) -> Result<Vec<Txid>, Refusal> {
    let count = at.header(height)?.tx_count;
    Ok(at.view.transactions().brief(height, 0, count)?.into_iter().map(|tx| tx.txid).collect())
}

fn branch_texts(txids: &[Txid], index: usize) -> Vec<String> {
    let leaves: Vec<[u8; 32]> = txids.iter().map(|txid| txid.0).collect();
    branch(&leaves, index).into_iter().map(|node| Txid(node).to_string()).collect()
}

pub(super) async fn merkle(client: &Client, params: &Params) -> Answer {
    let (txid, height) = (params.txid(0, "tx_hash")?, params.height(1, "height")?);
    let found = client.electrum.read(Cost::Standard, client.asker, move |at, _| {
        let stored = at.view.transactions().by_txid(&txid)?;
        let Some(stored) = stored.filter(|stored| stored.height == height) else {
            return Err(Failure::bad(format!("tx {txid} not in block at height {height}")).into());
        };
        let branch = branch_texts(&txids(at, height)?, stored.index as usize);
        Ok(json!({"block_height": height, "merkle": branch, "pos": stored.index}))
    });
    write(&found.await?)
}

pub(super) async fn id_from_pos(client: &Client, params: &Params) -> Answer {
    let (height, index) = (params.height(0, "height")?, params.number(1, "tx_pos")?);
    let with_proof = params.flag(2, "merkle")?;
    let found = client.electrum.read(Cost::Standard, client.asker, move |at, _| {
        if height > at.view.tip().height {
            return Err(Failure::bad(format!("height {height} is above the tip {}", at.view.tip().height)).into());
        }
        let none = || Failure::bad(format!("no tx at position {index} in block at height {height}"));
        if !with_proof {
            let found = at.view.transactions().brief(height, index, 1)?;
            return Ok(json!(found.first().ok_or_else(none)?.txid.to_string()));
        }
        let txids = txids(at, height)?;
        let txid = txids.get(index as usize).ok_or_else(none)?;
        Ok(json!({"tx_hash": txid.to_string(), "merkle": branch_texts(&txids, index as usize)}))
    });
    write(&found.await?)
}

fn bytes(text: &str) -> Result<Vec<u8>, Failure> {
    hex::decode(text).map_err(|_| Failure::bad("the raw transaction is not hexadecimal"))
}

pub(super) async fn broadcast(client: &Client, params: &Params) -> Answer {
    let raw = bytes(params.text(0, "raw_tx")?)?;
    let chain = client.electrum.chain.clone();
    let sent = client.electrum.work(Cost::Heavy, client.asker, move |_| {
        let sent = chain.node()?.broadcast(&raw, BroadcastLimits::default());
        Ok(sent.map_err(|error| refused("the transaction was rejected by network rules.", error))?)
    });
    let txid = sent.await.map_err(said)?;
    write(&txid.to_string())
}

pub(super) async fn package(client: &Client, params: &Params) -> Answer {
    let given = params.list(0, "raw_txs")?;
    if given.is_empty() || given.len() > MAX_PACKAGE {
        return Err(Failure::bad(format!("raw_txs has {} transactions; 1 to {MAX_PACKAGE} are allowed", given.len())));
    }
    let raw = given
        .iter()
        .map(|raw| bytes(raw.as_str().ok_or_else(|| Failure::params("raw_txs has an entry that is not a string"))?));
    let raw: Vec<Vec<u8>> = raw.collect::<Result<_, _>>()?;
    let is_verbose = params.flag(1, "verbose")?;
    let chain = client.electrum.chain.clone();
    let sent = client.electrum.work(Cost::Heavy, client.asker, move |_| {
        let answer = chain.node()?.ask(&Question::SubmitPackage(raw, BroadcastLimits::default()));
        Ok(answer.map_err(|error| refused("the tx package was rejected by network rules.", error))?)
    });
    let answer = sent.await.map_err(said)?;
    if is_verbose { write(&answer) } else { write(&outcome(&answer)) }
}

/// The outcome of a package in the form of the protocol.
fn outcome(answer: &Value) -> Value {
    let is_success = answer.get("package_msg").and_then(Value::as_str) == Some("success");
    let results = answer.get("tx-results").and_then(Value::as_object);
    let error = |result: &Value| Some(json!({"txid": result.get("txid")?, "error": result.get("error")?}));
    let errors: Vec<Value> = results.into_iter().flat_map(Map::values).filter_map(error).collect();
    if is_success && errors.is_empty() { json!({"success": true}) } else { json!({"success": false, "errors": errors}) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_succeeds_as_a_whole() {
        let accepted = json!({"package_msg": "success", "tx-results": {"aa": {"txid": "bb", "vsize": 100}}});
        assert_eq!(outcome(&accepted), json!({"success": true}));
        let rejected = json!({"package_msg": "transaction failed", "tx-results": {
            "aa": {"txid": "bb", "error": "bad-txns-inputs-missingorspent"},
            "cc": {"txid": "dd", "vsize": 1},
        }});
        let errors = json!([{"txid": "bb", "error": "bad-txns-inputs-missingorspent"}]);
        assert_eq!(outcome(&rejected), json!({"success": false, "errors": errors}));
        assert_eq!(outcome(&json!({})), json!({"success": false, "errors": []}));
    }
}
