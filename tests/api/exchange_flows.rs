//! Flows of exchanges, as answers show them, against what follows from the blocks; that their tables are right is
//! tested with the engine.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::ScriptBuf;
use cairn_events::{Category, Claim, EvidenceTier};
use cairn_pipeline::NoProgress;
use serde_json::Value;

use crate::{
    claims::{claim, take},
    support::{World, assert_problem, count_of, get, get_ok},
};

const FLOWS: &str = "/v1/exchange/flows";
const SUMMARY: &str = "/v1/exchange/flows/summary";
const DAY: u32 = 86_400;
/// When the list was retrieved: 2023-11-14.
const LISTED: u32 = 1_700_000_001;

pub fn script(name: &str, at: usize) -> ScriptBuf {
    let actors = cairn_chaingen::demo::actors().unwrap();
    actors.iter().find(|of| of.name == name).unwrap().addresses[at].script_pubkey()
}

fn follow(world: &World) {
    world.engine.lock().unwrap().follow_up(&NoProgress, true).unwrap();
}

/// Says that a script is an exchange's, with all of its cluster.
fn named(name: &str, at: usize, exchange: &str) -> Claim {
    Claim {
        level: 90,
        tier: EvidenceTier::SelfDisclosed,
        category: Some(Category::Exchange),
        ..claim(&script(name, at), exchange)
    }
}

/// The demo chain, whose exchange is named.
pub fn named_world() -> World {
    world_of(&[named("exchange", 2, "cairn-exchange")])
}

fn world_of(claims: &[Claim]) -> World {
    let world = World::of(cairn_chaingen::demo::chain(1).unwrap());
    take(&world, "exchanges", LISTED, true, claims);
    follow(&world);
    world
}

/// The scripts of the exchange's cluster as of a block.
fn scripts(world: &World, height: u32) -> BTreeSet<ScriptBuf> {
    let clusters = cairn_support::cospending::clusters_of(&world.oracle, height);
    clusters.members(&script("exchange", 2)).into_iter().cloned().collect()
}

/// Inflow, outflow, internal, fees and transactions.
type Days = BTreeMap<u32, [u64; 5]>;

/// Flows of an exchange with these scripts, from the blocks.
fn expected(world: &World, own: &BTreeSet<ScriptBuf>) -> Days {
    let (oracle, mut days) = (&world.oracle, Days::new());
    for (tx_num, height, tx) in oracle.transactions(oracle.tip().unwrap().0) {
        let coins = oracle.spent(tx_num);
        let all: u64 = coins.iter().map(|coin| coin.value_sats).sum();
        let sent: u64 = coins.iter().filter(|coin| own.contains(&coin.script)).map(|coin| coin.value_sats).sum();
        let outputs = || tx.output.iter();
        let received = outputs().filter(|output| own.contains(&output.script_pubkey));
        let (takes_part, received) =
            (received.clone().next().is_some(), received.map(|output| output.value.to_sat()).sum::<u64>());
        if sent == 0 && !takes_part {
            continue;
        }
        let fee = all.saturating_sub(outputs().map(|output| output.value.to_sat()).sum());
        let share = (u128::from(fee) * u128::from(sent) / u128::from(all.max(1))) as u64;
        let left = sent.saturating_sub(received);
        let fee = share.min(left);
        let row = [received.saturating_sub(sent), left - fee, sent.min(received), fee, 1];
        let day = days.entry(oracle.day(height)).or_default();
        day.iter_mut().zip(row).for_each(|(sum, more)| *sum += more);
    }
    days
}

fn signed(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or_else(|| panic!("{name}: {row}"))
}

const FIGURES: [&str; 5] = ["inflow_sats", "outflow_sats", "internal_sats", "fees_sats", "tx_count"];

fn figures(row: &Value) -> [u64; 5] {
    FIGURES.map(|name| count_of(row, name))
}

fn date(day: u32) -> String {
    jiff::Timestamp::from_second(i64::from(day) * i64::from(DAY)).unwrap().to_string()[..10].to_owned()
}

fn sum<'d>(days: impl Iterator<Item = &'d [u64; 5]>) -> [u64; 5] {
    days.fold([0; 5], |sum, day| std::array::from_fn(|at| sum[at] + day[at]))
}

