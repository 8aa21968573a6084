//! Scripts: sums, histories page by page, unspent outputs; against the ledger and our own operations.

use std::collections::BTreeSet;

use axum::Router;
use bitcoin::Script;
use serde_json::{Value, json as value};

use super::{by_hash, esplora, json, list, refused, txids};
use crate::support::{self, World, address, everything_world, script_hash};

/// Sums of a script that has none.
fn nothing() -> Value {
    value!({"funded_txo_count": 0, "funded_txo_sum": 0, "spent_txo_count": 0, "spent_txo_sum": 0, "tx_count": 0})
}

/// The ids of a history, newest first.
fn history(world: &World, script: &Script) -> Vec<String> {
    world.oracle.history(script).iter().rev().map(|row| row.txid.to_string()).collect()
}

async fn check_history(world: &World, router: &Router, script: &Script, path: &str) {
    let expected = history(world, script);
    let mut paged: Vec<String> = Vec::new();
    loop {
        let after = paged.last().map_or(String::new(), |last| format!("/{last}"));
        let page = txids(&json(router, &format!("{path}/txs/chain{after}")).await);
        assert!(page.len() <= 25);
        paged.extend(page.iter().cloned());
        if page.len() < 25 {
            break;
        }
    }
    assert_eq!(paged, expected, "{path}");
    assert_eq!(txids(&json(router, &format!("{path}/txs")).await), expected[..expected.len().min(25)]);
    assert_eq!(json(router, &format!("{path}/txs/mempool")).await, value!([]));
    // In brief.
    let summary = json(router, &format!("{path}/txs/summary")).await;
    assert_eq!(txids(&summary), expected[..expected.len().min(5_000)]);
    for (brief, row) in list(&summary).iter().zip(world.oracle.history(script).iter().rev()) {
        let header = &world.oracle.headers()[row.height as usize];
        let expected = value!({
            "txid": row.txid.to_string(),
            "height": row.height,
            "value": row.received_sats as i64 - row.spent_sats as i64,
            "time": header.header.time,
            "tx_position": row.tx_num.0 - header.first_tx.0,
        });
        assert_eq!(*brief, expected);
    }
    if let Some(first) = expected.first() {
        let rest = json(router, &format!("{path}/txs/summary/{first}?max_txs=3")).await;
        assert_eq!(txids(&rest), expected[1..expected.len().min(4)]);
    }
}

/// Checks every script of a world: by hash, and by address if it has one.
pub(super) async fn check_all(world: &World, router: &Router) {
    let coins = world.oracle.coins_by_script();
    let own = world.open_router();
    for (at, script) in world.oracle.scripts().enumerate() {
        let totals = world.oracle.totals(script).unwrap();
        let stats = value!({
            "funded_txo_count": totals.funded_count,
            "funded_txo_sum": totals.funded_sats,
            "spent_txo_count": totals.spent_count,
            "spent_txo_sum": totals.spent_sats,
            "tx_count": totals.tx_count,
        });
        let path = by_hash(script);
        let found = json(router, &path).await;
        assert_eq!((&found["chain_stats"], &found["mempool_stats"]), (&stats, &nothing()));
        assert_eq!(found["scripthash"], path.replace("/scripthash/", ""));
        if let Some(address) = address(script) {
            let by_address = json(router, &format!("/address/{address}")).await;
            let expected = value!({"address": address, "chain_stats": stats, "mempool_stats": nothing()});
            assert_eq!(by_address.to_string(), expected.to_string());
        }
        let unspent = json(router, &format!("{path}/utxo")).await;
        let expected = coins.get(&**script).into_iter().flatten().map(|(outpoint, coin)| {
            let block = &world.oracle.blocks()[coin.height as usize];
            let status = value!({
                "confirmed": true,
                "block_height": coin.height,
                "block_hash": block.block_hash().to_string(),
                "block_time": block.header.time,
            });
            let txid = outpoint.txid.to_string();
            value!({"txid": txid, "vout": outpoint.vout, "status": status, "value": coin.value_sats})
        });
        assert_eq!(list(&unspent), expected.collect::<Vec<_>>());
        if at % 5 == 0 || totals.tx_count > 20 {
            check_history(world, router, script, &path).await;
            // The same numbers as our own operations have.
            let overview = format!("/v1/wallets/{}/overview", script_hash(script));
            let overview = support::get_ok(&own, "/v1/wallets/{address}/overview", &overview).await;
            assert_eq!(
                (&overview["tx_count"], &overview["received_sats"], &overview["sent_sats"]),
                (
                    &found["chain_stats"]["tx_count"],
                    &found["chain_stats"]["funded_txo_sum"],
                    &found["chain_stats"]["spent_txo_sum"],
                )
            );
            assert_eq!(overview["utxo_count"], list(&unspent).len());
            let sum: u64 = list(&unspent).iter().map(|coin| coin["value"].as_u64().unwrap()).sum();
            assert_eq!(overview["balance"]["confirmed_sats"], sum);
        }
    }
}

#[tokio::test]
async fn every_script_in_full() {
    let world = &everything_world();
    let router = esplora(world, None);
    check_all(world, &router).await;
    let longest = world.oracle.scripts().map(|script| world.oracle.history(script).len()).max();
    assert!(longest > Some(50), "no history has three pages: {longest:?}");
}

#[tokio::test]
async fn scripts_that_no_block_has() {
    let world = &everything_world();
    let router = esplora(world, None);
    let script = bitcoin::ScriptBuf::from_bytes([&[0, 20][..], &[0xee; 20]].concat());
    let by_address = format!("/address/{}", address(&script).unwrap());
    for path in [by_hash(&script), by_address] {
        let found = json(&router, &path).await;
        assert_eq!((&found["chain_stats"], &found["mempool_stats"]), (&nothing(), &nothing()));
        for rest in ["/txs", "/txs/chain", "/txs/mempool", "/utxo", "/txs/summary"] {
            assert_eq!(json(&router, &format!("{path}{rest}")).await, value!([]));
        }
    }
}

#[tokio::test]
async fn pages_after_transactions_that_are_not_of_the_script() {
    let world = &everything_world();
    let router = esplora(world, None);
    let script = world.oracle.scripts().max_by_key(|script| world.oracle.history(script).len()).unwrap();
    let (path, own) = (by_hash(script), history(world, script));
    let of_script: BTreeSet<&String> = own.iter().collect();
    let ids = world.oracle.txs().iter().map(|tx| tx.txid.to_string());
    let other = ids.into_iter().find(|txid| !of_script.contains(txid)).unwrap();
    let none = "22".repeat(32);
    // electrs skips until it finds the transaction.
    for txid in [&other, &none] {
        assert_eq!(json(&router, &format!("{path}/txs/chain/{txid}")).await, value!([]));
    }
    // Anything else stands for the first page.
    let first = &own[..25];
    for rest in ["/txs/chain", "/txs/chain/", "/txs/chain/xyz"] {
        assert_eq!(txids(&json(&router, &format!("{path}{rest}")).await), first);
    }
    assert_eq!(json(&router, &format!("{path}/txs/chain/{}", own.last().unwrap())).await, value!([]));
    // The parameter of mempool.space.
    let after = json(&router, &format!("{path}/txs?after_txid={}", own[9])).await;
    assert_eq!(txids(&after), own[10..own.len().min(35)]);
    refused(&router, &format!("{path}/txs?after_txid={none}"), 422, "after_txid not found").await;
    refused(&router, &format!("{path}/txs/summary/{none}"), 422, "after_txid not found").await;
}
