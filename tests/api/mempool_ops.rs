//! Answers about the mempool against naive sums over the transactions in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bitcoin::{OutPoint, ScriptBuf};
use cairn_domain::{
    FeeRate,
    mempool::{BUCKET_EDGES, Template},
};
use cairn_link::Absent;
use cairn_model::{MempoolDelta, MempoolTx, RemoveReason, Txid};
use serde_json::{Value, json};

use crate::{
    support::{World, address, assert_problem, everything_world, get, get_ok},
    unconfirmed::{FLOOR, Waiting, output},
};

const STATS: &str = "/v1/mempool/stats";
const DISTRIBUTION: &str = "/v1/mempool/fee-distribution";
const TX: &str = "/v1/mempool/tx/{txid}";
const FEES: &str = "/v1/fees/recommended";
const BLOCKS: &str = "/v1/chain/projected-blocks";

/// Waits until what is projected is the present mempool: projections are made at intervals.
pub async fn settle(waiting: &Waiting<'_>) {
    for _ in 0..100 {
        waiting.slot.refresh();
        let wanted = waiting.slot.stats().map(|stats| stats.generation);
        if waiting.slot.projection().map(|projection| projection.generation) == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    panic!("the mempool was not projected");
}

fn p2wpkh(tag: u8) -> ScriptBuf {
    ScriptBuf::from_bytes([&[0, 20][..], &[tag; 20]].concat())
}

/// Transactions of one input and one output each: all of the same size.
fn equal_txs(world: &World, waiting: &mut Waiting<'_>, fees: &[u64]) -> Vec<Arc<MempoolTx>> {
    let coins: Vec<OutPoint> = waiting.coins(1_000_000).take(fees.len()).collect();
    assert_eq!(coins.len(), fees.len());
    let pay = |(at, fee): (&OutPoint, &u64)| {
        let value = world.oracle.coins()[at].value_sats;
        waiting.make(&[*at], &[(p2wpkh(7), value - fee)], *fee)
    };
    coins.iter().zip(fees).map(pay).collect()
}

fn adds(txs: &[Arc<MempoolTx>]) -> Vec<MempoolDelta> {
    txs.iter().map(|tx| MempoolDelta::Add(Arc::clone(tx))).collect()
}

fn rate(tx: &MempoolTx) -> u64 {
    tx.fee_sats * 1000 / tx.adjusted_vsize()
}

fn sum(txs: &[Arc<MempoolTx>], of: impl Fn(&MempoolTx) -> u64) -> u64 {
    txs.iter().map(|tx| of(tx)).sum()
}

/// A feerate as answers print it, in thousandths.
fn milli(value: &Value) -> u64 {
    (value.as_f64().unwrap() * 1000.0).round() as u64
}

fn texts<'t>(txids: impl IntoIterator<Item = &'t Txid>) -> BTreeSet<String> {
    txids.into_iter().map(ToString::to_string).collect()
}

