//! Tracked addresses and scripts.

use bitcoin::{Address, ScriptBuf};
use cairn_model::{MempoolDelta, RemoveReason};
use serde_json::{Value, json};

use super::{Tip, get_json, reversible, serve, unconfirmed, unlimited};
use crate::{
    esplora::{esplora, txids},
    support::everything_world,
    unconfirmed::Waiting,
};

fn address(script: &ScriptBuf) -> String {
    Address::from_script(script, bitcoin::Network::Regtest).unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_hear_of_the_mempool() {
    let world = &everything_world();
    let mut pool = Waiting::at_tip(world);
    let server = serve(world, unlimited()).await;
    let router = esplora(world, None);
    let script = |tag: u8| ScriptBuf::from_bytes([&[0, 20][..], &[tag; 20]].concat());
    let [one, other] = [address(&script(0xd1)), address(&script(0xd2))];
    let (mut single, mut multi, mut scripts) = (server.watch().await, server.watch().await, server.watch().await);
    single.say(json!({"track-address": one})).await;
    multi.say(json!({"track-addresses": [one, other, one]})).await;
    let hex = script(0xd2).to_hex_string();
    scripts.say(json!({"track-scriptpubkeys": [hex]})).await;
    for client in [&mut single, &mut multi, &mut scripts] {
        assert!(client.settled().await.is_empty());
    }
    let coins: Vec<_> = pool.coins(100_000).take(2).collect();
    let tx = pool.send(&coins[..1], &[(script(0xd1), 10_000), (script(0xd2), 20_000)], 1_000);
    let whole = get_json(&router, &format!("/tx/{}", tx.txid)).await;
    let lists =
        |mempool: &[&Value], removed: &[&Value]| json!({"mempool": mempool, "confirmed": [], "removed": removed});
    assert_eq!(single.next().await.unwrap(), json!({"address-transactions": [whole]}));
    let came = lists(&[&whole], &[]);
    assert_eq!(multi.next().await.unwrap(), json!({"multi-address-transactions": {&one: came, &other: came}}));
    assert_eq!(scripts.next().await.unwrap(), json!({"multi-scriptpubkey-transactions": {&hex: came}}));
    // A transaction that spends nothing of theirs, and pays them nothing.
    pool.send(&coins[1..], &[(script(0xd9), 10_000)], 1_000);
    pool.leave(&tx, RemoveReason::Evicted);
    assert_eq!(single.next().await.unwrap(), json!({"address-removed-transactions": [whole]}));
    let left = lists(&[], &[&whole]);
    assert_eq!(multi.next().await.unwrap(), json!({"multi-address-transactions": {&one: left, &other: left}}));
    assert_eq!(scripts.next().await.unwrap(), json!({"multi-scriptpubkey-transactions": {&hex: left}}));
    single.say(json!({"track-address": "stop"})).await;
    multi.say(json!({"track-addresses": []})).await;
    for client in [&mut single, &mut multi] {
        client.settled().await;
    }
    pool.tell(vec![MempoolDelta::Add(tx)]);
    assert_eq!(scripts.next().await.unwrap(), json!({"multi-scriptpubkey-transactions": {&hex: came}}));
    assert!(single.settled().await.is_empty() && multi.settled().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_hear_of_blocks_and_reorganizations() {
    let world = &everything_world();
    let (depth, tx) = reversible(world);
    let mut tip = Tip::new(world, depth);
    let earlier = tip.earlier();
    let waiting = unconfirmed(&tx, &earlier);
    // Scripts that the transaction spends from and pays to.
    let spent = &earlier.coins()[&tx.input[0].previous_output].script;
    let paid = &tx.output.iter().find(|out| !out.script_pubkey.is_op_return()).unwrap().script_pubkey;
    let server = serve(world, unlimited()).await;
    let router = esplora(world, None);
    tip.back(vec![MempoolDelta::Add(waiting.clone())]);
    let mut client = server.watch().await;
    let [spent, paid] = [spent, paid].map(|script| script.to_hex_string());
    client.say(json!({"track-scriptpubkeys": [spent, paid]})).await;
    assert!(client.settled().await.is_empty());
    for _ in 0..2 {
        let reason = RemoveReason::Confirmed { height: world.oracle.blocks().len() as u32 - depth as u32 };
        tip.forth(vec![MempoolDelta::Remove { txid: waiting.txid, reason }]);
        let whole = get_json(&router, &format!("/tx/{}", tx.compute_txid())).await;
        let news = client.until("multi-scriptpubkey-transactions").await;
        for script in [&spent, &paid] {
            let lists = &news["multi-scriptpubkey-transactions"][script];
            assert!(lists["confirmed"].as_array().unwrap().contains(&whole), "{lists}");
            assert_eq!((&lists["mempool"], &lists["removed"]), (&json!([]), &json!([])));
            // All of the block, as the history has them.
            let path = crate::esplora::by_hash(&ScriptBuf::from_hex(script).unwrap());
            let history = txids(&get_json(&router, &format!("{path}/txs/chain")).await);
            let sent = txids(&lists["confirmed"]);
            assert!(sent.iter().all(|txid| history.contains(txid)), "{sent:?} {history:?}");
        }
        client.settled().await;
        tip.back(vec![MempoolDelta::Add(waiting.clone())]);
        let whole = get_json(&router, &format!("/tx/{}", tx.compute_txid())).await;
        let news = client.until("multi-scriptpubkey-transactions").await;
        assert_eq!(news["multi-scriptpubkey-transactions"][&paid]["mempool"], json!([whole]));
    }
}
