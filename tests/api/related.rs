//! Other scripts of an address's key: its P2PK coins are named beside it, whether or not a spend has shown the key.

use axum::Router;
use bitcoin::{Amount, ScriptBuf, TxOut};
use cairn_chaingen::{BlockSpec, ChainBuilder, KeyForm, Lock, Style};
use cairn_model::Network;
use cairn_testkit::shared_data_or_skip;
use serde_json::{Value, json};

use crate::{
    support::{World, get_ok, router_of_file},
    wallets::OVERVIEW,
};

async fn overview(router: &Router, name: &str) -> Value {
    get_ok(router, OVERVIEW, &format!("/v1/wallets/{name}/overview")).await
}

fn regtest_address(script: &ScriptBuf) -> String {
    bitcoin::Address::from_script(script, bitcoin::Network::Regtest).unwrap().to_string()
}

fn hash_of(script: &ScriptBuf) -> String {
    hex::encode(cairn_domain::script_sha256(script.as_bytes()))
}

/// A chain in which key 0 is paid as P2PK in two forms, and nothing of it is spent.
fn unspent_key() -> (World, ScriptBuf, ScriptBuf, [String; 3]) {
    let mut builder = ChainBuilder::new(4);
    let script = |builder: &mut ChainBuilder, lock: &Lock| builder.keyring().script(lock).unwrap();
    let short = script(&mut builder, &Lock::P2pk { key: 0, form: KeyForm::Compressed });
    let long = script(&mut builder, &Lock::P2pk { key: 0, form: KeyForm::Uncompressed });
    let addresses = [
        script(&mut builder, &Lock::P2pkh { key: 0, form: KeyForm::Compressed }),
        script(&mut builder, &Lock::P2pkh { key: 0, form: KeyForm::Uncompressed }),
        script(&mut builder, &Lock::P2wpkh { key: 0 }),
    ];
    for to in [&short, &long, &long] {
        builder.mine(&BlockSpec::paying(to.clone())).unwrap();
    }
    (World::of(builder.into_chain()), short, long, addresses.map(|script| regtest_address(&script)))
}

#[tokio::test]
async fn coins_of_a_key_that_no_spend_has_shown_are_found() {
    let (world, short, long, addresses) = unspent_key();
    let router = world.open_router();
    let held = [(hash_of(&short), 5_000_000_000u64, 1u64), (hash_of(&long), 10_000_000_000, 2)];
    for address in &addresses {
        let body = overview(&router, address).await;
        assert_eq!(body["balance"]["confirmed_sats"], 0, "never part of the balance");
        assert_eq!(body["related_scripts_reason"], Value::Null);
        let mut found: Vec<_> = body["related_scripts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                assert_eq!((&row["script_type"], &row["unspendable_sats"]), (&json!("pubkey"), &json!(0)));
                let number = |field: &str| row[field].as_u64().unwrap();
                (row["script_hash"].as_str().unwrap().to_owned(), number("confirmed_sats"), number("tx_count"))
            })
            .collect();
        found.sort_by_key(|row| row.1);
        assert_eq!(found, held, "{address}");
    }
    // Asked for one P2PK script: the address of its form, and the other P2PK script.
    let body = overview(&router, &format!("scripthash:{}", held[0].0)).await;
    let related = body["related_scripts"].as_array().unwrap();
    assert_eq!(related.len(), 2);
    assert_eq!((&related[0]["address"], &related[0]["tx_count"]), (&json!(addresses[0]), &json!(0)));
    assert_eq!((&related[1]["script_hash"], &related[1]["confirmed_sats"]), (&json!(held[1].0), &json!(held[1].1)));
}

#[tokio::test]
async fn the_coinbase_of_block_0_is_told_as_unspendable() {
    let (world, ..) = unspent_key();
    let router = world.open_router();
    // The address of genesis' key on regtest.
    let body = overview(&router, "mpXwg4jMtRhuSpVq4xS3HFHmCmWp9NyGKt").await;
    let row = &body["related_scripts"][0];
    assert_eq!(body["related_scripts"].as_array().unwrap().len(), 1);
    assert_eq!((&row["confirmed_sats"], &row["unspendable_sats"]), (&json!(0), &json!(5_000_000_000u64)));
}

#[tokio::test]
async fn the_first_coinbases_of_mainnet_are_found() {
    let data = shared_data_or_skip!();
    let (router, _folder) = router_of_file(Network::Main, &data.join("mainnet/blk00000.dat"));
    // The key of block 1, and that of block 0.
    for (address, held, unspendable) in
        [("12c6DSiU4Rq3P4ZxziKxzrL5LmMBrzjrJX", 50, 0), ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", 0, 50)]
    {
        let body = overview(&router, address).await;
        let row = &body["related_scripts"][0];
        let btc = |n: u64| json!(n * 100_000_000);
        assert_eq!((&row["confirmed_sats"], &row["unspendable_sats"]), (&btc(held), &btc(unspendable)), "{address}");
        assert_eq!(body["balance"]["confirmed_sats"], 0);
    }
}

#[tokio::test]
async fn coins_of_the_bare_key_are_named_beside_its_address() {
    let (world, pkh, pk) = key_in_two_scripts();
    let router = world.open_router();
    let body = overview(&router, &regtest_address(&pkh)).await;
    assert_eq!(body["related_scripts_reason"], Value::Null);
    let related = &body["related_scripts"][0];
    assert_eq!((&related["script_type"], &related["script_hash"]), (&json!("pubkey"), &json!(hash_of(&pk))));
    let held = world.oracle.totals(&pk).unwrap().balance_sats();
    assert!(held > 0);
    assert_eq!(related["confirmed_sats"], held);
    assert_eq!(body["balance"]["confirmed_sats"], world.oracle.totals(&pkh).unwrap().balance_sats());
    let body = overview(&router, &format!("scripthash:{}", hash_of(&pk))).await;
    assert_eq!((&body["canonical_address"], &body["script_type"]), (&Value::Null, &json!("pubkey")));
    assert_eq!(body["related_scripts"][0]["address"], regtest_address(&pkh));
}

/// A chain in which one key is paid as P2PK and as P2PKH, spends from the latter, and then rests for months.
fn key_in_two_scripts() -> (World, ScriptBuf, ScriptBuf) {
    let mut builder = ChainBuilder::new(4);
    let pk = builder.keyring().script(&Lock::P2pk { key: 0, form: KeyForm::Compressed }).unwrap();
    let pkh = builder.keyring().script(&Lock::P2pkh { key: 0, form: KeyForm::Compressed }).unwrap();
    builder.mine(&BlockSpec::paying(pk.clone())).unwrap();
    builder.mine(&BlockSpec::paying(pkh.clone())).unwrap();
    for _ in 0..101 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let mut coins = builder.spendable().iter().copied();
    let coin = coins.find(|c| builder.coin(c).is_some_and(|c| c.txout.script_pubkey == pkh)).unwrap();
    let elsewhere = builder.keyring().script(&Lock::P2wpkh { key: 1 }).unwrap();
    let output = TxOut { value: Amount::from_sat(4_999_990_000), script_pubkey: elsewhere };
    let tx = builder.spend(&[coin], vec![output], &Style::default()).unwrap();
    builder.add(tx).unwrap();
    builder.mine(&BlockSpec::default()).unwrap();
    let later = builder.head().block.header.time + 40 * 86_400;
    builder.mine(&BlockSpec { time: Some(later), ..BlockSpec::default() }).unwrap();
    (World::of(builder.into_chain()), pkh, pk)
}