fn set(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn sums_are_those_of_the_transactions() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    settle(&waiting).await;
    let empty = get_ok(&router, STATS, STATS).await;
    assert_eq!((&empty["count"], &empty["vsize"], &empty["fees_sats"]), (&json!(0), &json!(0), &json!(0)));
    assert_eq!((&empty["next_block_median_sat_vb"], &empty["congestion"]["word"]), (&Value::Null, &json!("low")));

    let txs = equal_txs(world, &mut waiting, &[150, 300, 301, 999, 5_000, 100_000, 1_000_000]);
    waiting.tell(adds(&txs));
    settle(&waiting).await;
    let stats = get_ok(&router, STATS, STATS).await;
    assert_eq!(stats["count"], txs.len());
    assert_eq!(stats["vsize"], sum(&txs, MempoolTx::adjusted_vsize));
    assert_eq!(stats["weight"], sum(&txs, MempoolTx::weight));
    assert_eq!(stats["fees_sats"], sum(&txs, |tx| tx.fee_sats));
    assert_eq!(milli(&stats["floor"]["entry_fee_sat_vb"]), FLOOR.entry_fee());
    assert_eq!((&stats["inflow_vb_s"], stats["inflow_reason"].is_string()), (&Value::Null, true));
    assert_eq!((&stats["whole"], &stats["dropped"]), (&json!(true), &json!(0)));
    assert_eq!(stats["projection"]["current"], true);
    assert_eq!(stats["projection"]["tip"]["hash"], stats["_meta"]["tip"]["hash"]);
    assert_eq!(stats["_meta"]["freshness"], stats["as_of"]);

    let spread = get_ok(&router, DISTRIBUTION, DISTRIBUTION).await;
    assert_eq!(spread["projection"]["generation"], stats["generation"]);
    assert_eq!(spread["total"]["tx_count"], stats["count"]);
    assert_eq!(spread["total"]["vsize"], stats["vsize"]);
    assert_eq!(spread["total"]["fees_sats"], stats["fees_sats"]);
    let buckets = spread["buckets"].as_array().unwrap();
    assert_eq!(buckets.len(), BUCKET_EDGES.len());
    for (at, bucket) in buckets.iter().enumerate() {
        let from = BUCKET_EDGES[at].0;
        let to = BUCKET_EDGES.get(at + 1).map(|edge| edge.0);
        assert_eq!(milli(&bucket["from_sat_vb"]), from);
        assert_eq!(bucket["to_sat_vb"].is_null(), to.is_none());
        let above: Vec<_> = txs.iter().filter(|tx| rate(tx) >= from).cloned().collect();
        let within: Vec<_> = above.iter().filter(|tx| to.is_none_or(|to| rate(tx) < to)).cloned().collect();
        assert_eq!((&bucket["tx_count"], &bucket["cumulative_tx_count"]), (&json!(within.len()), &json!(above.len())));
        assert_eq!(bucket["vsize"], sum(&within, MempoolTx::adjusted_vsize));
        assert_eq!(bucket["cumulative_vsize"], sum(&above, MempoolTx::adjusted_vsize));
    }
}

/// Everything that can be reached from a transaction, naively.
fn reachable(of: &Txid, next: &BTreeMap<Txid, BTreeSet<Txid>>) -> BTreeSet<Txid> {
    let mut found = BTreeSet::new();
    let mut queue = vec![*of];
    while let Some(txid) = queue.pop() {
        queue.extend(next.get(&txid).into_iter().flatten().filter(|txid| found.insert(**txid)));
    }
    found
}

