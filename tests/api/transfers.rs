//! Transactions that move much, and those that gather many coins, against what follows from the blocks.

use std::collections::BTreeMap;

use bitcoin::{Transaction, hashes::Hash};
use cairn_events::{Category, Claim, EvidenceTier};
use cairn_model::TxNum;
use cairn_support::cospending::paid_by_tx;
use serde_json::Value;

use crate::{
    claims::{claim, take},
    support::{World, address, assert_problem, count_of, get, get_ok, script_hash},
    unconfirmed::Waiting,
};

const ALERTS: &str = "/v1/chain/whale-alerts";
const LABELED: &str = "/v1/chain/whale-alerts/labeled";
const WHALES: &str = "/v1/pulse/whales";
const CONSOLIDATIONS: &str = "/v1/pulse/consolidations";
const SUMMARY: &str = "/v1/pulse/summary";

const BTC: u64 = 100_000_000;
const DAY: u32 = 86_400;

fn demo_world() -> World {
    World::of(cairn_chaingen::demo::chain(1).unwrap())
}

/// A transaction of the oracle.
struct Of<'w> {
    tx: &'w Transaction,
    height: u32,
}

fn txs(world: &World) -> BTreeMap<TxNum, Of<'_>> {
    let tip = world.oracle.tip().unwrap().0;
    world.oracle.transactions(tip).map(|(number, height, tx)| (number, Of { tx, height })).collect()
}

/// Transactions, except CoinJoins, that pay at least `sats` to others; the newest first.
fn large(world: &World, sats: u64) -> Vec<(TxNum, u64)> {
    let paid = paid_by_tx(&world.oracle, world.oracle.tip().unwrap().0);
    let large = paid.into_iter().filter(|(_, (paid, coinjoin))| !coinjoin && paid.to_clusters >= sats);
    let mut large: Vec<(TxNum, u64)> = large.map(|(tx, (paid, _))| (tx, paid.to_clusters)).collect();
    large.reverse();
    large
}

/// Number of the block that begins `days` days before the newest.
fn since(world: &World, days: u32) -> u32 {
    let headers = world.oracle.headers();
    let from = headers.last().unwrap().monotone_time.saturating_sub(days * DAY);
    headers.iter().position(|header| header.monotone_time >= from).unwrap() as u32
}

#[tokio::test]
async fn pulse_has_what_moves_much() {
    let world = &demo_world();
    let router = world.open_router();
    let txs = txs(world);
    let mut compared = 0;
    for (btc, limit) in [(100, 100), (120, 7), (300, 100)] {
        let expected = large(world, btc * BTC);
        let body = get_ok(&router, WHALES, &format!("{WHALES}?since=0&min_btc={btc}&limit={limit}")).await;
        let found = body["confirmed"].as_array().unwrap();
        assert_eq!(found.len(), expected.len().min(limit), "{btc} BTC");
        assert_eq!(body["truncated"], expected.len() > limit);
        for (row, (tx_num, sats)) in found.iter().zip(&expected) {
            let of = &txs[tx_num];
            assert_eq!(row["txid"], of.tx.compute_txid().to_string(), "{row}");
            let coins = world.oracle.spent(*tx_num);
            let sent: u64 = coins.iter().map(|coin| coin.value_sats).sum();
            let names = ["net_external_sats", "height", "input_count", "input_sats", "output_count"];
            let expected = [*sats, of.height.into(), coins.len() as u64, sent, of.tx.output.len() as u64];
            assert_eq!(names.map(|name| count_of(row, name)), expected, "{row}");
            assert_eq!(count_of(row, "band_btc"), if *sats >= 1_000 * BTC { 1_000 } else { 100 }, "{row}");
            assert_eq!(count_of(row, "net_external_min_sats"), without_change(world, *tx_num, of.tx, *sats), "{row}");
            let differs = row["net_external_min_sats"] != row["net_external_sats"];
            assert_eq!(row["caveat_codes"].to_string().contains("change_guess"), differs, "{row}");
            let from: u64 = row["from"].as_array().unwrap().iter().map(|side| count_of(side, "value_sats")).sum();
            assert!(from == sent || count_of(row, "from_omitted") > 0 && from < sent, "{row}");
            let to: u64 = row["to"].as_array().unwrap().iter().map(|side| count_of(side, "value_sats")).sum();
            assert!(to == *sats || count_of(row, "to_omitted") > 0 && to < *sats, "{row}");
            compared += 1;
        }
        let total: u64 = found.iter().map(|row| count_of(row, "net_external_sats")).sum();
        assert_eq!(count_of(&body, "confirmed_net_external_sats"), total);
    }
    assert!(compared > 20, "{compared} alerts are too few to compare");
}

