//! Mining pools against the blocks of the chain, attributed by hand.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Block, ScriptBuf};
use cairn_chaingen::Everything;
use cairn_events::{
    Body, Category, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, PoolTag, Provenance,
};
use cairn_pipeline::{NoProgress, SyncOptions};
use cairn_sources::BlockFiles;
use cairn_testkit::Oracle;
use serde_json::{Value, json};

use crate::support::{World, address, assert_problem, everything_world, get, get_ok, script_hash, write_tidy};

const LIST: &str = "/v1/pools/list";
const DETAIL: &str = "/v1/pools/{pool_name}";
const BLOCK: &str = "/v1/blocks/{height_or_hash}";
const RECENT: &str = "/v1/chain/recent-blocks";
const RETRIEVED: u32 = 1_760_000_000;

fn take(world: &World, number: u8, body: Body) {
    let provenance = Provenance {
        document: DocumentHash([number; 32]),
        source: "pools-test".parse().unwrap(),
        licence: "mit".parse().unwrap(),
        origin: "a test".to_owned(),
        retrieved_at: RETRIEVED,
    };
    let document = Document { provenance, received_at: None, body };
    world.engine.lock().unwrap().take_document(&document, 1_900_000_000).unwrap();
}

fn tag(row: u32, text: &str, pool: &str) -> PoolTag {
    let link = "https://pool.example".into();
    PoolTag { row, tag: text.into(), pool: pool.parse().unwrap(), name: pool.to_uppercase().into(), link }
}

/// A pool for the examples of the description; a tag identifies it.
pub fn take_example(world: &World) {
    let list = "pools".parse().unwrap();
    take(world, 0xee, Body::Listing { list, rows: vec![tag(1, "/example/", "stone-pool")].into() });
}

/// The pools that a test knows.
struct Lists {
    /// Tags of `alpha` and of `beta`.
    tags: [&'static str; 2],
    /// A script that is `payer`'s.
    script: ScriptBuf,
}

/// A pool, and whether it is paid.
type Attributed = Option<(&'static str, bool)>;

impl Lists {
    /// A script that many coinbases pay, and tags that the generated blocks have.
    fn of(oracle: &Oracle) -> Self {
        let mut scripts = BTreeMap::<ScriptBuf, u32>::new();
        for block in &oracle.blocks()[1..] {
            spendable(block).into_iter().take(1).for_each(|(_, script)| *scripts.entry(script).or_default() += 1);
        }
        let script = scripts.into_iter().max_by_key(|(_, count)| *count).unwrap().0;
        Lists { tags: ["/cairn pool/", "Stone & "], script }
    }

    fn take(&self, world: &World) {
        let claim = Claim {
            level: 10,
            entity: Some("payer".parse().unwrap()),
            entity_name: "The Payer".into(),
            category: Some(Category::MiningPool),
            ..Claim::bare(1, self.script.as_bytes().into(), ClaimType::CoinbasePayoutOf, EvidenceTier::Community)
        };
        let list = ClaimList { name: "pools".parse().unwrap(), is_complete: true };
        take(world, 1, Body::Claims { list, rows: vec![claim] });
        let rows = vec![tag(1, self.tags[0], "alpha"), tag(2, self.tags[1], "beta")];
        take(world, 2, Body::Listing { list: "pools".parse().unwrap(), rows: rows.into() });
    }

    fn of_block(&self, block: &Block) -> Attributed {
        if spendable(block).iter().take(8).any(|(_, script)| *script == self.script) {
            return Some(("payer", true));
        }
        let bytes = block.txdata[0].input[0].script_sig.as_bytes();
        let stands = |tag: &str| bytes.windows(tag.len()).any(|part| part == tag.as_bytes());
        let found = ["alpha", "beta"].into_iter().zip(self.tags).find(|(_, tag)| stands(tag));
        found.map(|(pool, _)| (pool, false))
    }
}

/// The spendable outputs of a coinbase, the largest first.
fn spendable(block: &Block) -> Vec<(u64, ScriptBuf)> {
    let outputs = block.txdata[0].output.iter().filter(|out| !out.script_pubkey.is_op_return());
    let mut found: Vec<_> = outputs.map(|out| (out.value.to_sat(), out.script_pubkey.clone())).collect();
    found.sort_by_key(|(value, _)| std::cmp::Reverse(*value));
    found
}

/// Figures of a pool, by hand: blocks, empty ones, fees, rewards, the newest block, and those by tag.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct ByHand {
    blocks: u32,
    empty: u32,
    fees: u64,
    reward: u64,
    last: u32,
    by_tag: u32,
}

fn by_hand(oracle: &Oracle, lists: &Lists, from: u32) -> BTreeMap<Option<&'static str>, ByHand> {
    let mut found: BTreeMap<Option<&'static str>, ByHand> = BTreeMap::new();
    for (height, block) in (0..).zip(oracle.blocks()).skip(from as usize) {
        let attributed = lists.of_block(block);
        let sum = found.entry(attributed.map(|(pool, _)| pool)).or_default();
        let first = oracle.headers()[height as usize].first_tx.0 as usize;
        sum.blocks += 1;
        sum.empty += u32::from(block.txdata.len() == 1);
        sum.fees += (0..block.txdata.len()).map(|at| oracle.txs()[first + at].fee_sats).sum::<u64>();
        sum.reward += block.txdata[0].output.iter().map(|out| out.value.to_sat()).sum::<u64>();
        sum.last = height;
        sum.by_tag += u32::from(attributed.is_some_and(|(_, paid)| !paid));
    }
    found
}

