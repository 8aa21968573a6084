//! Dormancy flushes, whale wake-ups and the watchlist, as answers show them; that their tables are right is tested with
//! the engine.

use bitcoin::hashes::{Hash, sha256};
use cairn_pipeline::NoProgress;
use serde_json::Value;

use crate::support::{World, assert_problem, count_of, get, get_ok};

const FLUSHES: &str = "/v1/chain/dormancy-flushes";
const WAKEUPS: &str = "/v1/dormancy/whale-wakeups";
const WATCHLIST: &str = "/v1/dormancy/watchlist";

const BTC: u64 = 100_000_000;
const YEAR: u64 = 365 * 86_400;

fn demo_world() -> World {
    World::of(cairn_chaingen::demo::chain(1).unwrap())
}

/// The rows of all pages.
async fn pages(router: &axum::Router, template: &str, query: &str, list: &str) -> Vec<Value> {
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    for _ in 0..100 {
        let body = get_ok(router, template, &format!("{template}?{query}{cursor}")).await;
        rows.extend(body[list].as_array().unwrap().iter().cloned());
        match body["next_cursor"].as_str() {
            None => return rows,
            Some(next) => cursor = format!("&cursor={next}"),
        }
    }
    panic!("pages without end");
}

/// The coins of a transaction that are at least `years` old: their number, satoshis and satoshi-seconds.
fn old(world: &World, txid: &str, years: u64) -> (u64, u64, u128) {
    let oracle = &world.oracle;
    let all = oracle.transactions(oracle.tip().unwrap().0);
    let (tx_num, height, _) = all.into_iter().find(|(.., tx)| tx.compute_txid().to_string() == txid).unwrap();
    oracle.spent(tx_num).iter().fold((0, 0, 0), |(coins, sats, destroyed), coin| {
        let age = oracle.age_seconds(coin, height);
        if age < years * YEAR {
            return (coins, sats, destroyed);
        }
        (coins + 1, sats + coin.value_sats, destroyed + u128::from(coin.value_sats) * u128::from(age))
    })
}

#[tokio::test]
async fn flushes_are_the_sums_of_their_spends() {
    let world = &demo_world();
    let router = world.open_router();
    let all = pages(&router, FLUSHES, "since=0", "flushes").await;
    assert!(all.len() >= 3, "{all:?}");
    for flush in &all {
        let spends = flush["spends"].as_array().unwrap();
        assert_eq!((spends.len() as u64, count_of(flush, "spends_omitted")), (count_of(flush, "spend_count"), 0));
        assert_eq!(spends[0]["txid"], flush["txid"]);
        assert_eq!(spends.last().unwrap()["txid"], flush["last_txid"]);
        let of_each = spends.iter().map(|spend| (spend, old(world, spend["txid"].as_str().unwrap(), 2)));
        let (mut coins, mut sats, mut destroyed) = (0, 0, 0);
        for (spend, of) in of_each {
            assert_eq!(count_of(spend, "old_sats"), of.1, "{spend}");
            assert!((count_of(flush, "height")..=count_of(flush, "last_height")).contains(&count_of(spend, "height")));
            (coins, sats, destroyed) = (coins + of.0, sats + of.1, destroyed + of.2);
        }
        assert_eq!((count_of(flush, "coin_count"), count_of(flush, "old_sats")), (coins, sats), "{flush}");
        let days = destroyed as f64 / 86_400.0;
        assert!((flush["coin_days_destroyed"].as_f64().unwrap() - days / 1e8).abs() < 1e-6, "{flush}");
        assert!((flush["average_age_days"].as_f64().unwrap() - days / sats as f64).abs() < 0.01, "{flush}");
    }
    assert!(all.iter().is_sorted_by_key(|flush| u64::MAX - count_of(flush, "height")));
    // Page by page, by value, and in a part of the chain.
    assert_eq!(pages(&router, FLUSHES, "since=0&limit=1", "flushes").await, all);
    for btc in [150, 215, 216] {
        let found = pages(&router, FLUSHES, &format!("since=0&min_btc={btc}"), "flushes").await;
        let expected: Vec<Value> =
            all.iter().filter(|flush| count_of(flush, "old_sats") >= btc * BTC).cloned().collect();
        assert_eq!(found, expected, "{btc}");
    }
    for (since, until) in [(0, 884), (884, 1_850), (1_850, 1_851), (2_386, 3_001)] {
        let found = pages(&router, FLUSHES, &format!("since={since}&until={until}"), "flushes").await;
        let is_within = |flush: &&Value| (since..until).contains(&count_of(flush, "height"));
        assert_eq!(found, all.iter().filter(is_within).cloned().collect::<Vec<_>>(), "{since} to {until}");
    }
    // Nothing is labelled, so nothing is known to reach an exchange.
    assert!(all.iter().all(|flush| flush["exchange_percent"] == 0 && flush["holder"]["owner"].is_null()), "{all:?}");
    let csv = get(&router, &format!("{FLUSHES}?since=0&format=csv")).await;
    assert_eq!(csv.text.lines().count(), all.len() + 1, "{}", csv.text);
    for wrong in ["min_btc=99", "limit=0", "limit=51", "since=5&until=4", "cursor=00"] {
        assert_problem(&get(&router, &format!("{FLUSHES}?{wrong}")).await, 422, "validation_error");
    }
}