/// The sum paid to others, minus possible change: if several outputs go to others, the largest of them that goes to a
/// script without earlier transactions.
fn without_change(world: &World, tx_num: TxNum, tx: &Transaction, net: u64) -> u64 {
    let oracle = &world.oracle;
    let clusters = cairn_support::cospending::clusters_of(oracle, oracle.txs()[tx_num.0 as usize].height);
    let own: Vec<_> = oracle.spent(tx_num).iter().map(|coin| clusters.cluster_of(&coin.script)).collect();
    let others: Vec<_> =
        tx.output.iter().filter(|output| !own.contains(&clusters.cluster_of(&output.script_pubkey))).collect();
    let is_new = |script: &bitcoin::Script| oracle.totals(script).is_some_and(|totals| totals.first == tx_num);
    let new = others.iter().filter(|output| is_new(&output.script_pubkey)).map(|output| output.value.to_sat()).max();
    net - new.filter(|_| others.len() > 1).unwrap_or(0)
}

/// Pages by offset and by cursor, of every range, in every size.
#[tokio::test]
async fn alerts_of_a_range_come_in_pages() {
    let world = &demo_world();
    let router = world.open_router();
    let txs = txs(world);
    // The newest large transfers of the demo are older than a month: the blocks above them go.
    let newest = large(world, 100 * BTC)[0].0;
    let height = txs[&newest].height;
    world.engine.lock().unwrap().unwind(height, &cairn_pipeline::NoProgress).unwrap();
    let times: Vec<u32> = world.oracle.headers().iter().map(|header| header.monotone_time).collect();
    for (range, days) in [("1d", 1), ("24h", 1), ("7d", 7), ("30d", 30)] {
        let from = times[height as usize] - days * DAY;
        let within = |tx: &TxNum| txs[tx].height <= height && times[txs[tx].height as usize] >= from;
        let expected: Vec<String> = large(world, 100 * BTC)
            .into_iter()
            .filter(|(tx, _)| within(tx))
            .map(|(tx, _)| txs[&tx].tx.compute_txid().to_string())
            .collect();
        assert!(!expected.is_empty());
        for limit in [1, 2, 1_000] {
            for by in ["next_cursor", "next_offset"] {
                let (mut found, mut next) = (Vec::new(), String::new());
                for page in 0.. {
                    let path = format!("{ALERTS}?range={range}&limit={limit}{next}");
                    let body = get_ok(&router, ALERTS, &path).await;
                    let rows = body["alerts"].as_array().unwrap().iter();
                    found.extend(rows.map(|row| row["txid"].as_str().unwrap().to_owned()));
                    let name = by.trim_start_matches("next_");
                    match &body[by] {
                        Value::Null => break,
                        Value::String(cursor) => next = format!("&{name}={cursor}"),
                        offset => next = format!("&{name}={offset}"),
                    }
                    assert!(page < 1_000, "pages without end");
                }
                assert_eq!(found, expected, "{range} {limit} {by}");
            }
        }
    }
    let csv = get(&router, &format!("{ALERTS}?range=30d&format=csv")).await;
    assert!(csv.text.starts_with("time,height,txid,net_external_sats,net_external_min_sats"), "{}", csv.text);
    assert!(csv.text.lines().count() > 1);
}