#[tokio::test]
async fn relatives_are_those_that_spend_each_other() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    let coins: Vec<OutPoint> = waiting.coins(1_000_000).take(3).collect();
    // A diamond with a tail, and a chain that meets it at its end.
    let root = waiting.make(&coins[..1], &[(p2wpkh(1), 100_000), (p2wpkh(2), 100_000)], 141);
    let left = waiting.make(&[output(&root, 0)], &[], 2_000);
    let right = waiting.make(&[output(&root, 1)], &[], 500);
    let meet = waiting.make(&[output(&left, 0), output(&right, 0)], &[], 50_000);
    let other = waiting.make(&coins[1..2], &[], 1_000);
    let tail = waiting.make(&[output(&meet, 0), output(&other, 0)], &[], 300);
    let alone = waiting.make(&coins[2..], &[], 3_000);
    let all = [root, left, right, meet, other, tail, alone];
    waiting.tell(adds(&all));
    settle(&waiting).await;

    let (mut up, mut down) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeMap::<_, BTreeSet<_>>::new());
    for tx in &all {
        for input in tx.inputs.iter().filter(|input| input.birth.is_none()) {
            up.entry(tx.txid).or_default().insert(input.prev_txid);
            down.entry(input.prev_txid).or_default().insert(tx.txid);
        }
    }
    for tx in &all {
        let body = get_ok(&router, TX, &format!("/v1/mempool/tx/{}", tx.txid)).await;
        for (name, next) in [("ancestors", &up), ("descendants", &down)] {
            let expected = reachable(&tx.txid, next);
            let of_set: Vec<_> = all.iter().filter(|tx| expected.contains(&tx.txid)).cloned().collect();
            let found = &body[name];
            assert_eq!(set(&found["txids"]), texts(&expected), "{name}");
            assert_eq!((&found["count"], &found["truncated"]), (&json!(expected.len()), &json!(false)));
            assert_eq!(found["vsize"], sum(&of_set, MempoolTx::adjusted_vsize));
            assert_eq!(found["fees_sats"], sum(&of_set, |tx| tx.fee_sats));
        }
        assert_eq!(set(&body["parents"]), texts(up.get(&tx.txid).into_iter().flatten()));
        assert_eq!(set(&body["children"]), texts(down.get(&tx.txid).into_iter().flatten()));
        check_own(tx, &body);
        assert_eq!((&body["projected_block"], &body["eta"]["blocks"]), (&json!(0), &json!(1)));
        assert_eq!((&body["eta"]["state"], &body["eta"]["seconds"]), (&json!("projected"), &json!(600)));
        let (own, effective) = (milli(&body["fee_rate_sat_vb"]), milli(&body["effective_fee_rate_sat_vb"]));
        match tx.txid {
            id if id == all[0].txid => assert!(effective > own, "its descendants pay for it"),
            id if id == all[6].txid => assert_eq!(effective, own),
            _ => {}
        }
    }

    let path = format!("/v1/mempool/tx/{}?relatives_limit=2&io_limit=1", all[5].txid);
    let few = get_ok(&router, TX, &path).await;
    let listed = few["ancestors"]["txids"].as_array().unwrap().len();
    assert_eq!((listed, &few["ancestors"]["count"], &few["ancestors"]["txids_omitted"]), (2, &json!(5), &json!(3)));
    assert_eq!((few["inputs"].as_array().unwrap().len(), &few["inputs_omitted"]), (1, &json!(1)));
}

/// Checks the facts about a transaction itself.
fn check_own(tx: &MempoolTx, body: &Value) {
    assert_eq!((&body["txid"], &body["wtxid"]), (&json!(tx.txid.to_string()), &json!(tx.wtxid.to_string())));
    assert_eq!((&body["size"], &body["weight"]), (&json!(tx.size), &json!(tx.weight())));
    assert_eq!((&body["vsize"], &body["adjusted_vsize"]), (&json!(tx.vsize()), &json!(tx.adjusted_vsize())));
    assert_eq!(body["fee_sats"], tx.fee_sats);
    assert_eq!(milli(&body["fee_rate_sat_vb"]), rate(tx));
    let seen: jiff::Timestamp = body["mempool_first_seen"].as_str().unwrap().parse().unwrap();
    assert_eq!(seen.as_millisecond() as u64, tx.first_seen_ms);
    assert_eq!((&body["rbf"], &body["bip125_replaceable"]), (&true.into(), &true.into()));
    let (inputs, outputs) = (body["inputs"].as_array().unwrap(), body["outputs"].as_array().unwrap());
    assert_eq!((inputs.len(), outputs.len()), (tx.inputs.len(), tx.outputs.len()));
    for (row, input) in inputs.iter().zip(&tx.inputs) {
        assert_eq!((&row["txid"], &row["vout"]), (&json!(input.prev_txid.to_string()), &json!(input.prev_vout)));
        assert_eq!((&row["value_sats"], &row["height"]), (&json!(input.value), &json!(input.birth)));
        assert_eq!(row["unconfirmed"], input.birth.is_none());
        assert_eq!(row["address"], json!(address(bitcoin::Script::from_bytes(&input.script))));
    }
    for (row, output) in outputs.iter().zip(&tx.outputs) {
        assert_eq!(row["value_sats"], output.value);
        assert_eq!(row["address"], json!(address(bitcoin::Script::from_bytes(&output.script))));
    }
}

