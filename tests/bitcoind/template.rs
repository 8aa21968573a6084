//! The first projected block and the node's own: in mempools of more than one block, with families of all shapes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bitcoin::Transaction;
use cairn_support::wait_until;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::{
    coins::{Coin, Draft, coins_of},
    node::{Node, Settings, bitcoind_or_skip},
    served::Served,
    wallet::{bare_multisig, sats},
};

/// Weight to fill the mempool with: more than one block.
const FULL: u64 = 6_000_000;

/// Why the node does not take some of them: the family is too large, or signature operations make them too cheap.
const LIMITS: [&str; 3] = ["too-large-cluster", "too-long-mempool-chain", "min relay fee not met"];

/// Sends transactions of random sizes, feerates and families, until this much waits.
fn fill(node: &Node, random: &mut ChaCha8Rng, coins: &mut Vec<Coin>, weight: u64) {
    let mut filled = 0;
    while filled < weight {
        let family = random.random_range(1..=12);
        let mut open = vec![coins.pop().unwrap()];
        for _ in 0..family {
            let Some(tx) = affordable(&shape(random, &mut open)) else { break };
            match node.try_send(&tx) {
                Ok(_) => filled += tx.weight().to_wu(),
                Err(said) => {
                    assert!(LIMITS.iter().any(|limit| said.contains(limit)), "{said}");
                    break;
                }
            }
            open.extend(coins_of(&tx));
        }
    }
}

/// A transaction that spends one to three of the open coins.
fn shape(random: &mut ChaCha8Rng, open: &mut Vec<Coin>) -> Draft {
    let inputs = random.random_range(1..=open.len().min(3));
    let spent = (0..inputs).map(|_| open.swap_remove(random.random_range(0..open.len()))).collect();
    // Few pay much, and many almost the same.
    let rate = match random.random_range(0..10) {
        0 => random.random_range(100..300),
        1..=5 => random.random_range(1_000..5_000),
        6..=8 => random.random_range(3_000..30_000),
        _ => random.random_range(30_000..200_000),
    };
    let filler = match random.random_range(0..10) {
        0..=4 => random.random_range(1..500),
        5..=8 => random.random_range(500..6_000),
        _ => random.random_range(6_000..20_000),
    };
    let sigops = if random.random_bool(0.02) { random.random_range(10..150) } else { 0 };
    Draft {
        coins: spent,
        change: random.random_range(1..=3),
        others: vec![(bare_multisig(), 1_000); sigops],
        filler,
        rate,
        signals: random.random_bool(0.5),
    }
}

/// The transaction, if its coins pay for it and the change is not dust.
fn affordable(draft: &Draft) -> Option<Transaction> {
    let have: u64 = draft.coins.iter().map(|coin| coin.value).sum();
    let size = 1_000 + draft.filler as u64 + 100 * draft.others.len() as u64;
    let need = size * draft.rate / 1_000 + 1_000 * (draft.others.len() + 2 * draft.change) as u64;
    (have > need).then(|| draft.make())
}

/// The first projected block, made from everything that the node has announced.
#[track_caller]
fn projected(node: &Node, served: &Served) -> Value {
    let told = node.rpc("getrawmempool", json!([false, true]));
    let (count, sequence) = (told["txids"].as_array().unwrap().len(), &told["mempool_sequence"]);
    let best = node.best();
    let mut body = Value::Null;
    wait_until("the projection of the node's mempool", || {
        let stats = served.try_get("/v1/mempool/stats").1;
        body = served.try_get("/v1/chain/projected-blocks?txids_limit=1000").1;
        let made = &body["projection"];
        stats["count"] == count
            && stats["node_sequence"] == *sequence
            && made["tip"]["hash"] == *best
            && made["current"] == true
            && made["generation"] == stats["generation"]
    });
    body
}

/// Feerates that count for mining, as the node and as Cairn see them: the largest difference in thousandths, without
/// what rounding to three decimals makes of it.
fn largest_difference(node: &Node, served: &Served, random: &mut ChaCha8Rng) -> f64 {
    let entries: BTreeMap<String, Value> = node.ask("getrawmempool", json!([true]));
    let mut largest: f64 = 0.0;
    for (txid, entry) in entries.iter().filter(|_| random.random_bool(0.2)) {
        // Nodes before v31 know no chunks.
        let Some(weight) = entry["chunkweight"].as_f64() else { continue };
        let theirs = sats(&entry["fees"]["chunk"]) as f64 / (weight / 4.0);
        let ours = served.get(&format!("/v1/mempool/tx/{txid}"))["effective_fee_rate_sat_vb"].as_f64().unwrap();
        largest = largest.max(((ours - theirs).abs() - 0.001) / theirs * 1_000.0);
    }
    largest
}

/// How a projected block differs from what the node puts into its own.
struct Difference {
    /// Difference of the fees, in parts of the node's.
    fees: f64,
    only_ours: usize,
    only_theirs: usize,
}

fn difference(block: &Value, theirs: &BTreeSet<String>, fees: i64) -> Difference {
    assert_eq!(block["txids_omitted"], 0);
    assert!(block["weight"].as_u64() <= Some(4_000_000), "{}", block["weight"]);
    let ours: BTreeSet<String> =
        block["txids"].as_array().unwrap().iter().map(|txid| txid.as_str().unwrap().to_owned()).collect();
    Difference {
        fees: (block["fees_sats"].as_i64().unwrap() - fees).abs() as f64 / fees as f64,
        only_ours: ours.difference(theirs).count(),
        only_theirs: theirs.difference(&ours).count(),
    }
}