/// The owners of both sides follow from claims, also from those about other scripts of a cluster, and change with them.
#[tokio::test]
async fn directions_follow_from_labels() {
    let world = &demo_world();
    let router = world.open_router();
    let actors = cairn_chaingen::demo::actors().unwrap();
    let script =
        |name: &str, at: usize| actors.iter().find(|of| of.name == name).unwrap().addresses[at].script_pubkey();
    // Transactions of the sleeper: to an own script first, at last to the exchange.
    let newest = large(world, 100 * BTC)
        .into_iter()
        .find(|(tx, _)| world.oracle.spent(*tx).iter().any(|coin| coin.script == script("sleeper", 0)));
    let newest = newest.expect("the sleeper wakes").0;
    let of = &txs(world)[&newest];
    // A few blocks later the exchange has swept the deposit.
    world.engine.lock().unwrap().unwind(of.height + 6, &cairn_pipeline::NoProgress).unwrap();
    let txid = of.tx.compute_txid().to_string();
    let find = async |path: &str| {
        let template = if path.contains("labeled") { LABELED } else { ALERTS };
        let body = get_ok(&router, template, path).await;
        let rows = body["alerts"].as_array().unwrap();
        rows.iter().find(|row| row["txid"] == txid.as_str()).cloned()
    };
    assert_eq!(find(&format!("{LABELED}?range=30d")).await, None);
    let row = &find(&format!("{ALERTS}?range=30d")).await.unwrap();
    assert_eq!(row["flow_direction"], "unknown");
    assert_eq!((&row["from_owner"], &row["to_owner"]), (&Value::Null, &Value::Null));
    // One deposit address of the exchange: those that are swept with it are its, too.
    let own = Claim {
        level: 90,
        tier: EvidenceTier::SelfDisclosed,
        category: Some(Category::Exchange),
        ..claim(&script("exchange", 2), "cairn-exchange")
    };
    take(world, "exchange", 1_700_000_000, false, std::slice::from_ref(&own));
    let row = &find(&format!("{LABELED}?range=30d")).await.unwrap();
    assert_eq!((&row["flow_direction"], &row["from_owner"]), (&"to_exchange".into(), &Value::Null), "{row}");
    assert_eq!(row["to_owner"]["entity"], "cairn-exchange");
    assert_eq!((&row["to_owner"]["category"], &row["to_owner"]["is_inherited"]), (&"exchange".into(), &true.into()));
    for (flow, is_there) in [("to_exchange", true), ("from_exchange", false), ("unknown", false), ("internal", false)] {
        let of = find(&format!("{ALERTS}?range=30d&flow_type={flow}")).await;
        assert_eq!(of.is_some(), is_there, "{flow}");
    }
    assert_eq!(find(&format!("{LABELED}?range=30d&offset=100")).await, None);
    // The same entity on both sides.
    let sleeper = Claim { category: Some(Category::Exchange), ..claim(&script("sleeper", 0), "cairn-exchange") };
    take(world, "blog", 1_700_000_001, false, &[sleeper]);
    let row = &find(&format!("{LABELED}?range=30d")).await.unwrap();
    assert_eq!((&row["flow_direction"], &row["from_owner"]["is_inherited"]), (&"internal".into(), &false.into()));
}

