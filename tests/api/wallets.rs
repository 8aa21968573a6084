//! Wallet operations against the ledger, for every script of the chain.

use bitcoin::{Amount, TxOut};
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};
use cairn_testkit::Oracle;
use serde_json::Value;

use crate::support::{World, address, assert_valid, everything_world, get, get_ok, post, script_hash, validator};

pub(crate) const OVERVIEW: &str = "/v1/wallets/{address}/overview";
const TRANSACTIONS: &str = "/v1/wallets/{address}/transactions";
const HISTORY: &str = "/v1/wallets/{address}/balance-history";

#[tokio::test]
async fn overview_of_every_script() {
    let world = &everything_world();
    let router = world.open_router();
    let schema = validator(OVERVIEW);
    let mut with_address = 0;
    for (script, totals) in world.oracle.all_totals() {
        let name = address(script).unwrap_or_else(|| script_hash(script));
        with_address += usize::from(address(script).is_some());
        let reply = get(&router, &format!("/v1/wallets/{name}/overview")).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.text);
        assert!(schema.is_valid(&reply.body), "{name}");
        // Three rows for each of at most four other scripts of the key.
        assert!(reply.rows_read() <= 8 + 12, "{name}: {} rows", reply.rows_read());
        let body = &reply.body;
        assert_eq!(body["address"], name);
        assert_eq!(body["balance"]["confirmed_sats"], totals.balance_sats(), "{name}");
        assert_eq!(body["utxo_count"], totals.funded_count - totals.spent_count, "{name}");
        assert_eq!(body["tx_count"], totals.tx_count);
        assert_eq!(
            (&body["received_sats"], &body["sent_sats"]),
            (&totals.funded_sats.into(), &totals.spent_sats.into())
        );
        let txs = world.oracle.txs();
        let (first, last) = (&txs[totals.first.0 as usize], &txs[totals.last.0 as usize]);
        assert_eq!(body["first_seen"]["txid"], first.txid.to_string());
        assert_eq!(body["last_seen"]["height"], last.height);
        assert_eq!(body["balance"]["unconfirmed_sats"], Value::Null);
        assert_eq!(body["unconfirmed_tx_count"], Value::Null);
        assert!(body["balance"]["unconfirmed_reason"].is_string());
        assert_eq!(body["caveat_codes"][0]["code"], "no_price_source");
        assert_eq!(body["assessment"]["state"], "not_examined");
        activity(&world.oracle, script, body);
    }
    assert!(with_address > 50 && with_address < world.oracle.all_totals().len());
}

fn activity(oracle: &Oracle, script: &bitcoin::Script, body: &Value) {
    let end = oracle.headers().last().unwrap().monotone_time;
    for (name, days) in [("24h", 1), ("7d", 7), ("30d", 30)] {
        let rows = oracle.history(script).iter();
        let recent: Vec<_> = rows.filter(|r| oracle.monotone_time(r.height) > end - days * 86_400).collect();
        let period = &body["activity"][name];
        assert_eq!(period["tx_count"], recent.len(), "{script} {name}");
        assert_eq!(period["received_sats"], recent.iter().map(|r| r.received_sats).sum::<u64>(), "{script} {name}");
        assert_eq!(period["sent_sats"], recent.iter().map(|r| r.spent_sats).sum::<u64>(), "{script} {name}");
    }
}

#[tokio::test]
async fn an_address_and_its_script_hash_are_the_same_wallet() {
    let world = &everything_world();
    let router = world.open_router();
    let script = world.oracle.scripts().find(|s| address(s).is_some()).unwrap();
    let by_address = get_ok(&router, OVERVIEW, &format!("/v1/wallets/{}/overview", address(script).unwrap())).await;
    let by_hash = get_ok(&router, OVERVIEW, &format!("/v1/wallets/{}/overview", script_hash(script))).await;
    assert_eq!(by_hash["canonical_address"], by_address["address"]);
    for key in ["script_hash", "script_type", "balance", "utxo_count", "first_seen", "last_seen", "activity"] {
        assert_eq!(by_address[key], by_hash[key], "{key}");
    }
}

#[tokio::test]
async fn an_address_without_history_has_zeros() {
    let world = &everything_world();
    let router = world.open_router();
    let unseen = format!("scripthash:{}", "5a".repeat(32));
    for name in ["bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", unseen.as_str()] {
        let body = get_ok(&router, OVERVIEW, &format!("/v1/wallets/{name}/overview")).await;
        assert_eq!(body["assessment"]["state"], "no_history");
        assert_eq!((&body["balance"]["confirmed_sats"], &body["tx_count"]), (&0.into(), &0.into()));
        assert_eq!(body["first_seen"], Value::Null);
        let body = get_ok(&router, TRANSACTIONS, &format!("/v1/wallets/{name}/transactions")).await;
        assert_eq!(
            (&body["total"], &body["next_cursor"], &body["next_offset"]),
            (&0.into(), &Value::Null, &Value::Null)
        );
        let body = get_ok(&router, HISTORY, &format!("/v1/wallets/{name}/balance-history")).await;
        assert_eq!(body["points"], Value::Array(vec![]));
    }
}