impl Difference {
    /// Fees within 0.1 %, and few transactions that others of the same feerate may stand for.
    #[track_caller]
    fn is_small(&self, what: &str, count: usize) {
        let Difference { fees, only_ours, only_theirs } = *self;
        // Shown where a test is run with its output.
        println!(
            "{what}: {count} transactions, fees off by {:.4} %, {only_ours} only ours, {only_theirs} only theirs",
            fees * 100.0
        );
        assert!(fees <= 0.001, "{what}: fees off by {fees}");
        assert!(only_ours + only_theirs <= count / 20, "{what}: {only_ours} and {only_theirs} of {count}");
    }
}

/// The transactions of the node's next block, and their fees.
#[track_caller]
fn template(node: &Node) -> (BTreeSet<String>, i64) {
    let template = node.rpc_of_block("getblocktemplate", json!([{ "rules": ["segwit"] }]));
    let txs = template["transactions"].as_array().unwrap();
    let fees = txs.iter().map(|tx| tx["fee"].as_i64().unwrap()).sum();
    (txs.iter().map(|tx| tx["txid"].as_str().unwrap().to_owned()).collect(), fees)
}

/// The transactions of a node's block besides its coinbase, and their fees.
#[track_caller]
fn mined(node: &Node, hash: &str) -> (BTreeSet<String>, i64) {
    // Whole transactions of a full block are more than our client takes of an answer.
    let block = node.rpc("getblock", json!([hash, 1]));
    let txids = block["tx"].as_array().unwrap()[1..].iter().map(|txid| txid.as_str().unwrap().to_owned()).collect();
    let stats = node.rpc("getblockstats", json!([hash, ["totalfee"]]));
    (txids, stats["totalfee"].as_i64().unwrap())
}

/// Sums of the mempool as other operations have them.
#[track_caller]
fn sums_agree(node: &Node, served: &Served) {
    let told = node.rpc("getmempoolinfo", json!([]));
    let distribution = served.get("/v1/mempool/fee-distribution");
    assert_eq!(distribution["projection"]["current"], true);
    for (ours, theirs) in [("tx_count", told["size"].clone()), ("vsize", told["bytes"].clone())] {
        assert_eq!(distribution["total"][ours], theirs, "{ours}");
        let buckets = distribution["buckets"].as_array().unwrap();
        let sum: u64 = buckets.iter().map(|bucket| bucket[ours].as_u64().unwrap()).sum();
        assert_eq!(json!(sum), theirs, "{ours} of the buckets");
    }
    assert_eq!(distribution["total"]["fees_sats"], sats(&told["total_fee"]));
    let fees = served.get("/v1/fees/recommended");
    let names = ["fastest", "half_hour", "hour", "economy", "minimum"].map(|name| format!("{name}_fee_sat_vb"));
    let rates: Vec<f64> = names.iter().map(|name| fees[name].as_f64().unwrap_or_else(|| panic!("{fees}"))).collect();
    assert!(rates.is_sorted_by(|more, less| more >= less), "{fees}");
    assert!(rates[4] * 1_000.0 >= sats(&told["minrelaytxfee"]) as f64, "{fees}: {told}");
}

fn is_the_nodes(node: &Node, served: &mut Served, seeds: Range<u64>) {
    served.settle(node);
    let mut coins = node.coins_for_anyone(2_000, 4_000_000);
    for seed in seeds {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        fill(node, &mut random, &mut coins, FULL);
        let body = projected(node, served);
        let (theirs, fees) = template(node);
        let block = &body["blocks"][0];
        assert!(block["weight"].as_u64() > Some(3_900_000), "the mempool holds less than a block: {}", block["weight"]);
        assert!(body["blocks"].as_array().unwrap().len() > 1);
        difference(block, &theirs, fees).is_small(&format!("seed {seed}"), theirs.len());
        sums_agree(node, served);
        let rates = largest_difference(node, served, &mut random);
        assert!(rates < 10.0, "feerates differ by up to {rates} per mille");
        // The node mines it. The rest waits for the next round.
        let hash = node.mine(1).remove(0);
        served.settle(node);
        assert_eq!(mined(node, &hash), (theirs, fees));
    }
    served.end_and_verify(node);
}

#[test]
fn in_one_process() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    is_the_nodes(&node, &mut served, 0..3);
}

#[test]
fn in_two_processes() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    is_the_nodes(&node, &mut served, 3..5);
}

/// The blocks after the first, as they are mined one after the other while nothing else comes. Signature operations,
/// not weight, limit the first.
#[test]
fn and_of_the_blocks_after_it() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    served.settle(&node);
    let mut coins = node.coins_for_anyone(2_000, 4_000_000);
    let mut random = ChaCha8Rng::seed_from_u64(77);
    fill(&node, &mut random, &mut coins, 2 * FULL);
    // 4 of the cost by signature check, 20 checks by bare multisig: more together than a block may hold.
    for _ in 0..8 {
        let checks = vec![(bare_multisig(), 1_000); 180];
        node.send(&Draft { others: checks, rate: 9_000_000 / 50, ..Draft::of(coins.pop().unwrap(), 0) }.make());
    }
    let body = projected(&node, &served);
    let blocks = body["blocks"].as_array().unwrap();
    assert!(blocks.len() > 2, "{} blocks", blocks.len());
    assert!(blocks[0]["sigop_cost"].as_u64() > Some(70_000), "{}", blocks[0]["sigop_cost"]);
    for block in blocks {
        let hash = node.mine(1).remove(0);
        let (theirs, fees) = mined(&node, &hash);
        difference(block, &theirs, fees).is_small(&format!("block {}", block["index"]), theirs.len());
    }
    served.settle(&node);
    assert_eq!(node.rpc("getmempoolinfo", json!([]))["size"], 0, "everything was projected");
    served.end_and_verify(&node);
}