#[tokio::test]
async fn consolidations_are_those_of_the_blocks() {
    let world = &demo_world();
    let router = world.open_router();
    let coinjoins = paid_by_tx(&world.oracle, world.oracle.tip().unwrap().0);
    let mut compared = 0;
    for (inputs, btc) in [(10, 0), (25, 0), (12, 20)] {
        let mut expected = Vec::new();
        for (number, of) in txs(world).into_iter().rev() {
            let coins = world.oracle.spent(number);
            let sats: u64 = coins.iter().map(|coin| coin.value_sats).sum();
            let gathers = coins.len() >= inputs && coins.len() >= 5 * of.tx.output.len();
            if gathers && sats >= btc * BTC && !coinjoins[&number].1 {
                expected.push((of.tx.compute_txid().to_string(), coins.len() as u64, sats));
            }
        }
        let body = get_ok(
            &router,
            CONSOLIDATIONS,
            &format!("{CONSOLIDATIONS}?since=0&min_inputs={inputs}&min_btc={btc}&limit=100"),
        )
        .await;
        let found = body["confirmed"].as_array().unwrap();
        assert_eq!(found.len(), expected.len().min(100), "{inputs} {btc}");
        for (row, (txid, inputs, sats)) in found.iter().zip(&expected) {
            assert_eq!(row["txid"], txid.as_str());
            assert_eq!(["input_count", "value_sats"].map(|name| count_of(row, name)), [*inputs, *sats], "{row}");
        }
        compared += found.len();
    }
    assert!(compared > 20, "{compared} are too few to compare");
}

/// The summary is that of the scanners.
#[tokio::test]
async fn the_summary_adds_up() {
    let world = &demo_world();
    let router = world.open_router();
    let newest = large(world, 100 * BTC)[0].0;
    let height = world.oracle.txs()[newest.0 as usize].height;
    world.engine.lock().unwrap().unwind(height, &cairn_pipeline::NoProgress).unwrap();
    let summary = get_ok(&router, SUMMARY, SUMMARY).await;
    let whales = get_ok(&router, WHALES, &format!("{WHALES}?limit=100")).await;
    let gathered = get_ok(&router, CONSOLIDATIONS, &format!("{CONSOLIDATIONS}?limit=100")).await;
    let old = get_ok(&router, "/v1/pulse/dormant", "/v1/pulse/dormant?limit=100").await;
    assert_eq!(summary["whales"]["net_external_sats"], whales["confirmed_net_external_sats"]);
    assert_eq!(summary["whales"]["count"], whales["confirmed_count"]);
    assert!(count_of(&summary["whales"], "count") > 0);
    assert_eq!(summary["consolidations"]["count"], gathered["confirmed_count"]);
    assert_eq!(summary["consolidations"]["value_sats"], gathered["confirmed_sats"]);
    assert_eq!(summary["dormant"]["count"], old["confirmed_count"]);
    assert_eq!(summary["dormant"]["old_sats"], old["confirmed_old_sats"]);
    assert_eq!(summary["dormant"]["coin_days_destroyed"], old["confirmed_coin_days_destroyed"]);
    for scanner in ["whales", "dormant", "consolidations"] {
        assert_eq!(
            (&summary[scanner]["status"], &summary[scanner]["covered_from_height"]),
            (&"live".into(), &summary["since_height"])
        );
    }
    assert_eq!((&summary["mempool"], summary["mempool_reason"].is_string()), (&"absent".into(), true));
}

#[tokio::test]
async fn bounds_are_told() {
    let world = &demo_world();
    let router = world.open_router();
    for bad in
        ["min_btc=99.99999999", "limit=0", "limit=1001", "offset=100001", "range=2d", "flow_type=sale", "cursor=00"]
    {
        for path in [ALERTS, LABELED] {
            assert_problem(&get(&router, &format!("{path}?{bad}")).await, 422, "validation_error");
        }
    }
    for bad in ["min_inputs=9", "min_inputs=25001", "limit=101", "since=never"] {
        assert_problem(&get(&router, &format!("{CONSOLIDATIONS}?{bad}")).await, 422, "validation_error");
    }
    for bad in ["min_btc=1", "limit=101"] {
        assert_problem(&get(&router, &format!("{WHALES}?{bad}")).await, 422, "validation_error");
    }
}