#[tokio::test]
async fn transactions_of_every_script_by_offset_and_by_cursor() {
    let world = &everything_world();
    let router = world.open_router();
    let schema = validator(TRANSACTIONS);
    for script in world.oracle.scripts() {
        let base = format!("/v1/wallets/{}/transactions", script_hash(script));
        let expected = world.oracle.history(script);
        // Long histories by the page, in two ways; a limit that divides nothing.
        let limit = if expected.len() > 30 { 7 } else { 100 };
        let (mut by_offset, mut by_cursor) = (Vec::new(), Vec::new());
        let (mut next, mut cursor) = (Some(0u64), None::<String>);
        while let Some(offset) = next {
            let body = get(&router, &format!("{base}?limit={limit}&offset={offset}")).await.body;
            assert!(schema.is_valid(&body), "{body}");
            assert_eq!(body["total"], expected.len());
            by_offset.extend(body["transactions"].as_array().unwrap().clone());
            next = body["next_offset"].as_u64();
        }
        loop {
            let more = cursor.map_or_else(String::new, |c| format!("&cursor={c}"));
            let body = get(&router, &format!("{base}?limit={limit}{more}")).await.body;
            by_cursor.extend(body["transactions"].as_array().unwrap().clone());
            cursor = body["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(by_offset, by_cursor, "{base}");
        assert_eq!(by_offset.len(), expected.len(), "{base}");
        for (row, expected) in by_offset.iter().zip(expected.iter().rev()) {
            let tx = &world.oracle.txs()[expected.tx_num.0 as usize];
            assert_eq!(row["txid"], expected.txid.to_string());
            assert_eq!(row["received_sats"], expected.received_sats);
            assert_eq!(row["sent_sats"], expected.spent_sats);
            assert_eq!(row["net_sats"], expected.received_sats as i64 - expected.spent_sats as i64);
            assert_eq!(row["fee_sats"], tx.fee_sats);
            assert_eq!(row["status"]["height"], expected.height);
            assert_eq!(row["status"]["hash"], world.oracle.blocks()[expected.height as usize].block_hash().to_string());
            assert_eq!(row["time_unix"], world.oracle.headers()[expected.height as usize].header.time);
            let way = row["direction"].as_str().unwrap();
            assert!(expected.spent_sats > 0 || way == "in", "{row}");
        }
    }
}

#[tokio::test]
async fn a_compact_body_is_a_strict_subset() {
    let world = &everything_world();
    let router = world.open_router();
    let script = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
    for (template, name) in [(OVERVIEW, "overview"), (TRANSACTIONS, "transactions")] {
        let path = format!("/v1/wallets/{}/{name}", script_hash(script));
        let full = get_ok(&router, template, &path).await;
        let compact = get_ok(&router, template, &format!("{path}?view=compact")).await;
        assert_valid(template, &compact);
        assert!(is_subset(&compact, &full), "{compact}");
        assert!(compact.to_string().len() < full.to_string().len());
        assert_eq!(compact.get("caveat_codes"), full.get("caveat_codes"));
    }
}

fn is_subset(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|w| is_subset(value, w)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(p, w)| is_subset(p, w))
        }
        (part, whole) => part == whole,
    }
}

#[tokio::test]
async fn the_index_of_wallet_operations_lists_them() {
    let world = &everything_world();
    let body = get_ok(&world.open_router(), "/v1/wallets", "/v1/wallets").await;
    let paths: Vec<_> = body["endpoints"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    assert!([OVERVIEW, TRANSACTIONS, HISTORY].iter().all(|p| paths.contains(p)));
}

/// A coinbase of block 1 is mature when the tip is 100: block 101 may spend it.
#[tokio::test]
async fn outputs_of_young_coinbases_are_told_apart() {
    for (tip, coins) in [(99u32, 99), (100, 99), (105, 97)] {
        let mut builder = ChainBuilder::new(8);
        let miner = builder.keyring().script(&Lock::P2wpkh { key: 1 }).unwrap();
        for _ in 1..=tip.min(103) {
            builder.mine(&BlockSpec::paying(miner.clone())).unwrap();
        }
        if tip > 103 {
            // The script also gets a coin that is not of a coinbase; the last blocks pay others.
            let coin = builder.spendable()[0];
            let output = TxOut { value: Amount::from_sat(4_999_000_000), script_pubkey: miner.clone() };
            let tx = builder.spend(&[coin], vec![output], &Style::default()).unwrap();
            builder.add(tx).unwrap();
            (103..tip).for_each(|_| _ = builder.mine(&BlockSpec::default()).unwrap());
        }
        let world = World::of(builder.into_chain());
        let router = world.open_router();
        let name = address(&miner).unwrap();
        let body = get_ok(&router, OVERVIEW, &format!("/v1/wallets/{name}/overview")).await;
        let immature = coins * 5_000_000_000u64;
        assert_eq!(body["balance"]["immature_sats"], immature, "tip {tip}");
        let dashboard = format!("/v1/wallets/{name}/dashboard");
        let glance = get_ok(&router, "/v1/wallets/{address}/dashboard", &dashboard).await;
        assert_eq!(glance["immature_sats"], immature);
        let asked = serde_json::json!({ "wallet": [format!("addr({name})")] });
        let lookup = post(&router, "/v1/wallets/lookup", &asked).await;
        assert_eq!(lookup.body["balance"]["immature_sats"], immature, "{}", lookup.text);
    }
}