#[tokio::test]
async fn what_is_not_there_says_what_became_of_it() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    let coins: Vec<OutPoint> = waiting.coins(1_000_000).take(2).collect();
    let first = waiting.make(&coins[..1], &[], 500);
    let better = waiting.make(&coins[..1], &[], 5_000);
    let evicted = waiting.make(&coins[1..], &[], 200);
    waiting.tell(adds(&[Arc::clone(&first), Arc::clone(&better), Arc::clone(&evicted)]));
    waiting.leave(&evicted, RemoveReason::Evicted);
    settle(&waiting).await;

    let path = |txid: &dyn ToString| format!("/v1/mempool/tx/{}", txid.to_string());
    let body = get_ok(&router, TX, &path(&better.txid)).await;
    assert_eq!(body["replaces"], json!([first.txid.to_string()]));
    let replaced = get(&router, &path(&first.txid)).await;
    assert_problem(&replaced, 404, "tx_not_found");
    let departed = &replaced.body["departed"];
    assert_eq!((&departed["reason"], &departed["replaced_by"]), (&"replaced".into(), &better.txid.to_string().into()));
    assert_eq!((&departed["fee_sats"], &replaced.body["confirmed"]), (&json!(500), &Value::Null));
    let gone = get(&router, &path(&evicted.txid)).await;
    assert_problem(&gone, 404, "tx_not_found");
    assert_eq!((&gone.body["departed"]["reason"], &gone.body["departed"]["height"]), (&"evicted".into(), &Value::Null));

    let (height, block) = world.oracle.blocks().iter().enumerate().next_back().unwrap();
    let confirmed = get(&router, &path(&block.txdata[0].compute_txid())).await;
    assert_problem(&confirmed, 404, "tx_not_found");
    assert_eq!(confirmed.body["confirmed"], json!({"height": height, "block_index": 0}));
    let unknown = get(&router, &path(&"ab".repeat(32))).await;
    assert_problem(&unknown, 404, "tx_not_found");
    assert_eq!((&unknown.body["confirmed"], &unknown.body["departed"]), (&Value::Null, &Value::Null));
    assert_problem(&get(&router, "/v1/mempool/tx/xy").await, 400, "invalid_txid");
}

/// A miner with room for seven of the equal transactions in a block, and three blocks to look at.
fn small_template(each: &MempoolTx) -> Template {
    let max_weight = Template::default().reserved_weight + 7 * each.weight() + 3;
    Template { max_weight, max_blocks: 3, min_rate: FeeRate(2_000), ..Template::default() }
}

