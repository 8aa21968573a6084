//! Each call of the crate `electrum-client`, singly and in batches, compared with the node.

use std::{
    thread,
    time::{Duration, Instant},
};

use bdk_wallet::bitcoin::{
    Address, Network, ScriptBuf, Transaction, Txid,
    block::Header,
    consensus::encode::{deserialize_hex, serialize, serialize_hex},
    hashes::{Hash, sha256},
};
use electrum_client::{Batch, Client, ElectrumApi, Error, EstimationMode, Param, utils::validate_merkle_proof};
use serde_json::{Value, json};

use crate::{
    Result,
    node::{Node, btc, sats_of},
};

/// Scripts of the node's wallet that are asked for at once.
const SCRIPTS: u64 = 250;
const MAX_WAIT: Duration = Duration::from_secs(30);

fn until<T>(what: &str, mut check: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + MAX_WAIT;
    loop {
        if let Some(found) = check()? {
            return Ok(found);
        }
        if Instant::now() > deadline {
            return Err(format!("not within {} s: {what}", MAX_WAIT.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn script_of(address: &str) -> Result<ScriptBuf> {
    Ok(address.parse::<Address<_>>()?.require_network(Network::Regtest)?.script_pubkey())
}

/// Makes all calls; returns the number of requests that the client counted.
pub fn all(client: &Client, node: &Node) -> Result<usize> {
    server(client, node)?;
    headers(client, node)?;
    fees(client, node)?;
    let histories = scripts(client, node)?;
    transactions(client, node, &histories)?;
    packages(client, node)?;
    notifications(client, node)?;
    errors(client)?;
    Ok(client.calls_made()?)
}

fn server(client: &Client, node: &Node) -> Result<()> {
    client.ping()?;
    assert_eq!(client.protocol_version()?, "1.6");
    let features = client.server_features()?;
    let mut genesis = features.genesis_hash;
    let expected = node.text("getblockhash", json!([0]))?;
    if serialize_hex(&genesis) != expected {
        genesis.reverse();
    }
    assert_eq!(serialize_hex(&genesis), expected);
    assert_eq!((features.protocol_min.as_str(), features.hash_function.as_deref()), ("1.4", Some("sha256")));
    assert_eq!(features.pruning, None);
    Ok(())
}

fn headers(client: &Client, node: &Node) -> Result<()> {
    let height = node.height()?;
    let tip = until("the tip", || {
        let tip = client.block_headers_subscribe()?;
        Ok((tip.height as u64 == height).then_some(tip))
    })?;
    assert_eq!(tip.header.block_hash().to_string(), node.text("getbestblockhash", json!([]))?);
    let many = client.block_headers(0, 5000)?;
    assert_eq!((many.max, many.count as u64, many.headers.len() as u64), (2016, height + 1, height + 1));
    let all: Vec<u32> = (0..=u32::try_from(height)?).collect();
    let batch = client.batch_block_header(&all)?;
    assert_eq!(batch, many.headers);
    for at in [0, 1, height / 2, height] {
        let hash = node.text("getblockhash", json!([at]))?;
        let header: Header = deserialize_hex(&node.text("getblockheader", json!([hash, false]))?)?;
        assert_eq!(header, batch[usize::try_from(at)?]);
        assert_eq!(client.block_header(usize::try_from(at)?)?, header);
    }
    Ok(())
}

fn fees(client: &Client, node: &Node) -> Result<()> {
    let targets = [1, 2, 6, 144];
    let rates = client.batch_estimate_fee(targets)?;
    for (target, rate) in targets.into_iter().zip(rates) {
        // A node that does not know answers an error, and a server -1.
        let expected = node.call("estimatesmartfee", json!([target]))?["feerate"].as_f64().unwrap_or(-1.0);
        assert_eq!(rate, expected, "{target} blocks");
        assert_eq!(client.estimate_fee(target, Some(EstimationMode::Conservative))?, rate, "{target} blocks");
    }
    let (info, expected) = (client.mempool_get_info()?, node.call("getmempoolinfo", json!([]))?);
    for (name, rate) in [
        ("mempoolminfee", info.mempoolminfee),
        ("minrelaytxfee", info.minrelaytxfee),
        ("incrementalrelayfee", info.incrementalrelayfee),
    ] {
        assert_eq!(Some(rate), expected[name].as_f64(), "{name}");
    }
    // Version 1.6 has no such method.
    assert!(matches!(client.relay_fee(), Err(Error::Protocol(error)) if error["code"] == -32601));
    Ok(())
}

/// Pays to scripts and asks for all of them; returns transactions and heights of their histories.
fn scripts(client: &Client, node: &Node) -> Result<Vec<(Txid, i32)>> {
    let addresses = (0..SCRIPTS).map(|_| node.address()).collect::<Result<Vec<_>>>()?;
    let outputs: Vec<_> = addresses.iter().zip(1..).map(|(address, at)| json!({ address: btc(10_000 + at) })).collect();
    for outputs in outputs.chunks(25) {
        node.call("send", json!([outputs]))?;
    }
    node.mine(1)?;
    // Every tenth script gets a second payment, which is not confirmed.
    let second: Vec<_> = addresses.iter().step_by(10).map(|address| json!({ address: btc(7_000) })).collect();
    // One coin is enough, and it is not one of these scripts.
    let coins = node.call("listunspent", json!([100]))?;
    let coin = coins.as_array().and_then(|coins| coins.iter().find(|coin| sats_of(coin).unwrap_or(0) > 100_000_000));
    let coin = coin.ok_or("no coin")?;
    let options = json!({ "inputs": [{ "txid": coin["txid"], "vout": coin["vout"] }] });
    let waiting = node.call("send", json!([second, null, "unset", null, options]))?;
    let waiting: Txid = waiting["txid"].as_str().ok_or("no txid")?.parse()?;
    let scripts = addresses.iter().map(|address| script_of(address)).collect::<Result<Vec<_>>>()?;
    let scripts: Vec<_> = scripts.iter().map(|script| script.as_script()).collect();

    until("the payments", || {
        let history = client.script_get_history(scripts[0])?;
        Ok((history.len() == 2 && history[0].height > 0).then_some(()))
    })?;
    let histories = client.batch_script_get_history(&scripts)?;
    let balances = client.batch_script_get_balance(&scripts)?;
    let coins = client.batch_script_list_unspent(&scripts)?;
    let statuses = client.batch_script_subscribe(&scripts)?;
    let mut known = Vec::new();
    for (at, script) in scripts.iter().enumerate() {
        let (history, value) = (&histories[at], 10_001 + at as u64);
        let found = node.call("scantxoutset", json!(["start", [format!("addr({})", addresses[at])]]))?;
        let found = &found["unspents"][0];
        let height = i32::try_from(found["height"].as_u64().ok_or("no height")?)?;
        let mut entries = vec![(found["txid"].as_str().ok_or("no txid")?.parse()?, height)];
        let unconfirmed = if at % 10 == 0 { 7_000 } else { 0 };
        if unconfirmed > 0 {
            assert!(history.last().is_some_and(|last| last.fee.is_some()), "{history:?}");
            entries.push((waiting, 0));
        }
        assert_eq!(history.iter().map(|entry| (entry.tx_hash, entry.height)).collect::<Vec<_>>(), entries);
        assert_eq!((balances[at].confirmed, balances[at].unconfirmed), (value, unconfirmed));
        let listed: Vec<_> = coins[at].iter().map(|coin| (coin.tx_hash, coin.value)).collect();
        let mut expected = vec![(entries[0].0, value)];
        if unconfirmed > 0 {
            expected.push((waiting, 7_000));
        }
        assert_eq!(listed, expected);
        let text: String = entries.iter().map(|(txid, height)| format!("{txid}:{height}:")).collect();
        let status = statuses[at].ok_or("no status")?;
        assert_eq!(status[..], sha256::Hash::hash(text.as_bytes()).to_byte_array(), "{script}");
        known.extend(entries);
    }
    // The same, singly.
    for at in [0, 1, scripts.len() - 1] {
        assert_eq!(client.script_get_balance(scripts[at])?.confirmed, balances[at].confirmed);
        assert_eq!(client.script_list_unspent(scripts[at])?.len(), coins[at].len());
        assert!(client.script_unsubscribe(scripts[at])?);
        assert_eq!(client.script_subscribe(scripts[at])?, statuses[at]);
    }
    Ok(known)
}

fn transactions(client: &Client, node: &Node, histories: &[(Txid, i32)]) -> Result<()> {
    let txids: Vec<Txid> = histories.iter().map(|(txid, _)| *txid).collect();
    let raw = client.batch_transaction_get_raw(&txids)?;
    let transactions = client.batch_transaction_get(&txids)?;
    let mined: Vec<(Txid, usize)> = histories
        .iter()
        .filter(|(_, height)| *height > 0)
        .map(|(txid, height)| Ok((*txid, usize::try_from(*height)?)))
        .collect::<Result<_>>()?;
    for ((txid, raw), transaction) in txids.iter().zip(&raw).zip(&transactions) {
        assert_eq!(transaction.compute_txid(), *txid);
        assert_eq!(*raw, serialize(transaction));
    }
    let proofs = client.batch_transaction_get_merkle(&mined)?;
    for ((txid, height), proof) in mined.iter().zip(&proofs) {
        let root = client.block_header(*height)?.merkle_root;
        assert!(validate_merkle_proof(txid, &root, proof) && proof.block_height == *height, "{txid}");
        assert_eq!(client.txid_from_pos(*height, proof.pos)?, *txid);
    }
    let (txid, height) = mined[0];
    let (single, named) =
        (client.transaction_get_merkle(&txid, height)?, client.txid_from_pos_with_merkle(height, proofs[0].pos)?);
    assert_eq!((single.merkle, named.tx_hash), (named.merkle, txid));
    // The whole of it comes from the node.
    let verbose =
        client.raw_call("blockchain.transaction.get", vec![Param::String(txid.to_string()), Param::Bool(true)])?;
    let hash = node.text("getblockhash", json!([height]))?;
    assert_eq!((&verbose["txid"], &verbose["blockhash"]), (&json!(txid), &json!(hash)));
    let waiting = histories.iter().find(|(_, height)| *height <= 0).ok_or("nothing waits")?.0;
    assert_eq!(serialize(&node.transaction(&waiting)?), client.transaction_get_raw(&waiting)?);

    // Different methods in one batch.
    let mut batch = Batch::default();
    batch.block_header(0);
    batch.transaction_get(&txid);
    batch.raw("server.ping".to_owned(), vec![]);
    batch.estimate_fee(2, None);
    let answers = client.batch_call(&batch)?;
    assert_eq!((answers.len(), &answers[2]), (4, &Value::Null));
    assert_eq!(answers[1], json!(serialize_hex(&transactions[0])));
    Ok(())
}

/// A parent without a fee is taken only with its child.
fn packages(client: &Client, node: &Node) -> Result<()> {
    let coins = node.call("listunspent", json!([100]))?;
    let coin = coins.as_array().ok_or("no coins")?.last().ok_or("no coins")?;
    let sats = sats_of(coin)?;
    let build = |inputs: Value, value: u64, spent: Value| -> Result<Transaction> {
        // Version 3: its fee may be zero.
        let outputs = json!([{ node.address()?: btc(value) }]);
        let raw = node.text("createrawtransaction", json!([inputs, outputs, 0, true, 3]))?;
        let signed = node.call("signrawtransactionwithwallet", json!([raw, spent]))?;
        Ok(deserialize_hex(signed["hex"].as_str().ok_or("not signed")?)?)
    };
    let parent = build(json!([{ "txid": coin["txid"], "vout": coin["vout"] }]), sats, json!([]))?;
    let output = &parent.output[0];
    let spent = json!([{ "txid": parent.compute_txid(), "vout": 0, "amount": btc(sats),
        "scriptPubKey": output.script_pubkey.to_hex_string() }]);
    let child = build(json!([{ "txid": parent.compute_txid(), "vout": 0 }]), sats - 5_000, spent)?;
    assert!(matches!(client.transaction_broadcast(&parent), Err(Error::Protocol(error)) if error["code"] == 1));
    // The child alone has no parent.
    let alone = client.transaction_broadcast_package(std::slice::from_ref(&child))?;
    assert!(!alone.success && alone.errors[0].txid == child.compute_txid(), "{alone:?}");
    let both = client.transaction_broadcast_package(&[parent.clone(), child.clone()])?;
    assert!(both.success && both.errors.is_empty(), "{both:?}");
    let mempool = node.mempool()?;
    assert!([&parent, &child].iter().all(|sent| mempool.contains(&sent.compute_txid())));
    Ok(())
}

fn notifications(client: &Client, node: &Node) -> Result<()> {
    let address = node.address()?;
    let script = script_of(&address)?;
    assert_eq!(client.script_subscribe(&script)?, None);
    assert!(matches!(client.script_subscribe(&script), Err(Error::AlreadySubscribed(_))));
    let popped = |what: &str| {
        until(what, || {
            // The client reads what came while it reads an answer.
            client.ping()?;
            Ok(client.script_pop(&script)?)
        })
    };
    let expected =
        |height: i32, txid: &Txid| sha256::Hash::hash(format!("{txid}:{height}:").as_bytes()).to_byte_array();
    node.mine(1)?;
    let txid = node.pay(&address, 12_345)?;
    assert_eq!(popped("an unconfirmed payment")?[..], expected(0, &txid));
    while client.block_headers_pop()?.is_some() {}
    node.mine(1)?;
    let height = node.height()?;
    assert_eq!(popped("its confirmation")?[..], expected(i32::try_from(height)?, &txid));
    let tip = until("a header", || {
        client.ping()?;
        Ok(client.block_headers_pop()?)
    })?;
    assert_eq!(tip.height as u64, height);
    assert!(client.script_unsubscribe(&script)?);
    Ok(())
}

fn errors(client: &Client) -> Result<()> {
    let unknown = Txid::from_byte_array([17; 32]);
    assert!(matches!(client.transaction_get(&unknown), Err(Error::Protocol(error)) if error["code"] == 2));
    assert!(matches!(client.transaction_broadcast_raw(&[1, 2, 3]), Err(Error::Protocol(error)) if error["code"] == 1));
    assert!(matches!(client.block_header(10_000_000), Err(Error::Protocol(error)) if error["code"] == 1));
    assert!(matches!(client.raw_call("no.method", vec![]), Err(Error::Protocol(error)) if error["code"] == -32601));
    // The connection is still good.
    Ok(client.ping()?)
}