/// A cursor goes on after new blocks; a reorganization below it ends it.
#[tokio::test]
async fn a_cursor_lives_as_long_as_its_block() {
    let world = &demo_world();
    let router = world.open_router();
    let newest = large(world, 100 * BTC)[0].0;
    let height = world.oracle.txs()[newest.0 as usize].height;
    let unwind = |to: u32| world.engine.lock().unwrap().unwind(to, &cairn_pipeline::NoProgress).unwrap();
    unwind(height);
    let first = get_ok(&router, ALERTS, &format!("{ALERTS}?range=30d&limit=1")).await;
    let next = format!("{ALERTS}?range=30d&limit=1&cursor={}", first["next_cursor"].as_str().unwrap());
    // It names the block of the first alert, from which the next page goes on.
    let second = get_ok(&router, ALERTS, &next).await;
    assert_eq!(second["offset"], Value::Null);
    unwind(height - 1);
    assert_problem(&get(&router, &next).await, 409, "cursor_expired");
}

/// Transactions of the mempool count with the sum that they pay outside the clusters that they spend from, without the
/// part that goes back to them.
#[tokio::test]
async fn pulse_has_what_waits() {
    let world = &demo_world();
    let mut waiting = Waiting::at_tip(world);
    let oracle = &world.oracle;
    let tip = oracle.tip().unwrap().0;
    let clusters = cairn_support::cospending::clusters_of(oracle, tip);
    // A large coin, and a small one of a cluster, of which another script is paid.
    let (large, coin) = oracle.coins().iter().find(|(_, coin)| coin.value_sats > 102 * BTC).expect("a large coin");
    let (small, member) = oracle
        .coins()
        .iter()
        .find_map(|(at, coin)| {
            let members = clusters.members(&coin.script);
            Some((*at, members.into_iter().find(|other| **other != coin.script)?.clone()))
        })
        .expect("a coin of a cluster");
    let spends = [*large, small];
    let own = [clusters.cluster_of(&coin.script), clusters.cluster_of(&member)];
    let others: Vec<_> = oracle.scripts().filter(|script| !own.contains(&clusters.cluster_of(script))).collect();
    let router = world.open_router();
    let none = waiting.send(&spends, &[(member.clone(), 101 * BTC)], 10_000);
    let body = get_ok(&router, WHALES, WHALES).await;
    assert_eq!(body["unconfirmed"], Value::Array(Vec::new()), "it stays in the cluster");
    waiting.leave(&none, cairn_model::RemoveReason::Unknown);
    let new = bitcoin::ScriptBuf::from_bytes([&[0, 20][..], &[0x5a; 20]].concat());
    let tx = waiting.send(&spends, &[(others[0].clone(), 70 * BTC), (new.clone(), 31 * BTC)], 10_000);
    let body = get_ok(&router, WHALES, WHALES).await;
    let [row] = &body["unconfirmed"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!(row["txid"], bitcoin::Txid::from_byte_array(tx.txid.0).to_string());
    assert_eq!((&row["state"], &row["height"], &row["provisional"]), (&"mempool".into(), &Value::Null, &true.into()));
    let of = ["net_external_sats", "net_external_min_sats", "external_output_count"].map(|name| count_of(row, name));
    assert_eq!(of, [101 * BTC, 70 * BTC, 2], "{row}");
    let name = address(others[0]).unwrap_or_else(|| script_hash(others[0]));
    assert_eq!((&row["to"][0]["address"], &row["to"][1]["address"]), (&name.into(), &address(&new).unwrap().into()));
    assert_eq!(since(world, 1), u32::try_from(count_of(&body, "since_height")).unwrap());
    let more = get_ok(&router, WHALES, &format!("{WHALES}?min_btc=101.00000001")).await;
    assert_eq!((&more["unconfirmed"], &more["unconfirmed_omitted"]), (&Value::Array(Vec::new()), &0.into()));
}