#[tokio::test]
async fn the_one_who_sleeps_wakes_up() {
    let world = &demo_world();
    let router = world.open_router();
    let all = pages(&router, WAKEUPS, "since=0", "wakeups").await;
    assert_eq!(all.len(), 1, "{all:?}");
    let wakeup = &all[0];
    let (coins, sats, _) = old(world, wakeup["txid"].as_str().unwrap(), 2);
    assert_eq!((coins, count_of(wakeup, "spent_sats")), (1, sats), "{wakeup}");
    assert_eq!(wakeup["test_spend"], sats * 100 < count_of(wakeup, "old_sats"));
    // All coins of its script before the spend.
    let oracle = &world.oracle;
    let address = wakeup["holder"]["address"].as_str().unwrap();
    let script = oracle.scripts().find(|script| crate::support::address(script).as_deref() == Some(address)).unwrap();
    let height = count_of(wakeup, "height") as u32;
    let before = oracle.history(script).iter().filter(|row| row.height < height);
    assert_eq!(before.map(|row| row.received_sats).sum::<u64>(), count_of(wakeup, "old_sats"));
    for (query, expected) in [
        ("since=0&min_btc=1100", 1),
        ("since=0&min_btc=1101", 0),
        ("since=2386", 0),
        ("since=0&until=2385", 0),
        ("since=2385&until=2386", 1),
        ("since=30d", 0),
    ] {
        assert_eq!(pages(&router, WAKEUPS, query, "wakeups").await.len(), expected, "{query}");
    }
    for wrong in ["min_btc=999", "limit=201", "since=5&until=4"] {
        assert_problem(&get(&router, &format!("{WAKEUPS}?{wrong}")).await, 422, "validation_error");
    }
}

#[tokio::test]
async fn the_watchlist_is_of_one_block() {
    let world = &demo_world();
    let router = world.open_router();
    let body = get_ok(&router, WATCHLIST, WATCHLIST).await;
    let tip = world.oracle.tip().unwrap();
    assert_eq!(
        (count_of(&body, "as_of_height"), body["as_of_hash"].as_str()),
        (tip.0.into(), Some(&*tip.1.to_string()))
    );
    let all = body["watchlist"].as_array().unwrap();
    assert!(all.len() >= 2, "{body}");
    assert_eq!(count_of(&body, "total_count"), all.len() as u64);
    assert_eq!(count_of(&body, "total_old_sats"), all.iter().map(|of| count_of(of, "old_sats")).sum::<u64>());
    assert!(all.iter().is_sorted_by_key(|of| u64::MAX - count_of(of, "old_sats")));
    // The hash can be computed from the answer.
    let mut lines = String::new();
    for of in all {
        let name = match of["holder"]["cluster_root_txid"].as_str() {
            Some(txid) => format!("cluster {txid}"),
            None => {
                let address: bitcoin::Address<_> = of["holder"]["address"].as_str().unwrap().parse().unwrap();
                let script = address.assume_checked().script_pubkey();
                format!("script {}", hex::encode(sha256::Hash::hash(script.as_bytes()).to_byte_array()))
            }
        };
        lines.push_str(&format!("{name} {}\n", count_of(of, "old_sats")));
    }
    let expected = hex::encode(sha256::Hash::hash(lines.as_bytes()).to_byte_array());
    assert_eq!(body["set_sha256"], expected, "{lines}");
    // Parts of it.
    let second = get_ok(&router, WATCHLIST, &format!("{WATCHLIST}?limit=1&offset=1")).await;
    assert_eq!((&second["watchlist"][0], &second["has_more"]), (&all[1], &(all.len() > 2).into()));
    let least = count_of(&all[0], "old_sats").div_ceil(BTC);
    let most = get_ok(&router, WATCHLIST, &format!("{WATCHLIST}?min_btc={least}")).await;
    assert_eq!(most["watchlist"].as_array().map(Vec::len), Some(0));
    assert_problem(&get(&router, &format!("{WATCHLIST}?min_btc=499")).await, 422, "validation_error");
    // When its block is gone, the list is gone until it is made again.
    {
        let mut engine = world.engine.lock().unwrap();
        engine.unwind(tip.0 - 5, &NoProgress).unwrap();
    }
    let gone = get_ok(&router, WATCHLIST, WATCHLIST).await;
    assert_eq!((&gone["as_of_height"], &gone["watchlist"]), (&Value::Null, &Value::Array(Vec::new())));
    assert!(gone["reason"].is_string(), "{gone}");
    let flushes = get_ok(&router, FLUSHES, &format!("{FLUSHES}?since=0")).await;
    assert_eq!(count_of(&flushes, "followed_height"), u64::from(tip.0) - 5, "what follows the chain goes back with it");
    assert!(world.engine.lock().unwrap().follow_up(&NoProgress, true).unwrap());
    let anew = get_ok(&router, WATCHLIST, WATCHLIST).await;
    assert_eq!(count_of(&anew, "as_of_height"), u64::from(tip.0) - 5);
    get_ok(&router, FLUSHES, &format!("{FLUSHES}?since=0")).await;
}
