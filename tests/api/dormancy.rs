//! Old coins that move, against what follows from the blocks.

use std::collections::BTreeMap;

use bitcoin::hashes::Hash;
use cairn_model::TxNum;
use serde_json::Value;

use crate::{
    support::{World, address, assert_problem, count_of, get, get_ok, script_hash},
    unconfirmed::Waiting,
};

const AWAKENINGS: &str = "/v1/chain/awakenings";
const MOVEMENTS: &str = "/v1/chain/dormant-movements";
const ALERTS: &str = "/v1/chain/dormant-alerts";
const PULSE: &str = "/v1/pulse/dormant";

const DAY: u64 = 86_400;
const BTC: u64 = 100_000_000;

/// An old coin that was spent.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Old {
    tx_num: TxNum,
    txid: String,
    vin: u64,
    height: u32,
    sats: u64,
    age: u64,
    address: String,
}

/// The demo chain: sixteen years, in which old coins move.
fn demo_world() -> World {
    World::of(cairn_chaingen::demo::chain(1).unwrap())
}

/// All coins that were spent, the newest transaction first.
fn spent(world: &World) -> Vec<Old> {
    let oracle = &world.oracle;
    let tip = oracle.tip().unwrap().0;
    let mut all = Vec::new();
    for (tx_num, height, tx) in oracle.transactions(tip) {
        for (vin, coin) in (0..).zip(oracle.spent(tx_num)) {
            all.push(Old {
                tx_num,
                txid: tx.compute_txid().to_string(),
                vin,
                height,
                sats: coin.value_sats,
                age: oracle.age_seconds(coin, height),
                address: address(&coin.script).unwrap_or_else(|| script_hash(&coin.script)),
            });
        }
    }
    all.sort_by(|a, b| b.tx_num.cmp(&a.tx_num).then_with(|| a.vin.cmp(&b.vin)));
    all
}

/// The rows of all pages.
async fn pages(router: &axum::Router, template: &str, query: &str, list: &str) -> Vec<Value> {
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    for _ in 0..1_000 {
        let body = get_ok(router, template, &format!("{template}?{query}{cursor}")).await;
        rows.extend(body[list].as_array().unwrap().iter().cloned());
        match body["next_cursor"].as_str() {
            None => return rows,
            Some(next) => cursor = format!("&cursor={next}"),
        }
    }
    panic!("pages without end");
}

#[tokio::test]
async fn awakenings_are_the_old_coins_of_the_blocks() {
    let world = &demo_world();
    let router = world.open_router();
    let spent = spent(world);
    let mut compared = 0;
    for (days, btc, limit) in [(365, 10, 500), (365, 10, 1), (365, 20, 3), (800, 10, 7), (365, 49, 2)] {
        let query = format!("since=0&min_dormancy_days={days}&min_btc={btc}&limit={limit}");
        let found = pages(&router, AWAKENINGS, &query, "awakenings").await;
        let expected: Vec<&Old> =
            spent.iter().filter(|coin| coin.age >= days * DAY && coin.sats >= btc * BTC).collect();
        assert_eq!(found.len(), expected.len(), "{query}");
        for (row, coin) in found.iter().zip(&expected) {
            assert_eq!((&row["txid"], &row["address"]), (&coin.txid.as_str().into(), &coin.address.as_str().into()));
            let of = ["vin", "height", "value_sats", "dormant_days"].map(|name| count_of(row, name));
            assert_eq!(of, [coin.vin, coin.height.into(), coin.sats, coin.age / DAY], "{row}");
        }
        compared += expected.len();
    }
    assert!(compared > 20, "{compared} coins are too few to compare");
}

#[tokio::test]
async fn awakenings_of_an_address_and_of_a_part_of_the_chain() {
    let world = &demo_world();
    let router = world.open_router();
    let old: Vec<Old> =
        spent(world).into_iter().filter(|coin| coin.age >= 365 * DAY && coin.sats >= 10 * BTC).collect();
    for coin in &old {
        let query = format!("since=0&address_filter={}&limit=2", coin.address);
        let found = pages(&router, AWAKENINGS, &query, "awakenings").await;
        let same: Vec<&Old> = old.iter().filter(|other| other.address == coin.address).collect();
        let ids = |row: &Value| (row["txid"].as_str().unwrap().to_owned(), count_of(row, "vin"));
        let expected: Vec<_> = same.iter().map(|coin| (coin.txid.clone(), coin.vin)).collect();
        assert_eq!(found.iter().map(ids).collect::<Vec<_>>(), expected, "{query}");
    }
    let tip = world.oracle.tip().unwrap().0;
    for (since, until) in [(0, tip / 2), (tip / 2, tip + 1), (tip / 3, tip / 3 + 5), (tip, tip)] {
        let query = format!("since={since}&until={until}");
        let found = pages(&router, AWAKENINGS, &query, "awakenings").await;
        let expected = old.iter().filter(|coin| (since..until).contains(&coin.height)).count();
        assert_eq!(found.len(), expected, "{query}");
    }
    // An address that no block has.
    let none = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
    let body = get_ok(&router, AWAKENINGS, &format!("{AWAKENINGS}?since=0&address_filter={none}")).await;
    assert_eq!((&body["awakenings"], &body["next_cursor"]), (&Value::Array(Vec::new()), &Value::Null));
}