fn of_row(row: &Value) -> ByHand {
    let number = |name: &str| row[name].as_u64().unwrap();
    ByHand {
        blocks: number("blocks") as u32,
        empty: number("empty_blocks") as u32,
        fees: number("fees_sats"),
        reward: number("reward_sats"),
        last: row["last_block"]["height"].as_u64().unwrap_or(0) as u32,
        by_tag: row["blocks_by_tag"].as_u64().unwrap_or(0) as u32,
    }
}

fn millionths(value: &Value) -> u64 {
    (value.as_f64().unwrap() * 1e6).round() as u64
}

/// Compares the list of a window with what follows from the blocks.
async fn compare(world: &World, oracle: &Oracle, lists: &Lists, window: &str, blocks: u32) {
    let router = world.open_router();
    let body = get_ok(&router, LIST, &format!("{LIST}?window={window}")).await;
    let tip = oracle.tip().unwrap().0;
    let from = tip.saturating_sub(blocks) + 1;
    let mut expected = by_hand(oracle, lists, from);
    let unidentified = expected.remove(&None).unwrap_or_default();
    assert_eq!((&body["blocks"], &body["from_height"]), (&json!(tip - from + 1), &json!(from)));
    assert_eq!(body["as_of"]["height"], tip);
    let rows = body["pools"].as_array().unwrap();
    let found: BTreeMap<Option<&str>, ByHand> = rows.iter().map(|row| (row["slug"].as_str(), of_row(row))).collect();
    assert_eq!(found, expected);
    assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row["blocks"].as_u64())));
    let left = of_row(&body["unidentified"]);
    assert_eq!(ByHand { last: 0, ..unidentified }, left);
    let shares: u64 =
        rows.iter().chain([&body["unidentified"], &body["other"]]).map(|of| millionths(&of["share"])).sum();
    assert_eq!(shares, 1_000_000);
    let rate = body["hashrate_eh"].as_f64().unwrap();
    for row in rows {
        let part = rate * row["blocks"].as_f64().unwrap() / f64::from(tip - from + 1);
        // Rounded down to a billionth of a hash per second.
        assert!((row["hashrate_eh"].as_f64().unwrap() - part).abs() < 2e-27);
    }
}

#[tokio::test]
async fn pools_of_windows_and_of_blocks_are_those_by_hand() {
    let world = &everything_world();
    let lists = Lists::of(&world.oracle);
    lists.take(world);
    for (window, blocks) in [("24h", 144), ("1w", 1_008), ("1y", 52_560)] {
        compare(world, &world.oracle, &lists, window, blocks).await;
    }
    let router = world.open_router();
    let mut kinds = BTreeSet::new();
    for (height, block) in world.oracle.blocks().iter().enumerate() {
        let body = get_ok(&router, BLOCK, &format!("/v1/blocks/{height}?tx_limit=0")).await;
        let expected = if height == 0 { None } else { lists.of_block(block) };
        kinds.insert(expected);
        match expected {
            Some((pool, paid)) => {
                assert_eq!(body["pool"]["slug"], pool, "{height}");
                assert_eq!(body["pool"]["by"], if paid { "payout" } else { "tag" }, "{height}");
                assert!(body["pool_reason"].is_null());
            }
            None if height > 0 => {
                assert!(body["pool"].is_null() && body["pool_reason"].as_str().unwrap().contains("known pool"));
            }
            None => {}
        }
    }
    assert!(kinds.len() >= 3, "the chain has blocks of several kinds: {kinds:?}");
    let recent = get_ok(&router, RECENT, &format!("{RECENT}?limit=50")).await;
    for row in recent["blocks"].as_array().unwrap() {
        let block = &world.oracle.blocks()[row["height"].as_u64().unwrap() as usize];
        let expected = lists.of_block(block).map(|(pool, _)| pool);
        assert_eq!(row["pool"]["slug"].as_str(), expected);
        assert_eq!(row["pool_reason"].is_null(), expected.is_some());
    }
}