#[tokio::test]
async fn blocks_take_the_best_paying_first() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    // Mixed up, all different; the last one pays less than the miner asks for.
    let fees: Vec<u64> = (0..30u64).map(|n| 1_000 + n * 17 % 30 * 700).chain([150]).collect();
    let txs = equal_txs(world, &mut waiting, &fees);
    assert!(txs.iter().all(|tx| tx.weight() == txs[0].weight()));
    let template = small_template(&txs[0]);
    waiting.slot.set_template(template);
    waiting.tell(adds(&txs));
    settle(&waiting).await;
    let mut sorted = txs.clone();
    sorted.sort_by_key(|tx| std::cmp::Reverse(tx.fee_sats));

    let body = get_ok(&router, BLOCKS, &format!("{BLOCKS}?txids_limit=1000")).await;
    let blocks = body["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 3);
    for (at, (block, expected)) in blocks.iter().zip(sorted.chunks(7)).enumerate() {
        assert_eq!((&block["index"], &block["tx_count"]), (&json!(at), &json!(7)));
        assert_eq!(block["height"], world.oracle.blocks().len() + at);
        assert_eq!(set(&block["txids"]), texts(expected.iter().map(|tx| &tx.txid)));
        assert_eq!(block["weight"], sum(expected, MempoolTx::weight));
        assert_eq!(block["vsize"], sum(expected, MempoolTx::weight).div_ceil(4));
        assert_eq!(block["fees_sats"], sum(expected, |tx| tx.fee_sats));
        let range = &block["fee_range"];
        assert_eq!(milli(&range["max_sat_vb"]), rate(&expected[0]));
        assert_eq!(milli(&range["median_sat_vb"]), rate(&expected[3]));
        assert_eq!(milli(&range["min_sat_vb"]), rate(&expected[6]));
    }
    assert_eq!(body["left_over"]["tx_count"], 10);
    let left = sum(&sorted[21..], MempoolTx::vsize);
    let shown = body["left_over"]["vsize"].as_u64().unwrap();
    assert!((left..=left + 21).contains(&shown), "{shown} for {left}");
    let short = get_ok(&router, BLOCKS, &format!("{BLOCKS}?txids_limit=2")).await;
    assert_eq!(short["blocks"][0]["txids"].as_array().unwrap().len(), 2);
    assert_eq!(short["blocks"][0]["txids_omitted"], 5);
    assert_eq!(get_ok(&router, BLOCKS, BLOCKS).await["blocks"][1]["txids"], json!([]));

    for (at, tx) in sorted.iter().enumerate() {
        let body = get_ok(&router, TX, &format!("/v1/mempool/tx/{}", tx.txid)).await;
        let eta = &body["eta"];
        assert_eq!(milli(&body["effective_fee_rate_sat_vb"]), rate(tx));
        match at {
            0..21 => {
                assert_eq!(body["projected_block"], at / 7);
                assert_eq!((&eta["blocks"], &eta["seconds"]), (&json!(at / 7 + 1), &json!((at / 7 + 1) * 600)));
            }
            21..30 => {
                assert_eq!((&body["projected_block"], &eta["state"]), (&Value::Null, &"beyond_projection".into()));
                // Nine wait behind three full blocks: two more at most.
                assert!((4..=5).contains(&eta["blocks"].as_u64().unwrap()), "{eta}");
                assert_eq!(eta["at_least_blocks"], 4);
            }
            _ => {
                assert_eq!((&eta["state"], &eta["blocks"]), (&"below_minimum".into(), &Value::Null));
                assert!(eta["reason"].is_string());
            }
        }
    }
}

#[tokio::test]
async fn recommended_fees_never_rise_nor_undercut_the_floor() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    settle(&waiting).await;
    let names = ["fastest", "half_hour", "hour", "economy", "minimum"].map(|name| format!("{name}_fee_sat_vb"));
    let fees_of = |body: &Value| names.each_ref().map(|name| milli(&body[name]));
    let idle = get_ok(&router, FEES, FEES).await;
    assert_eq!(fees_of(&idle), [FLOOR.entry_fee(); 5], "an empty mempool asks for no more than the floor");
    assert_eq!((&idle["definition"], &idle["reason"]), (&"recommended-fees".into(), &Value::Null));

    let fees: Vec<u64> = (0..30).map(|n| 1_000 + n * 700).collect();
    let txs = equal_txs(world, &mut waiting, &fees);
    waiting.slot.set_template(Template { max_blocks: 8, min_rate: FeeRate(1), ..small_template(&txs[0]) });
    waiting.tell(adds(&txs));
    settle(&waiting).await;
    let busy = fees_of(&get_ok(&router, FEES, FEES).await);
    assert!(busy.windows(2).all(|pair| pair[0] >= pair[1]), "{busy:?}");
    // The first block is full: its median. The third is, too.
    assert_eq!((busy[0], busy[1]), (rate(&txs[26]), rate(&txs[12])));
    assert_eq!(busy[4], FLOOR.entry_fee());
    let median = &get_ok(&router, STATS, STATS).await["next_block_median_sat_vb"];
    assert_eq!(milli(median), busy[0]);

    let high = cairn_model::NodeFloor { mempool_min_fee: 200_000, ..FLOOR };
    waiting.tell(vec![MempoolDelta::NodeFloor(high)]);
    settle(&waiting).await;
    assert_eq!(fees_of(&get_ok(&router, FEES, FEES).await), [200_000; 5], "the floor is above all of them");
}