#[tokio::test]
async fn flows_are_those_of_the_blocks() {
    let world = &world_of(&[named("exchange", 2, "cairn-exchange")]);
    let router = world.open_router();
    let oracle = &world.oracle;
    let tip = oracle.tip().unwrap().0;
    let own = scripts(world, tip);
    let expected = expected(world, &own);
    let last = oracle.day(tip);
    let held: u64 = own.iter().map(|script| oracle.balance_at(script, tip)).sum();
    for (query, days) in [("range=1d", 1), ("", 7), ("range=30d", 30), ("range=1y&exchange=Cairn%20Exchange", 365)] {
        let body = get_ok(&router, FLOWS, &format!("{FLOWS}?{query}")).await;
        assert_eq!((count_of(&body, "as_of_height"), count_of(&body, "exchange_count")), (tip.into(), 1));
        assert_eq!((&body["from_date"], &body["to_date"]), (&date(last + 1 - days).into(), &date(last).into()));
        let [exchange] = &body["exchanges"].as_array().unwrap()[..] else { panic!("{body}") };
        assert_eq!((&exchange["slug"], count_of(exchange, "balance_sats")), (&"cairn-exchange".into(), held));
        let range = || expected.range(last + 1 - days..=last);
        let found: Vec<(String, [u64; 5])> = exchange["days"]
            .as_array()
            .unwrap()
            .iter()
            .rev()
            .map(|day| (day["date"].as_str().unwrap().to_owned(), figures(day)))
            .collect();
        let wanted: Vec<(String, [u64; 5])> = range().map(|(day, row)| (date(*day), *row)).collect();
        assert_eq!(found, wanted, "{query}");
        let whole = sum(range().map(|(_, row)| row));
        assert_eq!(figures(exchange), whole, "{query}");
        assert_eq!(figures(&body["totals"]), whole, "{query}: it is the only one");
        for name in ["reclassified_sats", "backfilled_sats", "from_exchanges_sats", "to_exchanges_sats"] {
            assert_eq!(exchange[name], 0, "{query} {name}");
        }
        // The held balance changes by that.
        let first = oracle.headers().iter().position(|header| header.monotone_time / DAY > last - days).unwrap() as u32;
        let before: u64 = own.iter().map(|script| oracle.balance_at(script, first - 1)).sum();
        let change = signed(exchange, "net_sats") - count_of(exchange, "fees_sats") as i64;
        assert_eq!(before as i64 + change, held as i64, "{query}");
        let csv = get(&router, &format!("{FLOWS}?format=csv&{query}")).await;
        assert_eq!(csv.text.lines().count(), wanted.len() + 1, "{}", csv.text);
    }
    let summary = get_ok(&router, SUMMARY, SUMMARY).await;
    assert_eq!((count_of(&summary, "balance_sats"), count_of(&summary, "as_of_height")), (held, tip.into()));
    for (window, days) in summary["windows"].as_array().unwrap().iter().zip([1, 7, 30]) {
        let whole = sum(expected.range(last + 1 - days..=last).map(|(_, row)| row));
        assert_eq!(figures(window), whole, "{window}");
        let net = whole[0] as i64 - whole[1] as i64;
        let named = if net > 0 { "top_net_inflows" } else { "top_net_outflows" };
        assert_eq!((signed(window, "net_sats"), signed(&window[named][0], "net_sats")), (net, net), "{window}");
    }
}

#[tokio::test]
async fn what_counts_at_a_time_follows_the_lists_of_that_time() {
    let world = &world_of(&[named("exchange", 2, "cairn-exchange")]);
    let router = world.open_router();
    let oracle = &world.oracle;
    let listed = oracle.headers().iter().position(|header| header.monotone_time >= LISTED).unwrap() as u32;
    let day = oracle.day(listed);
    let of =
        |from: u32, to: u32| format!("{FLOWS}?mode=pit&exchange=cairn-exchange&from={}&to={}", date(from), date(to));
    let body = get_ok(&router, FLOWS, &of(day - 300, day - 1)).await;
    assert_eq!(body["exchanges"][0]["days"], Value::Array(Vec::new()), "nobody was named yet");
    assert_eq!(count_of(&body, "as_of_height"), u64::from(oracle.tip().unwrap().0));
    let body = get_ok(&router, FLOWS, &of(day, day)).await;
    let [row] = &body["exchanges"][0]["days"].as_array().unwrap()[..] else { panic!("{body}") };
    // The balance of its cluster until then; later blocks of the day may have tied more to it.
    let then: u64 = scripts(world, listed).iter().map(|script| oracle.balance_at(script, listed - 1)).sum();
    assert!(then > 0 && signed(row, "reclassified_sats") >= then as i64, "{row}: {then}");
    // The index received the list in another century than the blocks: nobody could have seen it then.
    let moved = count_of(row, "inflow_sats") + count_of(row, "outflow_sats");
    assert_eq!(count_of(row, "backfilled_sats"), moved, "{row}");
    // By today's labels, it was there all along.
    let latest = get_ok(&router, FLOWS, &of(day - 300, day - 1).replace("mode=pit", "mode=latest")).await;
    assert!(!latest["exchanges"][0]["days"].as_array().unwrap().is_empty(), "{latest}");
}

