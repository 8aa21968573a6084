//! Notifications of blocks, of changes of the mempool, and of reorganizations.

use bitcoin::{ScriptBuf, hashes::Hash};
use cairn_electrum::Options;
use cairn_link::Absent;
use cairn_model::{BlockHash, MempoolDelta, Network, RemoveReason};
use cairn_pipeline::{NoProgress, SyncOptions};
use cairn_sources::BlockFiles;
use cairn_testkit::Oracle;
use serde_json::{Value, json};

use super::{
    Client, Server, script_hash,
    scripts::{confirmed, status, unlimited},
};
use crate::{
    support::{World, everything_world},
    unconfirmed::{Waiting, output},
    unconfirmed_wallets::spoil,
};

/// Blocks that are taken back.
const DEPTH: usize = 9;

fn unwind(world: &World) {
    let to = (world.oracle.blocks().len() - 1 - DEPTH) as u32;
    world.engine.lock().unwrap().unwind(to, &NoProgress).unwrap();
}

fn sync(world: &World) {
    let files = BlockFiles::open(&world.blocks_dir, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    world.engine.lock().unwrap().sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
}

/// The oracle without the last blocks.
fn earlier(world: &World) -> Oracle {
    let blocks = world.oracle.blocks();
    Oracle::of(Network::Regtest, &blocks[..blocks.len() - DEPTH])
}

/// Says that this oracle's tip is the tip of the mempool.
fn tell_tip(pool: &mut Waiting<'_>, oracle: &Oracle) {
    let tip = oracle.blocks().last().unwrap();
    let (height, hash) = ((oracle.blocks().len() - 1) as u32, BlockHash(tip.block_hash().to_byte_array()));
    pool.tell(vec![MempoolDelta::Block { height, hash, time: tip.header.time }]);
}

fn header(oracle: &Oracle) -> Value {
    let tip = oracle.blocks().last().unwrap();
    let hex = hex::encode(bitcoin::consensus::serialize(&tip.header));
    json!({"height": oracle.blocks().len() - 1, "hex": hex})
}

/// The next notification of a script.
async fn script_news(client: &mut Client) -> (String, Value) {
    let news = client.notified().await;
    assert_eq!(news["method"], "blockchain.scripthash.subscribe", "{news}");
    (news["params"][0].as_str().unwrap().to_owned(), news["params"][1].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_the_mempool_are_told() {
    let world = &everything_world();
    let mut pool = Waiting::at_tip(world);
    let server = Server::with(world, unlimited(), Options::default(), None).await;
    let (mut client, mut other) = (server.speak("1.4.2").await, server.speak("1.6").await);
    let target = ScriptBuf::from_bytes(vec![0x51, 0x20, 1, 2, 3]);
    let params = json!([script_hash(&target)]);
    for client in [&mut client, &mut other] {
        assert_eq!(client.ask("blockchain.scripthash.subscribe", params.clone()).await, Value::Null);
    }
    let mut coins = pool.coins(1_000_000);
    let coin = coins.next().unwrap();
    let parent = pool.send(&[coin], &[(ScriptBuf::from_bytes(vec![0x52]), 900_000)], 500);
    let child = pool.send(&[output(&parent, 0)], &[(target.clone(), 800_000)], 100_000);
    let entry = |height| status(&[(child.txid.to_string(), height, None)]);
    for client in [&mut client, &mut other] {
        assert_eq!(script_news(client).await, (script_hash(&target), entry(-1)));
    }
    assert_eq!(other.ask("blockchain.scripthash.unsubscribe", params.clone()).await, json!(true));
    // Its parent is confirmed, so only its height changes.
    pool.leave(&parent, RemoveReason::Confirmed { height: 1 });
    assert_eq!(script_news(&mut client).await.1, entry(0));
    // A replacement that pays the script as much.
    let again = pool.make(&[output(&parent, 0)], &[(target.clone(), 800_000)], 99_000);
    pool.tell(vec![MempoolDelta::Add(again.clone())]);
    assert_eq!(script_news(&mut client).await.1, status(&[(again.txid.to_string(), 0, None)]));
    pool.leave(&again, RemoveReason::Evicted);
    assert_eq!(script_news(&mut client).await.1, Value::Null);
    assert_eq!(other.ask("server.ping", json!([])).await, Value::Null);
    assert!(other.news.is_empty(), "{:?}", other.news);
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_and_reorganizations_are_told() {
    let world = &everything_world();
    let mut pool = Waiting::at_tip(world);
    let server = Server::with(world, unlimited(), Options::default(), None).await;
    let mut client = server.speak("1.4").await;
    let (now, before) = (&world.oracle, &earlier(world));
    assert_eq!(client.ask("blockchain.headers.subscribe", json!([])).await, header(now));
    let mut changing = Vec::new();
    for script in now.scripts().filter(|script| !cairn_model::is_unspendable(script.as_bytes())) {
        let (old, new) = (confirmed(before, script), confirmed(now, script));
        let answer = client.ask("blockchain.scripthash.subscribe", json!([script_hash(script)])).await;
        assert_eq!(answer, status(&new));
        if old != new {
            changing.push((script_hash(script), status(&old), status(&new)));
        }
    }
    assert!(changing.len() > 10, "{} scripts change", changing.len());
    changing.sort_by(|a, b| a.0.cmp(&b.0));
    for goes_back in [true, false, true, false] {
        if goes_back {
            unwind(world)
        } else {
            sync(world)
        }
        let oracle = if goes_back { before } else { now };
        tell_tip(&mut pool, oracle);
        let expected: Vec<_> = changing
            .iter()
            .map(|(script, old, new)| (script.clone(), if goes_back { old } else { new }.clone()))
            .collect();
        let (mut told, mut header_told) = (Vec::new(), None);
        while told.len() < expected.len() || header_told.is_none() {
            let news = client.notified().await;
            match news["method"].as_str().unwrap() {
                "blockchain.headers.subscribe" => header_told = Some(news["params"][0].clone()),
                _ => told.push((news["params"][0].as_str().unwrap().to_owned(), news["params"][1].clone())),
            }
        }
        told.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!((told, header_told), (expected, Some(header(oracle))));
        // Histories are those of the chain, whatever was kept of the other one.
        assert_eq!(client.ask("blockchain.headers.subscribe", json!([])).await, header(oracle));
        for script in now.scripts().filter(|script| now.history(script).len() > 20) {
            let answer = client.ask("blockchain.scripthash.subscribe", json!([script_hash(script)])).await;
            assert_eq!(answer, status(&confirmed(oracle, script)));
        }
        assert!(client.news.is_empty(), "{:?}", client.news);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_told_without_a_mempool_and_statuses_once_it_is_back() {
    let world = &everything_world();
    let mut pool = Waiting::at_tip(world);
    let server = Server::with(world, unlimited(), Options::default(), None).await;
    let mut client = server.speak("1.4").await;
    let (now, before) = (&world.oracle, &earlier(world));
    assert_eq!(client.ask("blockchain.headers.subscribe", json!([])).await, header(now));
    let changes = |script: &&ScriptBuf| {
        !cairn_model::is_unspendable(script.as_bytes()) && confirmed(before, script) != confirmed(now, script)
    };
    let script = now.scripts().find(changes).unwrap();
    let params = json!([script_hash(script)]);
    let answer = client.ask("blockchain.scripthash.subscribe", params.clone()).await;
    assert_eq!(answer, status(&confirmed(now, script)));
    for absent in [Absent::Lost, Absent::Loading] {
        spoil(&mut pool, absent);
        let (code, said) = client.fail("blockchain.scripthash.get_balance", params.clone()).await;
        assert!(code == -102 && said.contains("mempool"), "{code}: {said}");
        unwind(world);
        let news = client.notified().await;
        assert_eq!((&news["method"], &news["params"][0]), (&json!("blockchain.headers.subscribe"), &header(before)));
        assert_eq!(client.ask("blockchain.block.header", json!([1])).await.as_str().unwrap().len(), 160);
        pool = Waiting::at_tip(world);
        tell_tip(&mut pool, before);
        assert_eq!(script_news(&mut client).await, (script_hash(script), status(&confirmed(before, script))));
        sync(world);
        tell_tip(&mut pool, now);
        let mut told = [client.notified().await, client.notified().await];
        told.sort_by_key(|news| news["method"].to_string());
        assert_eq!(told[0]["params"][0], header(now));
        assert_eq!(told[1]["params"], json!([script_hash(script), status(&confirmed(now, script))]));
        assert!(client.news.is_empty(), "{:?}", client.news);
    }
}
