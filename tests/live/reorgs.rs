//! The mempool after a reorganization: it is served again at once.

use std::{
    thread,
    time::{Duration, Instant},
};

use cairn_standin::{BlockPlan, Payment, StandIn, StandInOptions, Txs};
use serde_json::Value;

use crate::{
    cast::{Cast, Form},
    client::Client,
};

/// Reorganizations of each kind.
const ROUNDS: usize = 5;
/// Half of the reorganizations of a kind are over within this time. A machine that does something else may delay some of
/// them; a wait in the program delays all.
const SOON: Duration = Duration::from_millis(500);

/// What a reorganization leaves in the mempool.
#[derive(Clone, Copy, Debug)]
enum Left {
    Nothing,
    WhatWasThere,
    WhatWasConfirmed,
}

fn mine_nothing(node: &StandIn) {
    node.world().mine_plan(&BlockPlan { txs: Txs::None, ..BlockPlan::default() }).unwrap();
}

/// The tip that is served, of the index alone.
fn tip(client: &mut Client) -> String {
    let recent = client.ok("/v1/chain/recent-blocks?limit=1").unwrap_or_default();
    recent["_meta"]["tip"]["hash"].as_str().unwrap_or_default().to_owned()
}

fn is_partial(stats: &Value) -> bool {
    let warnings = stats["_meta"]["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    warnings.iter().any(|warning| warning["code"] == "mempool_incomplete")
}

/// Whether mempool and index are at the node's tip, with so many transactions.
fn is_at(client: &mut Client, node: &StandIn, count: u64) -> bool {
    let Ok(stats) = client.ok("/v1/mempool/stats") else { return false };
    stats["count"] == count && stats["_meta"]["tip"]["hash"] == node.world().tip().to_string().as_str()
}

/// Replaces the newest block by two empty ones. Returns the time from the new tip until the mempool is served.
fn reorganize(cast: &Cast, node: &StandIn, client: &mut Client, count: u64) -> Duration {
    let mut world = node.world();
    let old = world.tip();
    world.invalidate(&old).unwrap();
    for _ in 0..2 {
        world.mine_plan(&BlockPlan { txs: Txs::None, ..BlockPlan::default() }).unwrap();
    }
    let new = world.tip().to_string();
    drop(world);
    cast.wait_until("the new tip", || tip(client) == new);
    let at_tip = Instant::now();
    loop {
        let (code, stats) = client.get("/v1/mempool/stats").unwrap();
        if code == 200 {
            assert_eq!(stats["_meta"]["tip"]["hash"], new.as_str());
            assert!(stats["count"] == count || is_partial(&stats), "{count} transactions, not {stats}");
            return at_tip.elapsed();
        }
        assert_eq!((code, &stats["error"]), (503, &"mempool_unavailable".into()), "{stats}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn mempool_answers_return_at_once() {
    for form in [Form::One, Form::Two] {
        let node = StandIn::start(StandInOptions { premine: 105, ..StandInOptions::default() }).unwrap();
        node.world().fan_out(20, 5_000_000).unwrap();
        let mut cast = Cast::start(&node, form);
        let mut client = cast.client();
        for left in [Left::Nothing, Left::WhatWasThere, Left::WhatWasConfirmed] {
            let mut times = Vec::new();
            for _ in 0..ROUNDS {
                // All is confirmed first.
                node.world().mine(1).unwrap();
                let count = match left {
                    Left::Nothing => 0,
                    Left::WhatWasThere | Left::WhatWasConfirmed => 3,
                };
                for _ in 0..count {
                    node.world().send(&Payment::at(9_000)).unwrap();
                }
                match left {
                    Left::Nothing | Left::WhatWasThere => mine_nothing(&node),
                    Left::WhatWasConfirmed => drop(node.world().mine(1).unwrap()),
                }
                let before = if matches!(left, Left::WhatWasThere) { count } else { 0 };
                cast.wait_until("the state before", || is_at(&mut client, &node, before));
                times.push(reorganize(&cast, &node, &mut client, count));
                cast.wait_until("the state after", || is_at(&mut client, &node, count));
            }
            times.sort_unstable();
            assert!(times[ROUNDS / 2] < SOON, "{form:?}, {left:?}: {times:?}\n{}", cast.said());
        }
        cast.stop();
    }
}
