//! Flows of miners, against what follows from the blocks.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::ScriptBuf;
use cairn_events::{Category, Claim, ClaimType, EvidenceTier};
use serde_json::Value;

use crate::{
    claims::{claim, take},
    exchange_flows::script,
    support::{World, assert_problem, count_of, get, get_ok},
};

const FLOWS: &str = "/v1/miner/flows";
const DAY: u32 = 86_400;

/// The demo chain, whose pool and exchange are named.
fn named_world() -> World {
    let world = World::of(cairn_chaingen::demo::chain(1).unwrap());
    let pool = Claim {
        claim_type: ClaimType::CoinbasePayoutOf,
        category: Some(Category::MiningPool),
        ..claim(&script("pool", 0), "stone-pool")
    };
    let exchange = Claim {
        level: 90,
        tier: EvidenceTier::SelfDisclosed,
        category: Some(Category::Exchange),
        ..claim(&script("exchange", 2), "cairn-exchange")
    };
    take(&world, "pools", 1_700_000_000, true, &[pool]);
    take(&world, "exchange", 1_700_000_001, true, &[exchange]);
    world
}

/// Blocks, mined, outflow and what goes to the exchange, by day.
type Days = BTreeMap<u32, [u64; 4]>;

/// Flows of the blocks from a height on.
fn expected(world: &World, since: u32, exchange: &BTreeSet<ScriptBuf>) -> Days {
    let (oracle, pool) = (&world.oracle, script("pool", 0));
    let mut days = Days::new();
    for (tx_num, height, tx) in oracle.transactions(oracle.tip().unwrap().0) {
        if height < since {
            continue;
        }
        let sum = |pays: &dyn Fn(&ScriptBuf) -> bool| -> u64 {
            let outputs = tx.output.iter().filter(|output| pays(&output.script_pubkey));
            outputs.map(|output| output.value.to_sat()).sum()
        };
        if tx.is_coinbase() {
            if sum(&|script| *script == pool) > 0 {
                let day = days.entry(oracle.day(height)).or_default();
                day[0] += 1;
                day[1] += sum(&|_| true);
            }
            continue;
        }
        let coins = oracle.spent(tx_num);
        let all: u64 = coins.iter().map(|coin| coin.value_sats).sum();
        let sent: u64 = coins.iter().filter(|coin| coin.script == pool).map(|coin| coin.value_sats).sum();
        let received = sum(&|script| *script == pool);
        if sent <= received {
            continue;
        }
        let fee = all - sum(&|_| true);
        let share = (u128::from(fee) * u128::from(sent) / u128::from(all)) as u64;
        let left = (sent - received).saturating_sub(share);
        let day = days.entry(oracle.day(height)).or_default();
        day[2] += left;
        day[3] += left.min(sum(&|script| exchange.contains(script)));
    }
    days
}

#[tokio::test]
async fn flows_are_those_of_the_blocks() {
    let world = &named_world();
    let router = world.open_router();
    let oracle = &world.oracle;
    let tip = oracle.tip().unwrap().0;
    // Deposit addresses that are swept with the one that is named.
    let clusters = cairn_support::cospending::clusters_of(oracle, tip);
    let exchange: BTreeSet<ScriptBuf> = clusters.members(&script("exchange", 2)).into_iter().cloned().collect();
    assert!(exchange.len() > 10);
    for (range, days) in [("1d", 1), ("7d", 7), ("30d", 30)] {
        let from = oracle.headers().last().unwrap().monotone_time - days * DAY;
        let since = oracle.headers().iter().position(|header| header.monotone_time >= from).unwrap() as u32;
        let expected = expected(world, since, &exchange);
        let body = get_ok(&router, FLOWS, &format!("{FLOWS}?range={range}")).await;
        assert_eq!(count_of(&body, "since_height"), u64::from(since));
        let [pool] = &body["pools"].as_array().unwrap()[..] else { panic!("{body}") };
        assert_eq!(
            (&pool["slug"], &pool["reason"], &pool["holder_count"]),
            (&"stone-pool".into(), &Value::Null, &1.into())
        );
        let found: Vec<[u64; 4]> = pool["days"]
            .as_array()
            .unwrap()
            .iter()
            .rev()
            .map(|day| {
                ["block_count", "mined_sats", "outflow_sats", "to_exchange_sats"].map(|name| count_of(day, name))
            })
            .collect();
        assert_eq!(found, expected.values().copied().collect::<Vec<_>>(), "{range}");
        let total = |at: usize| expected.values().map(|day| day[at]).sum::<u64>();
        for (at, name) in (0..).zip(["block_count", "mined_sats", "outflow_sats", "to_exchange_sats"]) {
            assert_eq!(count_of(pool, name), total(at), "{range} {name}");
        }
        assert!(total(2) > 0 && total(3) > 0 && total(3) < total(2), "{range}: {expected:?}");
        assert_eq!(count_of(pool, "reserve_sats"), oracle.balance_at(&script("pool", 0), tip));
        let blocks = u64::from(tip + 1 - since);
        assert_eq!(count_of(pool, "block_count") + count_of(&body["unidentified"], "block_count"), blocks);
        let csv = get(&router, &format!("{FLOWS}?range={range}&format=csv")).await;
        assert_eq!(csv.text.lines().count(), expected.len() + 1, "{}", csv.text);
    }
    // Another label on the scripts that the coins went to changes the answer.
    let none = Claim {
        category: Some(Category::Shop),
        level: 90,
        tier: EvidenceTier::SelfDisclosed,
        ..claim(&script("exchange", 2), "cairn-exchange")
    };
    take(world, "exchange", 1_700_000_002, true, &[none]);
    let body = get_ok(&router, FLOWS, &format!("{FLOWS}?range=7d&pool=Stone-Pool")).await;
    assert_eq!(body["pools"][0]["to_exchange_sats"], 0);
}

#[tokio::test]
async fn bounds_are_told() {
    let world = &named_world();
    let router = world.open_router();
    for bad in ["range=2d", "limit=0", "limit=51"] {
        assert_problem(&get(&router, &format!("{FLOWS}?{bad}")).await, 422, "validation_error");
    }
    assert_problem(&get(&router, &format!("{FLOWS}?pool=nobody")).await, 404, "pool_not_found");
    // Without lists no block has a pool.
    let world = &World::of(cairn_chaingen::demo::chain(1).unwrap());
    let body = get_ok(&world.open_router(), FLOWS, FLOWS).await;
    assert_eq!((&body["pools"], &body["lists_loaded"]), (&Value::Array(Vec::new()), &false.into()));
    assert!(count_of(&body["unidentified"], "block_count") > 0);
}
