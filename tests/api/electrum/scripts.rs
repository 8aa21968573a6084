//! Histories, balances, coins and statuses of all scripts of a chain, confirmed and unconfirmed.

use bitcoin::{
    Script, ScriptBuf,
    hashes::{Hash, sha256},
};
use cairn_electrum::Options;
use cairn_http::HttpConfig;
use cairn_model::{RemoveReason, is_unspendable};
use cairn_operations::ApiConfig;
use cairn_testkit::Oracle;
use serde_json::{Value, json};

use super::{Client, Server, script_hash};
use crate::{
    support::{everything_world, open_config},
    unconfirmed::{Waiting, output},
};

/// Without a rate limit: these tests ask a lot.
pub fn unlimited() -> ApiConfig {
    ApiConfig::from(HttpConfig { rate_limit: 0, ..open_config().http })
}

/// An entry of a history: txid and height, and the fee if it is unconfirmed.
pub type Entry = (String, i64, Option<u64>);

/// The confirmed history by the naive ledger.
pub fn confirmed(oracle: &Oracle, script: &Script) -> Vec<Entry> {
    oracle.history(script).iter().map(|row| (row.txid.to_string(), i64::from(row.height), None)).collect()
}

/// The status of a history by its definition.
pub fn status(entries: &[Entry]) -> Value {
    if entries.is_empty() {
        return Value::Null;
    }
    let text: String = entries.iter().map(|(txid, height, _)| format!("{txid}:{height}:")).collect();
    json!(sha256::Hash::hash(text.as_bytes()).to_string())
}

/// Checks history and status of a script.
pub async fn check(client: &mut Client, script: &Script, entries: &[Entry]) {
    let expected: Vec<Value> = entries
        .iter()
        .map(|(txid, height, fee)| match fee {
            None => json!({"tx_hash": txid, "height": height}),
            Some(fee) => json!({"tx_hash": txid, "height": height, "fee": fee}),
        })
        .collect();
    let params = json!([script_hash(script)]);
    assert_eq!(client.ask("blockchain.scripthash.get_history", params.clone()).await, json!(expected), "{script}");
    assert_eq!(client.ask("blockchain.scripthash.subscribe", params).await, status(entries), "{script}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_scripts_are_as_the_ledger_has_them() {
    let world = &everything_world();
    let server = Server::with(world, unlimited(), Options::default(), None).await;
    let mut client = server.speak("1.4").await;
    let coins = world.oracle.coins_by_script();
    for script in world.oracle.scripts().filter(|script| !is_unspendable(script.as_bytes())) {
        let entries = confirmed(&world.oracle, script);
        check(&mut client, script, &entries).await;
        let params = json!([script_hash(script)]);
        let balance = world.oracle.totals(script).map_or(0, |totals| totals.balance_sats());
        let expected = json!({"confirmed": balance, "unconfirmed": 0});
        assert_eq!(client.ask("blockchain.scripthash.get_balance", params.clone()).await, expected);
        let mut expected: Vec<_> = coins.get(script.as_script()).into_iter().flatten().collect();
        expected.sort_by_key(|(outpoint, coin)| (coin.tx_num, outpoint.vout));
        let coin = |(outpoint, coin): &(bitcoin::OutPoint, &cairn_testkit::Coin)| {
            json!({"tx_hash": outpoint.txid.to_string(), "tx_pos": outpoint.vout, "height": coin.height,
                "value": coin.value_sats})
        };
        let expected: Vec<Value> = expected.into_iter().map(coin).collect();
        assert_eq!(client.ask("blockchain.scripthash.listunspent", params.clone()).await, json!(expected));
        assert_eq!(client.ask("blockchain.scripthash.get_mempool", params).await, json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unconfirmed_transactions_follow_confirmed_ones() {
    let world = &everything_world();
    let mut pool = Waiting::at_tip(world);
    let server = Server::with(world, unlimited(), Options::default(), None).await;
    for version in ["1.4", "1.6"] {
        let mut client = server.speak(version).await;
        let target = ScriptBuf::from_bytes(vec![0x51, 0x20, version.len() as u8, version.as_bytes()[2]]);
        let mut coins = pool.coins(1_000_000).skip(if version == "1.4" { 0 } else { 2 });
        let (one, other) = (coins.next().unwrap(), coins.next().unwrap());
        let first = pool.send(&[one], &[(target.clone(), 600_000)], 700);
        let second = pool.send(&[other], &[(target.clone(), 500_000)], 300);
        let child = pool.send(&[output(&first, 0)], &[(target.clone(), 500_000)], 100_000);
        let mut entries = vec![
            (first.txid.to_string(), 0, Some(first.fee_sats)),
            (second.txid.to_string(), 0, Some(second.fee_sats)),
        ];
        entries.sort();
        entries.push((child.txid.to_string(), -1, Some(child.fee_sats)));
        check(&mut client, &target, &entries).await;
        let params = json!([script_hash(&target)]);
        let mempool = client.ask("blockchain.scripthash.get_mempool", params.clone()).await;
        assert_eq!(mempool, client.ask("blockchain.scripthash.get_history", params.clone()).await);
        let balance = client.ask("blockchain.scripthash.get_balance", params.clone()).await;
        assert_eq!(balance, json!({"confirmed": 0, "unconfirmed": 1_000_000}));
        let unspent = client.ask("blockchain.scripthash.listunspent", params.clone()).await;
        let coin = |txid: String| json!({"tx_hash": txid, "tx_pos": 0, "height": 0, "value": 500_000});
        let [second_coin, child_coin] = [&second, &child].map(|tx| coin(tx.txid.to_string()));
        assert_eq!(unspent, json!([second_coin, child_coin]));
        // The spent coin is no longer unspent, and its script has a negative unconfirmed balance.
        let spent = &world.oracle.coins()[&one];
        let params = json!([script_hash(&spent.script)]);
        let unspent = client.ask("blockchain.scripthash.listunspent", params).await;
        let is_spent = |coin: &Value| coin["tx_hash"] == one.txid.to_string() && coin["tx_pos"] == one.vout;
        assert!(!unspent.as_array().unwrap().iter().any(is_spent));
        pool.leave(&child, RemoveReason::Evicted);
        check(&mut client, &target, &entries[..2]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_histories_are_refused_as_clients_know_it() {
    let world = &everything_world();
    let script = world.oracle.scripts().max_by_key(|script| world.oracle.history(script).len()).unwrap();
    let length = world.oracle.history(script).len() as u32;
    let params = json!([script_hash(script)]);
    for (max_history, is_listed) in [(length, true), (length - 1, false)] {
        let options = Options { max_history, ..Options::default() };
        let server = Server::with(world, unlimited(), options, None).await;
        let mut client = server.speak("1.4.2").await;
        for method in ["blockchain.scripthash.get_history", "blockchain.scripthash.subscribe"] {
            let answer = client.call(method, params.clone()).await;
            assert_eq!(answer.get("result").is_some(), is_listed, "{answer}");
            if !is_listed {
                assert_eq!(answer["error"], json!({"code": 1, "message": "history too large"}));
            }
        }
        // A refused subscription does not count.
        assert_eq!(client.ask("blockchain.scripthash.unsubscribe", params.clone()).await, json!(is_listed));
    }
}
