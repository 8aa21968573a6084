//! Ages of an address's coins, against the ledger.

use serde_json::Value;

use crate::{
    support::{assert_valid, everything_world, get, script_hash},
    wallets::OVERVIEW,
};

#[tokio::test]
async fn mean_ages_are_those_of_the_ledger() {
    let world = &everything_world();
    let router = world.open_router();
    let oracle = &world.oracle;
    let now = u64::from(oracle.headers().last().unwrap().monotone_time);
    let coins = oracle.coins_by_script();
    let (mut with_coins, mut several) = (0, 0);
    for script in oracle.scripts() {
        let path = format!("/v1/wallets/{}/overview", script_hash(script));
        let reply = get(&router, &format!("{path}?include_coin_age=true")).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_valid(OVERVIEW, &reply.body);
        // A row for each coin.
        let count = coins.get(script.as_script()).map_or(0, Vec::len) as u64;
        assert!(reply.rows_read() <= 8 + 12 + count + 1, "{script}: {} rows", reply.rows_read());
        let held = coins.get(script.as_script()).filter(|held| held.iter().any(|(_, coin)| coin.value_sats > 0));
        let Some(held) = held else {
            let reason = if count == 0 { "no_coins" } else { "no_amount" };
            assert_eq!((&reply.body["coin_age"], &reply.body["coin_age_reason"]), (&Value::Null, &reason.into()));
            continue;
        };
        with_coins += 1;
        several += usize::from(held.len() > 1);
        let age = |height| now - u64::from(oracle.monotone_time(height));
        let weighted: f64 = held.iter().map(|(_, coin)| coin.value_sats as f64 * age(coin.height) as f64).sum();
        let sum: f64 = held.iter().map(|(_, coin)| coin.value_sats as f64).sum();
        let expected = weighted / sum / 86_400.0;
        let found = &reply.body["coin_age"];
        let mean = found["mean_days"].as_f64().unwrap();
        assert!((expected - mean).abs() < 0.11, "{script}: {mean} instead of {expected}");
        let ages: Vec<u64> = held.iter().map(|(_, coin)| age(coin.height) / 86_400).collect();
        assert_eq!(found["oldest_days"], *ages.iter().max().unwrap());
        assert_eq!(found["youngest_days"], *ages.iter().min().unwrap());
        assert_eq!(reply.body["coin_age_reason"], Value::Null);
        // Nobody who does not ask pays for it.
        let bare = get(&router, &path).await;
        assert_eq!((&bare.body["coin_age"], &bare.body["coin_age_reason"]), (&Value::Null, &Value::Null));
    }
    assert!(with_coins > 50 && several > 5, "{with_coins} {several}");
}