#[tokio::test]
async fn exchanges_that_pay_each_other_are_told_apart() {
    // As if the pool were one: it pays the exchange.
    let world = &world_of(&[named("exchange", 2, "cairn-exchange"), named("pool", 0, "stone-exchange")]);
    let router = world.open_router();
    let body = get_ok(&router, FLOWS, &format!("{FLOWS}?range=30d")).await;
    let exchanges = body["exchanges"].as_array().unwrap();
    assert_eq!((exchanges.len(), &body["exchanges"][0]["slug"]), (2, &"cairn-exchange".into()));
    let all = |name: &str| exchanges.iter().map(|of| count_of(of, name)).sum::<u64>();
    let totals = &body["totals"];
    let shared = count_of(totals, "exchange_to_exchange_sats");
    assert!(shared > 0, "{totals}");
    for (side, part) in [("inflow", "from_exchanges_sats"), ("outflow", "to_exchanges_sats")] {
        let (with, without) = (format!("{side}_with_exchanges_sats"), format!("{side}_sats"));
        assert_eq!(count_of(totals, &with), all(&without));
        assert_eq!(count_of(totals, &without) + shared, count_of(totals, &with));
        // Each part rounds down.
        assert!(all(part) <= shared && all(part) + 1_000 >= shared, "{part}: {exchanges:?}");
    }
    let one = get_ok(&router, FLOWS, &format!("{FLOWS}?range=30d&limit=1")).await;
    assert_eq!((&one["exchanges"][0], &one["has_more"], &one["totals"]), (&exchanges[0], &true.into(), totals));
    let other = get_ok(&router, FLOWS, &format!("{FLOWS}?range=30d&exchange=stone-exchange")).await;
    assert_eq!(figures(&other["totals"])[4], count_of(&exchanges[1], "tx_count"));
}

#[tokio::test]
async fn an_answer_changes_with_labels_and_blocks() {
    let world = &world_of(&[named("exchange", 2, "cairn-exchange")]);
    let router = world.open_router();
    let before = get(&router, FLOWS).await;
    // Another document names the pool: at the same tip a new generation is made.
    take(world, "more", LISTED + 1, true, &[named("pool", 0, "stone-exchange")]);
    follow(world);
    let after = get(&router, FLOWS).await;
    assert_ne!(before.header("etag"), after.header("etag"));
    assert_eq!(after.body["exchange_count"], 2);
    // Its block is gone: the answer is made again.
    let tip = world.oracle.tip().unwrap().0;
    world.engine.lock().unwrap().unwind(tip - 3, &NoProgress).unwrap();
    for path in [FLOWS, SUMMARY] {
        let gone = get_ok(&router, path, path).await;
        assert_eq!((&gone["as_of_height"], &gone["exchange_count"]), (&Value::Null, &Value::Null), "{gone}");
        assert!(gone["reason"].as_str().is_some_and(|reason| reason.contains("being computed")), "{gone}");
    }
    let gone = get(&router, &format!("{FLOWS}?format=csv")).await;
    assert_eq!((gone.status, gone.text.lines().count()), (200, 1), "{}", gone.text);
    follow(world);
    let anew = get_ok(&router, FLOWS, FLOWS).await;
    assert_eq!(
        (count_of(&anew, "as_of_height"), count_of(&anew, "generation_height")),
        ((tip - 3).into(), (tip - 3).into())
    );
    assert_ne!(get(&router, FLOWS).await.header("etag"), after.header("etag"));
}

#[tokio::test]
async fn bounds_are_told() {
    let shop = Claim { category: Some(Category::Shop), ..claim(&script("merchant", 0), "somebody") };
    let world = &world_of(&[named("exchange", 2, "cairn-exchange"), shop]);
    let router = world.open_router();
    for bad in [
        "range=2d",
        "range=90d",
        "range=1y",
        "limit=0",
        "limit=51",
        "mode=best",
        "from=2025-01-01",
        "from=2025-12-20&to=2025-12-19",
        "from=2999-01-01",
        "from=2020-01-01&exchange=cairn-exchange",
        "from=yesterday",
    ] {
        assert_problem(&get(&router, &format!("{FLOWS}?{bad}")).await, 422, "validation_error");
    }
    for missing in ["nobody", "somebody"] {
        assert_problem(&get(&router, &format!("{FLOWS}?exchange={missing}")).await, 404, "entity_not_found");
    }
    // Days before the first block, and after the last one.
    let early = get_ok(&router, FLOWS, &format!("{FLOWS}?from=1950-01-01&to=1970-01-05")).await;
    assert_eq!((&early["exchanges"], &early["from_date"]), (&Value::Array(Vec::new()), &"1970-01-01".into()));
    let late = get_ok(&router, FLOWS, &format!("{FLOWS}?range=1d&to=2999-01-01")).await;
    assert_eq!(late["to_date"], date(world.oracle.day(world.oracle.tip().unwrap().0)));
    // Without labels no exchange is known.
    let world = &World::of(cairn_chaingen::demo::chain(1).unwrap());
    let router = world.open_router();
    for path in [FLOWS, SUMMARY] {
        let body = get_ok(&router, path, path).await;
        assert_eq!(count_of(&body, "exchange_count"), 0);
        assert!(body["_meta"]["warnings"].to_string().contains("no_label_source"), "{body}");
    }
}
