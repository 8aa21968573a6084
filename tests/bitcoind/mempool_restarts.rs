//! Knowledge of unconfirmed transactions after the node, or Cairn, has been away.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use cairn_support::wait_until;
use serde_json::{Value, json};

use crate::{
    coins::{Coin, Draft, anyone, coins_of},
    node::{Node, Settings, bitcoind_or_skip},
    pool::{NodeMempool, agrees, first_seen},
    served::Served,
    wallet::{KINDS, address_of},
};

/// A node that speaks again is believed within this time.
const RECOVERY: Duration = Duration::from_secs(20);

/// Transactions of the wallet, and some that no wallet sends again.
fn send_some(node: &Node, coin: Coin) -> BTreeSet<String> {
    let mut sent: BTreeSet<String> = KINDS.iter().map(|kind| node.pay(&node.new_address(kind), 300_000)).collect();
    let parent = Draft { change: 2, ..Draft::of(coin, 1_500) }.make();
    sent.insert(node.send(&parent));
    for coin in coins_of(&parent) {
        sent.insert(node.send(&Draft::of(coin, 3_000).make()));
    }
    sent
}

/// A component of the health report.
fn component(served: &Served, name: &str) -> Value {
    let health = served.get("/api/health/full");
    health["components"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
}

/// The node goes and comes back, with the mempool of its last run and without it.
fn of_the_node(node: &mut Node, served: &mut Served) {
    served.settle(node);
    let coins = node.coins_for_anyone(3, 5_000_000);
    let sent = send_some(node, coins[0]);
    assert_eq!(agrees(node, served).txids(), sent);
    let seen = first_seen(served, &sent);
    node.stop();
    wait_until("the node is missed", || component(served, "node")["status"] == "down");
    let row = component(served, "node");
    assert_eq!(row["details"]["reachable"], false, "{row}");
    assert!(row["reason"].as_str().unwrap().starts_with("the node does not answer"), "{row}");
    assert_eq!(served.get("/api/health/full")["status"], "down");
    // Known transactions are still served.
    assert_eq!(served.get("/v1/mempool/stats")["count"], sent.len());
    assert_eq!(first_seen(served, &sent), seen);
    node.begin();
    wait_until("the node is back", || component(served, "node")["status"] == "ok");
    wait_until("the node has loaded its mempool", || NodeMempool::of(node).txids() == sent);
    assert_eq!(agrees(node, served).txids(), sent);
    assert_eq!(first_seen(served, &sent), seen, "with the mempool kept");

    // Killed, it forgets what came since; its wallet sends its own again.
    node.kill();
    node.begin();
    wait_until("the node's wallet is loaded", || node.rpc("listwallets", json!([])) == json!(["cairn"]));
    let held = agrees(node, served).txids();
    assert!(held.is_subset(&sent), "{held:?}");
    assert_eq!(first_seen(served, &held), without_others(&seen, &held));

    // Without its mempool.
    node.restart(Some(Settings::with(&["-persistmempool=0"])));
    let held = agrees(node, served).txids();
    assert!(held.len() < sent.len(), "nobody sends the others again: {held:?}");
    assert_eq!(first_seen(served, &held), without_others(&seen, &held));
    for txid in sent.difference(&held) {
        let status = served.get(&format!("/v1/tx/{txid}/status"));
        assert_eq!(
            (&status["state"], &status["departed"]["reason"]),
            (&json!("unknown"), &json!("unknown")),
            "{status}"
        );
        assert_eq!(status["mempool_first_seen"], *seen[txid]);
    }
    let again = send_again(node, coins[0], coins[1]);
    agrees(node, served);
    assert_eq!(first_seen(served, &again), without_others(&seen, &again), "seen before, and sent again");
    node.mine(1);
    agrees(node, served);
    served.end_and_verify(node);
}

/// The same transaction again, byte by byte, and one more.
fn send_again(node: &Node, coin: Coin, other: Coin) -> BTreeSet<String> {
    let parent = node.send(&Draft { change: 2, ..Draft::of(coin, 1_500) }.make());
    node.send(&Draft::of(other, 1_000).make());
    BTreeSet::from([parent])
}

fn without_others(seen: &BTreeMap<String, String>, txids: &BTreeSet<String>) -> BTreeMap<String, String> {
    seen.iter().filter(|(txid, _)| txids.contains(*txid)).map(|(txid, time)| (txid.clone(), time.clone())).collect()
}

#[test]
fn of_the_node_under_one_process() {
    let program = bitcoind_or_skip!();
    let mut node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    of_the_node(&mut node, &mut served);
}

#[test]
fn of_the_node_under_two_processes() {
    let program = bitcoind_or_skip!();
    let mut node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    of_the_node(&mut node, &mut served);
}

/// A node that is silent for long: what its mempool holds meanwhile is not known, and nothing is made up. When it
/// speaks again, everything is as it was.
fn of_a_silent_node(node: &mut Node, served: &mut Served) {
    served.settle(node);
    let coin = node.coins_for_anyone(1, 5_000_000)[0];
    let sent = send_some(node, coin);
    agrees(node, served);
    let seen = first_seen(served, &sent);
    node.stop();
    wait_until("the mempool is too old", || component(served, "mempool")["status"] == "down");
    assert_eq!(component(served, "node")["status"], "down");
    let (status, body) = served.try_get("/v1/mempool/stats");
    assert_eq!((status, &body["error"]), (503, &json!("mempool_unavailable")), "{body}");
    let txid = sent.iter().next().unwrap();
    let unknown = served.get(&format!("/v1/tx/{txid}/status"));
    assert_eq!(unknown["state"], "unknown");
    assert!(unknown["reason"].as_str().unwrap().contains("lost its node"), "{unknown}");
    let overview = served.get(&format!("/v1/wallets/{}/overview", address_of(&anyone())));
    assert_eq!(overview["balance"]["unconfirmed_sats"], Value::Null);
    assert!(overview["balance"]["unconfirmed_reason"].is_string(), "{overview}");
    assert_eq!(overview["balance"]["total_sats"], Value::Null);
    node.begin();
    let spoke = Instant::now();
    wait_until("the node is heard again", || {
        let row = component(served, "mempool");
        assert!(spoke.elapsed() < RECOVERY, "{row} {}\n{}", component(served, "node"), served.said());
        row["status"] == "ok"
    });
    assert_eq!(agrees(node, served).txids(), sent);
    assert_eq!(first_seen(served, &sent), seen);
    served.end_and_verify(node);
}

#[test]
fn of_a_node_that_was_away_for_long() {
    let program = bitcoind_or_skip!();
    let mut node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    of_a_silent_node(&mut node, &mut served);
}

#[test]
fn of_a_node_that_was_away_for_long_from_one_process() {
    let program = bitcoind_or_skip!();
    let mut node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    of_a_silent_node(&mut node, &mut served);
}

/// Ends the process that watches the mempool.
fn end(served: &mut Served, one: bool, signal: &str) {
    if one { served.end_serving(signal) } else { served.end_writing(signal) }
}

fn start(served: &mut Served, one: bool) {
    if one { served.start_serving() } else { served.start_writing() }
}

/// Cairn goes and comes back, politely and not, while the mempool changes.
fn of_cairn(node: &Node, served: &mut Served, one: bool) {
    served.settle(node);
    let coins = node.coins_for_anyone(12, 5_000_000);
    let mut coins = coins.into_iter();
    let mut next = || coins.next().unwrap();
    for signal in ["TERM", "KILL"] {
        let sent = send_some(node, next());
        let mined = node.send(&Draft::of(next(), 8_000).make());
        agrees(node, served);
        let mut seen = first_seen(served, &sent);
        if signal == "KILL" {
            // Each block makes durable what is known until then; one that holds little of it.
            node.rpc("generateblock", json!([node.new_address("bech32"), [mined]]));
            agrees(node, served);
        }
        end(served, one, signal);
        if !one {
            let (status, body) = served.try_get("/v1/mempool/stats");
            assert!(status == 503 || body["count"].is_u64(), "{status} {body}");
        }
        // Meanwhile one comes and one goes.
        let came = node.send(&Draft::of(next(), 2_000).make());
        let gone = sent.iter().next().unwrap().clone();
        node.rpc("generateblock", json!([node.new_address("bech32"), [first_of_its_chain(node, &gone)]]));
        start(served, one);
        let now = agrees(node, served).txids();
        seen.retain(|txid, _| now.contains(txid));
        assert!(seen.len() + 2 >= sent.len() && now.contains(&came), "{now:?}");
        assert_eq!(first_seen(served, &seen.keys().cloned().collect()), seen, "after {signal}: {}", served.said());
        node.mine(1);
        agrees(node, served);
    }
    if !one {
        // The process that serves gets it all from the other.
        let sent = send_some(node, next());
        agrees(node, served);
        let seen = first_seen(served, &sent);
        for signal in ["TERM", "KILL"] {
            served.end_serving(signal);
            let more = node.send(&Draft::of(next(), 2_000).make());
            served.start_serving();
            assert!(agrees(node, served).has(&more));
            assert_eq!(first_seen(served, &sent), seen, "after {signal}");
        }
    }
    served.end_and_verify(node);
}

/// The ancestor of a transaction that needs no other in a block.
fn first_of_its_chain(node: &Node, txid: &str) -> String {
    let ancestors: Vec<String> = node.ask("getmempoolancestors", json!([txid]));
    let alone = |txid: &String| node.rpc("getmempoolentry", json!([txid]))["ancestorcount"] == 1;
    ancestors.into_iter().chain([txid.to_owned()]).find(alone).unwrap()
}

#[test]
fn of_cairn_in_one_process() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    of_cairn(&node, &mut served, true);
}

#[test]
fn of_cairn_in_two_processes() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    of_cairn(&node, &mut served, false);
}
