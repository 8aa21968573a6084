//! The distribution of the supply against the ledger, at the tip and as of earlier blocks.

use std::collections::BTreeMap;

use bitcoin::{Address, Network, ScriptBuf};
use cairn_support::cospending::clusters_of;
use serde_json::{Value, json};

use crate::support::{World, assert_problem, everything_world, get, validator};

const PATH: &str = "/v1/chain/supply-distribution";
/// Ages in days at which classes begin.
const AGES: [u64; 12] = [0, 1, 7, 30, 90, 180, 365, 730, 1_095, 1_825, 2_555, 3_650];

/// Bitcoin as the API writes them, without floating point.
fn btc(sats: u64) -> Value {
    serde_json::from_str(&format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000)).unwrap()
}

fn share(sats: u64, supply: u64) -> f64 {
    if supply == 0 { 0.0 } else { (u128::from(sats) * 1_000_000 / u128::from(supply)) as f64 / 1e6 }
}

fn assert_part(part: &Value, sats: u64, supply: u64, what: &str) {
    assert_eq!(part["sats"], sats, "{what}: {part}");
    assert_eq!(part["btc"].as_f64(), btc(sats).as_f64(), "{what}: {part}");
    assert!((part["share"].as_f64().unwrap() - share(sats, supply)).abs() < 1e-9, "{what}: {part}");
}

fn assert_answer(body: &Value, world: &World, height: u32) {
    let oracle = &world.oracle;
    let tip = oracle.tip().unwrap().0;
    let day = oracle.day(height);
    let last = (height..=tip).take_while(|later| oracle.day(*later) == day).last().unwrap();
    let what = format!("as of {height}");
    assert_eq!(body["as_of"]["height"], last, "{what}");
    let coins = oracle.coins_at(last);
    let supply: u64 = coins.values().map(|coin| coin.value_sats).sum();
    assert_eq!((&body["supply_sats"], &body["coins"]), (&json!(supply), &json!(coins.len())), "{what}");

    let age = |coin: &cairn_testkit::Coin| u64::from(day - oracle.day(coin.height));
    let classes = body["by_age"].as_array().unwrap();
    assert_eq!(classes.len(), AGES.len());
    for (at, class) in classes.iter().enumerate() {
        let (from, to) = (AGES[at], AGES.get(at + 1).copied());
        let of_class = || coins.values().filter(|coin| age(coin) >= from && to.is_none_or(|to| age(coin) < to));
        assert_eq!((&class["from_days"], &class["to_days"]), (&json!(from), &json!(to)));
        assert_eq!(class["coins"], of_class().count(), "{what}: {class}");
        assert_part(class, of_class().map(|coin| coin.value_sats).sum(), supply, &what);
    }
    let long = || coins.values().filter(|coin| age(coin) >= 155);
    assert_eq!((&body["long_term"]["from_days"], &body["long_term"]["coins"]), (&json!(155), &json!(long().count())));
    assert_part(&body["long_term"], long().map(|coin| coin.value_sats).sum(), supply, &what);

    let mut held: BTreeMap<&ScriptBuf, u64> = BTreeMap::new();
    coins.values().for_each(|coin| *held.entry(&coin.script).or_default() += coin.value_sats);
    let has_address = |script: &ScriptBuf| Address::from_script(script, Network::Regtest).is_ok();
    let bands = body["by_balance"]["bands"].as_array().unwrap();
    assert_eq!(bands.len(), 14);
    let (mut holders, mut without) = (0, 0);
    for (at, band) in (0u32..).zip(bands) {
        let (from, to) = (10u64.pow(at), (at < 13).then(|| 10u64.pow(at + 1)));
        let of_band = || held.iter().filter(|(_, sats)| **sats >= from && to.is_none_or(|to| **sats < to));
        let bare = || of_band().filter(|(script, _)| !has_address(script));
        assert_eq!((&band["from_sats"], &band["to_sats"]), (&json!(from), &json!(to)));
        assert_eq!(band["holders"], of_band().count(), "{what}: {band}");
        assert_part(band, of_band().map(|(_, sats)| sats).sum(), supply, &what);
        assert_eq!(band["without_address"]["holders"], bare().count(), "{what}: {band}");
        assert_eq!(band["without_address"]["sats"], bare().map(|(_, sats)| sats).sum::<u64>(), "{what}: {band}");
        (holders, without) = (holders + of_band().count(), without + bare().count());
    }
    assert_eq!(body["by_balance"]["holders"], holders, "{what}");
    assert_eq!(body["by_balance"]["without_address"], without, "{what}");
    assert!(holders > 0 || height == 0);

    let clusters = clusters_of(oracle, last).balance_bands();
    let bands = body["by_cluster"]["bands"].as_array().unwrap();
    assert_eq!(bands.len(), 14);
    let mut holders = 0;
    for (at, band) in (0u32..).zip(bands) {
        let of_band = clusters.iter().filter(|(band, _)| **band == at || at == 13 && **band > 13);
        let (count, sats) = of_band.fold((0, 0), |(count, sats), (_, of)| (count + of.holders, sats + of.sats));
        assert_eq!((&band["from_sats"], &band["holders"]), (&json!(10u64.pow(at)), &json!(count)), "{what}: {band}");
        assert_part(band, sats, supply, &what);
        holders += count;
    }
    assert_eq!(body["by_cluster"]["holders"], holders, "{what}");
    assert!(holders <= body["by_balance"]["holders"].as_u64().unwrap());
}

#[tokio::test]
async fn every_height_is_answered_as_the_ledger_has_it() {
    let world = &everything_world();
    let router = world.open_router();
    let schema = validator(PATH);
    let tip = world.oracle.tip().unwrap().0;
    let newest = get(&router, PATH).await;
    assert!(schema.is_valid(&newest.body), "{}", newest.body);
    assert_answer(&newest.body, world, tip);
    for height in [0, 1, 2, tip / 4, tip / 3, tip / 2, tip - 1, tip] {
        let reply = get(&router, &format!("{PATH}?as_of={height}")).await;
        assert!(schema.is_valid(&reply.body), "{}", reply.body);
        assert_answer(&reply.body, world, height);
        // 57 rows of scripts and of clusters, one of 64 days of birth for each period, and the block's.
        assert!(reply.rows_read() <= 57 * 4, "{} rows", reply.rows_read());
    }
}

#[tokio::test]
async fn a_height_above_the_tip_is_not_there() {
    let world = &everything_world();
    let router = world.open_router();
    let tip = world.oracle.tip().unwrap().0;
    let reply = get(&router, &format!("{PATH}?as_of={}", tip + 1)).await;
    assert_problem(&reply, 404, "block_not_found");
    assert!(reply.body["detail"].as_str().unwrap().contains(&format!("the newest block has height {tip}")));
    for bad in ["-1", "x", "4294967296", "1.5"] {
        assert_problem(&get(&router, &format!("{PATH}?as_of={bad}")).await, 422, "validation_error");
    }
}
