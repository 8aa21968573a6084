//! A tracked transaction, from the mempool into a block and back.

use bitcoin::{OutPoint, ScriptBuf};
use cairn_model::{MempoolDelta, RemoveReason};
use serde_json::json;

use super::{Tip, get_json, reversible, serve, unconfirmed, unlimited};
use crate::{
    esplora::esplora,
    support::everything_world,
    unconfirmed::{Waiting, output},
};

fn script(tag: u8) -> ScriptBuf {
    ScriptBuf::from_bytes([&[0, 20][..], &[tag; 20]].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_is_seen_confirmed_reorganized_and_evicted() {
    let world = &everything_world();
    let (depth, tx) = reversible(world);
    let mut tip = Tip::new(world, depth);
    let waiting = unconfirmed(&tx, &tip.earlier());
    let txid = waiting.txid.to_string();
    let server = serve(world, unlimited()).await;
    let router = esplora(world, None);
    let mut client = server.watch().await;
    client.ask(json!({"action": "want", "data": ["blocks"]}), "blocks").await;
    // It is confirmed, then gone with its block.
    let first = client.ask(json!({"track-tx": txid}), "txConfirmed").await;
    assert_eq!(first, json!({"txConfirmed": txid}));
    tip.back(vec![]);
    client.until("blocks").await;
    let gone = client.until("txPosition").await;
    assert_eq!(gone["txPosition"], json!({"txid": txid, "position": null}));
    for _ in 0..2 {
        tip.pool.tell(vec![MempoolDelta::Add(waiting.clone())]);
        let seen = client.until("tx").await;
        assert_eq!(seen["tx"], get_json(&router, &format!("/tx/{txid}")).await);
        let mut position = seen;
        // It has a position once the mempool is projected.
        crate::mempool_ops::settle(&tip.pool).await;
        while position["txPosition"]["position"].is_null() {
            position = client.until("txPosition").await;
        }
        let position = &position["txPosition"];
        assert!(position["txid"] == json!(txid) && position["position"]["block"] == json!(0), "{position}");
        let reason = RemoveReason::Confirmed { height: world.oracle.blocks().len() as u32 - depth as u32 };
        tip.forth(vec![MempoolDelta::Remove { txid: waiting.txid, reason }]);
        let confirmed = client.until("txConfirmed").await;
        assert_eq!(confirmed["txConfirmed"], json!(txid));
        tip.back(vec![]);
        // The block that had it has gone, and its transaction is not in the mempool.
        let gone = client.until("txPosition").await;
        assert_eq!(gone["txPosition"], json!({"txid": txid, "position": null}));
    }
    tip.pool.tell(vec![MempoolDelta::Add(waiting.clone())]);
    client.until("tx").await;
    tip.pool.leave(&waiting, RemoveReason::Evicted);
    // A position that was sent before may come first.
    let mut gone = client.until("txPosition").await;
    while !gone["txPosition"]["position"].is_null() {
        gone = client.until("txPosition").await;
    }
    client.say(json!({"track-tx": "stop"})).await;
    client.settled().await;
    tip.pool.tell(vec![MempoolDelta::Add(waiting)]);
    tokio::time::sleep(std::time::Duration::from_millis(800)).await;
    assert!(client.settled().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn spends_and_replacements_are_sent() {
    let world = &everything_world();
    let mut pool = Waiting::at_tip(world);
    let server = serve(world, unlimited()).await;
    let coins: Vec<OutPoint> = pool.coins(1_000_000).take(2).collect();
    let parent = pool.send(&coins[..1], &[(script(0xd1), 400_000), (script(0xd2), 500_000)], 1_000);
    let mut client = server.watch().await;
    let id = parent.txid.to_string();
    client.say(json!({"track-tx": id})).await;
    client.until("txPosition").await;
    let child = pool.send(&[output(&parent, 1)], &[(script(0xd3), 400_000)], 1_000);
    let spent = client.until("utxoSpent").await;
    assert_eq!(spent["utxoSpent"], json!({"1": {"vin": 0, "txid": child.txid.to_string()}}));
    let by = pool.make(&coins[..1], &[(script(0xd4), 100_000)], 500_000);
    let replaced = RemoveReason::Replaced { by: by.txid };
    pool.tell(vec![
        MempoolDelta::Remove { txid: child.txid, reason: replaced },
        MempoolDelta::Remove { txid: parent.txid, reason: replaced },
        MempoolDelta::Add(by.clone()),
    ]);
    let news = client.until("rbfTransaction").await;
    assert_eq!(news["rbfTransaction"], json!({"txid": by.txid.to_string()}));
    let mut late = server.watch().await;
    let news = late.ask(json!({"track-tx": id, "watch-mempool": true}), "txReplaced").await;
    assert_eq!(news["txReplaced"], json!({"txid": by.txid.to_string()}));
}