#[tokio::test]
async fn a_pool_in_detail() {
    let world = &everything_world();
    let lists = Lists::of(&world.oracle);
    lists.take(world);
    let router = world.open_router();
    let tip = world.oracle.tip().unwrap().0;
    for pool in ["payer", "alpha", "beta"] {
        let own: Vec<u32> = (1..=tip)
            .filter(|height| lists.of_block(&world.oracle.blocks()[*height as usize]).is_some_and(|(of, _)| of == pool))
            .collect();
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let more = cursor.as_ref().map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
            let body = get_ok(&router, DETAIL, &format!("/v1/pools/{}?limit=7{more}", pool.to_uppercase())).await;
            assert_eq!((&body["slug"], &body["untrusted_content"]), (&pool.into(), &true.into()));
            assert_eq!(body["first_block"]["height"].as_u64(), own.first().map(|height| u64::from(*height)));
            assert_eq!(body["last_block"]["height"].as_u64(), own.last().map(|height| u64::from(*height)));
            let year = body["windows"].as_array().unwrap().last().unwrap();
            assert_eq!((&year["window"], &year["blocks"]), (&"1y".into(), &own.len().into()));
            seen.extend(body["blocks"].as_array().unwrap().iter().map(|row| row["height"].as_u64().unwrap() as u32));
            match body["next_cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, own.into_iter().rev().collect::<Vec<_>>());
    }
    // By the name that people write, too.
    let payer = get_ok(&router, DETAIL, "/v1/pools/the%20payer").await;
    assert_eq!((&payer["name"], &payer["slug"]), (&"The Payer".into(), &"payer".into()));
    let place = &payer["payout_addresses"][0];
    assert_eq!(place["address"], address(&lists.script).unwrap_or_else(|| script_hash(&lists.script)));
    assert_eq!((&place["source"], &place["confidence_level"]), (&"pools-test".into(), &10.into()));
    assert_eq!((&payer["tags"], &payer["link"], &payer["caveat_codes"]), (&json!([]), &Value::Null, &json!([])));
    let alpha = get_ok(&router, DETAIL, "/v1/pools/alpha").await;
    assert_eq!((&alpha["tags"], &alpha["link"]), (&json!([lists.tags[0]]), &"https://pool.example".into()));
    assert_eq!(alpha["caveat_codes"][0]["code"], "pool_tag_unauthenticated");
    let none = get(&router, "/v1/pools/alpa").await;
    assert_problem(&none, 404, "pool_not_found");
    assert_eq!(none.body["did_you_mean"], json!(["alpha"]));
    let far = get(&router, "/v1/pools/nobody-knows-this-one").await;
    assert_eq!(far.body["did_you_mean"], json!([]));
    assert_problem(&get(&router, "/v1/pools/list?window=2y").await, 422, "validation_error");
}

#[tokio::test]
async fn without_lists_no_block_has_a_pool() {
    let world = &everything_world();
    let router = world.open_router();
    let body = get_ok(&router, LIST, LIST).await;
    assert_eq!((&body["pools"], &body["lists_loaded"]), (&json!([]), &false.into()));
    assert_eq!(body["unidentified"]["share"], 1);
    let block = get_ok(&router, BLOCK, "/v1/blocks/5").await;
    assert!(block["pool"].is_null() && block["pool_reason"].as_str().unwrap().contains("no list"));
    let recent = get_ok(&router, RECENT, RECENT).await;
    assert_eq!(recent["_meta"]["warnings"][0]["code"], "no_pool_list");
    // A list that comes is used at once, and no longer once it is withdrawn.
    let lists = Lists::of(&world.oracle);
    lists.take(world);
    assert!(get_ok(&router, LIST, LIST).await["pools"].as_array().unwrap().len() > 1);
    for (number, document) in [(11, 1), (12, 2)] {
        let body = Body::Withdrawal { document: DocumentHash([document; 32]), reason: "wrong".to_owned() };
        take(world, number, body);
    }
    assert_eq!(get_ok(&router, LIST, LIST).await["pools"], json!([]));
}

#[tokio::test]
async fn a_reorganization_changes_the_pools_of_its_blocks() {
    let mut making = Everything::new(84, 6, false);
    making.grow(125).unwrap();
    let world = World::of(making.chain().clone());
    let lists = Lists::of(&world.oracle);
    lists.take(&world);
    compare(&world, &world.oracle, &lists, "1w", 1_008).await;
    making.fork(12, 14).unwrap();
    write_tidy(&world.blocks_dir, making.chain());
    let files = BlockFiles::open(&world.blocks_dir, cairn_model::Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    world.engine.lock().unwrap().sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    let active: Vec<_> = making.chain().active().iter().map(|made| made.block.clone()).collect();
    let oracle = Oracle::of(cairn_model::Network::Regtest, &active);
    assert_ne!(oracle.tip(), world.oracle.tip());
    compare(&world, &oracle, &lists, "1w", 1_008).await;
}