#[tokio::test]
async fn movements_are_the_sums_of_the_blocks() {
    let world = &demo_world();
    let router = world.open_router();
    let spent = spent(world);
    for (path, years, list) in
        [(PULSE, 1, "confirmed"), (PULSE, 3, "confirmed"), (MOVEMENTS, 5, "movements"), (MOVEMENTS, 9, "movements")]
    {
        let mut expected: BTreeMap<TxNum, Vec<&Old>> = BTreeMap::new();
        for coin in spent.iter().filter(|coin| coin.age >= years * 365 * DAY) {
            expected.entry(coin.tx_num).or_default().push(coin);
        }
        expected.retain(|_, coins| coins.iter().map(|coin| coin.sats).sum::<u64>() >= 10 * BTC);
        let query = format!("since=0&min_age_years={years}&limit=100");
        let body = get_ok(&router, path, &format!("{path}?{query}")).await;
        let found = body[list].as_array().unwrap();
        assert_eq!(found.len(), expected.len().min(100), "{path} {query}");
        for (row, (_, coins)) in found.iter().zip(expected.iter().rev()) {
            let sats: u64 = coins.iter().map(|coin| coin.sats).sum();
            let destroyed: u128 = coins.iter().map(|coin| u128::from(coin.sats) * u128::from(coin.age)).sum();
            assert_eq!(row["txid"], coins[0].txid.as_str());
            let of = ["old_sats", "old_inputs", "height", "oldest_age_days"].map(|name| count_of(row, name));
            let oldest = coins.iter().map(|coin| coin.age).max().unwrap() / DAY;
            assert_eq!(of, [sats, coins.len() as u64, coins[0].height.into(), oldest], "{row}");
            let days = row["coin_days_destroyed"].as_f64().unwrap();
            assert!((days - destroyed as f64 / DAY as f64 / BTC as f64).abs() < 1e-6, "{row}");
            let average = row["average_age_days"].as_f64().unwrap();
            assert!((average - destroyed as f64 / sats as f64 / DAY as f64).abs() < 0.011, "{row}");
            let from: u64 = row["from"].as_array().unwrap().iter().map(|side| count_of(side, "value_sats")).sum();
            assert!(from == sats || count_of(row, "from_omitted") > 0 && from < sats, "{row}");
        }
        assert!(!found.is_empty(), "{query}: nothing to compare");
        if path == PULSE {
            let total: u64 = found.iter().map(|row| count_of(row, "old_sats")).sum();
            assert_eq!(count_of(&body, "confirmed_old_sats"), total);
        }
    }
}

#[tokio::test]
async fn bounds_are_told() {
    let world = &demo_world();
    let router = world.open_router();
    for bad in [
        "min_btc=9.99999999",
        "min_btc=-1",
        "limit=0",
        "limit=100000",
        "since=yesterday",
        "cursor=00",
        "since=9&until=8",
        "min_age_years=4",
    ] {
        let reply = get(&router, &format!("{MOVEMENTS}?{bad}")).await;
        assert_problem(&reply, 422, "validation_error");
    }
    for bad in ["min_dormancy_days=364", "address_filter=nonsense", "min_btc=1"] {
        let reply = get(&router, &format!("{AWAKENINGS}?{bad}")).await;
        assert_eq!(reply.status / 100, 4, "{bad}: {}", reply.text);
    }
    // A cursor of another list, or of other filters.
    let first = get_ok(&router, AWAKENINGS, &format!("{AWAKENINGS}?since=0&limit=1")).await;
    let cursor = first["next_cursor"].as_str().unwrap();
    for path in [
        format!("{AWAKENINGS}?since=1&limit=1&cursor={cursor}"),
        format!("{MOVEMENTS}?since=0&limit=1&cursor={cursor}"),
    ] {
        assert_problem(&get(&router, &path).await, 422, "validation_error");
    }
    let csv = get(&router, &format!("{AWAKENINGS}?since=0&format=csv&limit=500")).await;
    assert!(csv.text.starts_with("time,height,txid,vin,value_sats,dormant_days"), "{}", csv.text);
    assert!(csv.text.lines().count() > 5);
    // Without a mempool alerts say so, and have what is confirmed.
    let alerts = get_ok(&router, ALERTS, ALERTS).await;
    assert!(alerts["_meta"]["warnings"].to_string().contains("mempool"), "{alerts}");
    assert_eq!(alerts["unconfirmed"], Value::Array(Vec::new()));
}