#[tokio::test]
async fn without_a_mempool_they_say_so() {
    let world = &everything_world();
    let router = world.open_router();
    let tx = format!("/v1/mempool/tx/{}", "ab".repeat(32));
    let paths = [STATS, DISTRIBUTION, &tx, FEES, BLOCKS, "/v1/network/mempool/stress"];
    let slot = world.slot.pool();
    for absent in [Absent::NotWatched, Absent::Loading, Absent::Lost] {
        slot.set_absent(absent);
        for path in paths {
            let reply = get(&router, path).await;
            assert_problem(&reply, 503, "mempool_unavailable");
            assert_eq!((reply.header("retry-after"), &reply.body["retryable"]), ("10", &json!(true)));
        }
    }
    let tip = world.oracle.tip().unwrap();
    let hash = cairn_model::BlockHash(bitcoin::hashes::Hash::to_byte_array(tip.1));
    slot.apply(&[
        MempoolDelta::Reset { sequence: 1 },
        MempoolDelta::Block { height: tip.0, hash, time: 0 },
        MempoolDelta::Sequence(1),
    ]);
    for path in paths {
        let reply = get(&router, path).await;
        assert_problem(&reply, 503, "mempool_unavailable");
        assert_eq!(reply.header("retry-after"), "1", "not projected yet");
    }
    slot.refresh();
    let fees = get_ok(&router, FEES, FEES).await;
    assert!(fees["fastest_fee_sat_vb"].is_null() && fees["reason"].is_string(), "the node told no floor");
    let stats = get_ok(&router, STATS, STATS).await;
    assert!(stats["floor"].is_null() && stats["floor_reason"].is_string());
    slot.set_absent(Absent::Lost);
    assert_problem(&get(&router, FEES).await, 503, "mempool_unavailable");
}

#[tokio::test]
async fn a_block_that_has_just_come() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    let block = |tag: u8| MempoolDelta::Block { height: 1, hash: cairn_model::BlockHash([tag; 32]), time: 0 };
    waiting.tell(vec![block(9)]);
    settle(&waiting).await;
    let apart = get(&router, STATS).await;
    assert_problem(&apart, 503, "mempool_unavailable");
    assert_eq!(apart.header("retry-after"), "1");
    // Index and mempool are together again; the projection still is the one from before.
    let (height, hash) = world.oracle.tip().unwrap();
    let hash = cairn_model::BlockHash(bitcoin::hashes::Hash::to_byte_array(hash));
    waiting.slot.apply(&[MempoolDelta::Block { height, hash, time: 0 }]);
    let body = get_ok(&router, BLOCKS, BLOCKS).await;
    assert_eq!((&body["projection"]["current"], &body["projection"]["tip"]["height"]), (&json!(false), &json!(1)));
    assert_eq!(body["_meta"]["warnings"][0]["code"], "projection_behind");
    waiting.slot.refresh();
    let body = get_ok(&router, BLOCKS, BLOCKS).await;
    assert_eq!((&body["projection"]["current"], &body["_meta"]["warnings"]), (&json!(true), &json!([])));
}

#[tokio::test]
async fn bounds_and_versions() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    settle(&waiting).await;
    let id = "ab".repeat(32);
    for (path, name) in [
        (format!("/v1/mempool/tx/{id}?relatives_limit=1001"), "relatives_limit"),
        (format!("/v1/mempool/tx/{id}?io_limit=-1"), "io_limit"),
        (format!("{BLOCKS}?txids_limit=1001"), "txids_limit"),
    ] {
        let reply = get(&router, &path).await;
        assert_problem(&reply, 422, "validation_error");
        assert_eq!(reply.body["errors"][0]["name"], name);
    }
    let before = get(&router, STATS).await;
    assert_eq!(before.header("etag"), get(&router, STATS).await.header("etag"));
    let txs = equal_txs(world, &mut waiting, &[500]);
    waiting.tell(adds(&txs));
    let after = get(&router, STATS).await;
    assert_ne!(before.header("etag"), after.header("etag"));
    assert_eq!((&after.body["count"], &before.body["count"]), (&json!(1), &json!(0)));
}