/// A cursor goes on after new blocks, and after a reorganization above the block that it names; below, it has ended.
#[tokio::test]
async fn a_cursor_lives_as_long_as_its_block() {
    let world = &demo_world();
    let router = world.open_router();
    let query = "since=0&limit=1";
    let first = get_ok(&router, AWAKENINGS, &format!("{AWAKENINGS}?{query}")).await;
    let next = format!("{AWAKENINGS}?{query}&cursor={}", first["next_cursor"].as_str().unwrap());
    let place = |body: &Value| {
        let row = &body["awakenings"][0];
        (row["txid"].clone(), row["vin"].clone(), u32::try_from(count_of(row, "height")).unwrap())
    };
    // It names the block of the coin that it begins with.
    let second = place(&get_ok(&router, AWAKENINGS, &next).await);
    let height = second.2;
    let tip = world.oracle.tip().unwrap().0;
    assert!(height + 1 < tip, "the second newest is too near to the tip");
    let unwind = |to: u32| world.engine.lock().unwrap().unwind(to, &cairn_pipeline::NoProgress).unwrap();
    unwind(height + 1);
    assert_eq!(place(&get_ok(&router, AWAKENINGS, &next).await), second);
    unwind(height - 1);
    assert_problem(&get(&router, &next).await, 409, "cursor_expired");
}

/// Alerts of the mempool come first, and are marked as such; transactions that spend young coins or too little are not
/// alerts.
#[tokio::test]
async fn alerts_have_what_waits() {
    let world = &demo_world();
    let mut waiting = Waiting::at_tip(world);
    let oracle = &world.oracle;
    let tip = oracle.tip().unwrap().0;
    let age = |coin: &cairn_testkit::Coin| oracle.age_seconds(coin, tip);
    let of = |old: bool, sats: std::ops::Range<u64>| {
        let fits = |coin: &cairn_testkit::Coin| {
            let is_old = if old { age(coin) >= 5 * 365 * DAY } else { age(coin) < 365 * DAY };
            is_old && sats.contains(&coin.value_sats)
        };
        let found = oracle.coins().iter().find(|(_, coin)| fits(coin));
        found.map(|(at, coin)| (*at, coin.clone())).expect("the demo has such coins")
    };
    let ((old, old_coin), (young, young_coin)) = (of(true, 10 * BTC..1_000 * BTC), of(false, 10 * BTC..1_000 * BTC));
    let both = waiting.send(&[young, old], &[], 10_000);
    waiting.send(&[of(false, 1_000..10 * BTC).0], &[], 500);
    let router = world.open_router();
    let alerts = get_ok(&router, ALERTS, ALERTS).await;
    let [row] = &alerts["unconfirmed"].as_array().unwrap()[..] else { panic!("{alerts}") };
    assert_eq!(row["txid"], bitcoin::Txid::from_byte_array(both.txid.0).to_string());
    assert_eq!((&row["state"], &row["height"], &row["provisional"]), (&"mempool".into(), &Value::Null, &true.into()));
    let of = ["old_sats", "old_inputs", "input_count", "input_sats", "oldest_age_days"].map(|name| count_of(row, name));
    let all = old_coin.value_sats + young_coin.value_sats;
    assert_eq!(of, [old_coin.value_sats, 1, 2, all, age(&old_coin) / DAY], "{row}");
    let pulse = get_ok(&router, PULSE, PULSE).await;
    assert_eq!(pulse["unconfirmed"][0]["txid"], row["txid"]);
    let none = get_ok(&router, ALERTS, &format!("{ALERTS}?min_btc=21000000")).await;
    assert_eq!((&none["unconfirmed"], &none["unconfirmed_omitted"]), (&Value::Array(Vec::new()), &0.into()));
    // The movements of the chain are those of movements.
    let confirmed = get_ok(&router, MOVEMENTS, &format!("{MOVEMENTS}?limit=50")).await;
    assert_eq!(alerts["confirmed"], confirmed["movements"]);
}
