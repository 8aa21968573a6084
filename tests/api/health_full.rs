//! Health of the service's components.

use std::sync::Arc;

use bitcoin::{consensus::serialize, constants::genesis_block};
use cairn_link::{Absent, IndexSlot};
use cairn_model::{MempoolWatch, Network, News, SourceKind, SourceStatus};
use cairn_operations::{ApiState, router};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_testkit::temp_dir;
use serde_json::{Value, json};

use crate::{
    mempool_ops::settle,
    support::{assert_problem, everything_world, get, get_ok, open_config},
    unconfirmed::Waiting,
};

const FULL: &str = "/api/health/full";

pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

pub fn component<'b>(body: &'b Value, name: &str) -> &'b Value {
    body["components"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap()
}

fn statuses(body: &Value) -> [&str; 4] {
    let of = |name| component(body, name)["status"].as_str().unwrap();
    [body["status"].as_str().unwrap(), of("node"), of("index"), of("mempool")]
}

/// A node that is as it should be.
fn healthy(height: u32) -> SourceStatus {
    SourceStatus {
        kind: SourceKind::Node,
        at: now(),
        reachable: true,
        last_answer: Some(now() - 3),
        blocks: Some(height),
        headers: Some(height),
        news: News::Zmq,
        last_message: Some(now() - 5),
        gaps_seen: 4,
        gaps_repaired: 4,
        mempool: MempoolWatch::Synced,
        mempool_known: 1,
        mempool_reconciled: Some(now() - 20),
        mempool_corrections: 2,
        ..SourceStatus::default()
    }
}

#[tokio::test]
async fn an_empty_service_answers() {
    let slot = Arc::new(IndexSlot::new());
    let router = router(ApiState::new(Arc::clone(&slot) as Arc<_>, open_config()));
    let body = get_ok(&router, FULL, FULL).await;
    assert_eq!(statuses(&body), ["down", "not_configured", "down", "not_configured"]);
    let names: Vec<_> = body["components"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["node", "index", "mempool", "market", "fx", "vault", "artifacts"]);
    for name in &names[3..] {
        let row = component(&body, name);
        assert!(row["status"] == "not_configured" && row["reason"].is_string() && row["age_seconds"].is_null());
    }
    assert_eq!(component(&body, "index")["details"]["tip_height"], Value::Null);
}

#[tokio::test]
async fn an_index_from_files_is_whole_by_itself() {
    let world = &everything_world();
    let router = world.open_router();
    let body = get_ok(&router, FULL, FULL).await;
    assert_eq!(statuses(&body), ["ok", "not_configured", "ok", "not_configured"]);
    let index = component(&body, "index");
    let tip = world.oracle.tip().unwrap();
    assert_eq!(
        (&index["details"]["tip_height"], &index["details"]["tip_hash"]),
        (&json!(tip.0), &json!(tip.1.to_string()))
    );
    assert_eq!((&index["details"]["lag_blocks"], &index["details"]["stages_unfinished"]), (&Value::Null, &json!([])));
    let time = u64::from(world.oracle.blocks()[tip.0 as usize].header.time);
    assert!(index["age_seconds"].as_u64().unwrap().abs_diff(now().saturating_sub(time)) <= 5);

    world.slot.set_source(Some(SourceStatus { at: now(), reachable: true, ..SourceStatus::default() }));
    world.slot.set_best_height(Some(tip.0 + 6));
    let body = get_ok(&router, FULL, FULL).await;
    assert_eq!(statuses(&body), ["ok", "not_configured", "ok", "not_configured"]);
    assert_eq!(component(&body, "index")["details"]["lag_blocks"], 6);
    world.slot.set_best_height(Some(tip.0 + 7));
    let body = get_ok(&router, FULL, FULL).await;
    assert_eq!(statuses(&body), ["degraded", "not_configured", "degraded", "not_configured"]);
    world.slot.set_source(Some(SourceStatus { at: now(), reachable: false, ..SourceStatus::default() }));
    assert_eq!(statuses(&get_ok(&router, FULL, FULL).await)[..2], ["down", "down"]);
}

#[tokio::test]
async fn node_and_mempool_tell_what_they_know() {
    let world = &everything_world();
    let router = world.open_router();
    let height = world.oracle.tip().unwrap().0;
    let mut waiting = Waiting::at_tip(world);
    let coin = waiting.coins(1_000_000).next().unwrap();
    waiting.send(&[coin], &[], 40_000);
    settle(&waiting).await;
    world.slot.set_source(Some(healthy(height)));
    let body = get_ok(&router, FULL, FULL).await;
    assert_eq!(statuses(&body), ["ok"; 4]);
    let (node, mempool) = (component(&body, "node"), component(&body, "mempool"));
    assert!((3..=8).contains(&node["age_seconds"].as_u64().unwrap()));
    assert_eq!((&node["details"]["gaps_seen"], &node["details"]["gaps_repaired"]), (&json!(4), &json!(4)));
    assert_eq!((&node["details"]["news"], &node["reason"]), (&"zmq".into(), &Value::Null));
    let details = &mempool["details"];
    assert_eq!((&details["state"], &details["count"]), (&"synced".into(), &json!(1)));
    assert_eq!((&details["corrections"], &details["projection"]), (&json!(2), &"current".into()));
    assert!((20..=25).contains(&details["last_reconciled_age_seconds"].as_u64().unwrap()));

    // (what is the matter, node, mempool)
    let polling = SourceStatus { news: News::Polling, ..healthy(height) };
    let silent = SourceStatus { at: now() - 1_000, ..healthy(height) };
    let gap = SourceStatus { gaps_seen: 5, ..healthy(height) };
    let syncing = SourceStatus { headers: Some(height + 9), ..healthy(height) };
    let gone = SourceStatus { reachable: false, mempool: MempoolWatch::Stale, ..healthy(height) };
    for (source, node, mempool, word) in [
        (polling, "ok", "ok", "no ZMQ"),
        (silent, "degraded", "ok", "has not reported"),
        (gap, "degraded", "ok", "1 gaps"),
        (syncing, "degraded", "ok", "9 blocks behind its headers"),
        (gone, "down", "degraded", "does not answer"),
    ] {
        world.slot.set_source(Some(source));
        let body = get_ok(&router, FULL, FULL).await;
        let reason = component(&body, "node")["reason"].as_str().unwrap();
        assert!(reason.contains(word), "{reason}");
        assert_eq!(statuses(&body), [node, node, "ok", mempool], "{word}");
    }
    world.slot.set_source(Some(healthy(height)));
    for (absent, status) in [(Absent::Loading, "degraded"), (Absent::Lost, "down")] {
        waiting.slot.set_absent(absent);
        let body = get_ok(&router, FULL, FULL).await;
        assert_eq!(statuses(&body), [status, "ok", "ok", status]);
        assert!(component(&body, "mempool")["details"]["count"].is_null());
    }
}

#[tokio::test]
async fn it_is_never_answered_from_a_cache() {
    let world = &everything_world();
    let router = world.open_router();
    let first = get(&router, FULL).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let tag = first.header("etag").to_owned();
    let request = axum::http::Request::get(FULL).header("if-none-match", tag).body(axum::body::Body::empty()).unwrap();
    assert_eq!(crate::support::send(&router, request).await.status, 200);
}

#[tokio::test]
async fn a_gap_in_the_files_is_told() {
    let world = &everything_world();
    let router = world.open_router();
    let tip = world.oracle.tip().unwrap().0;
    let gap = "the block files break off after height 150: blk00002.dat is missing";
    let files = |gap: Option<&str>| SourceStatus {
        at: now(),
        reachable: true,
        blocks: Some(tip),
        gap: gap.map(str::to_owned),
        ..SourceStatus::default()
    };
    let index = |body: &Value| {
        let row = component(body, "index");
        let details = &row["details"];
        [&row["status"], &row["reason"], &details["lag_blocks"], &details["problems"]].map(Clone::clone)
    };
    // The tip of a test chain is as old as may be.
    world.slot.set_source(Some(files(None)));
    world.slot.set_best_height(Some(tip));
    assert_eq!(index(&get_ok(&router, FULL, FULL).await), [json!("ok"), Value::Null, json!(0), json!([])]);
    let quick = get(&router, "/api/health").await;
    assert_eq!(quick.body["status"], "ok");
    // How many blocks are missing is unknown: so is the lag.
    world.slot.set_source(Some(files(Some(gap))));
    world.slot.set_best_height(None);
    let body = get_ok(&router, FULL, FULL).await;
    assert_eq!(index(&body), [json!("degraded"), json!(gap), Value::Null, json!(["cut_short"])]);
    assert_eq!(statuses(&body)[0], "degraded");
    let degraded = get(&router, "/api/health").await;
    assert_eq!(degraded.body["status"], "degraded");
    // A block that is not found may be beyond the gap. Questions that need the tip are not answered as if this were it.
    for path in ["/v1/blocks/4000", "/v1/chain/recent-blocks"] {
        let reply = get(&router, path).await;
        assert_problem(&reply, 503, "index_syncing");
        assert!(reply.text.contains("incomplete: block files are missing or damaged"), "{path}: {}", reply.text);
    }
    assert_eq!(get(&router, "/v1/blocks/10").await.status, 200);
    // It is known: the lag says it.
    world.slot.set_best_height(Some(tip + 9));
    let body = get_ok(&router, FULL, FULL).await;
    let reason = format!("{gap}; the index is 9 blocks behind");
    assert_eq!(index(&body), [json!("degraded"), json!(reason), json!(9), json!(["cut_short", "behind"])]);
    // The index is whole, only a file is not: requests are answered.
    world.slot.set_best_height(Some(tip));
    assert_eq!(index(&get_ok(&router, FULL, FULL).await)[3], json!(["cut_short"]));
    assert_eq!(get(&router, "/v1/blocks/4000").await.status, 404);
}

/// On a network that goes on, a tip of long ago does not count as the tip.
#[tokio::test]
async fn an_old_tip_is_told_on_public_networks() {
    let (blocks, data) = (temp_dir(), temp_dir());
    let genesis = serialize(&genesis_block(bitcoin::Network::Bitcoin));
    let record = [&Network::Main.magic()[..], &(genesis.len() as u32).to_le_bytes(), &genesis].concat();
    std::fs::write(blocks.path().join("blk00000.dat"), record).unwrap();
    let mut engine = Engine::open(data.path(), &Facts::of(Network::Main)).unwrap();
    let files = BlockFiles::open(blocks.path(), Network::Main).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    let slot = Arc::new(IndexSlot::with(engine.reader()));
    slot.set_best_height(Some(0));
    let router = router(ApiState::new(Arc::clone(&slot) as Arc<_>, open_config()));
    let body = get_ok(&router, FULL, FULL).await;
    let row = component(&body, "index");
    assert_eq!((&row["status"], &row["details"]["problems"]), (&json!("degraded"), &json!(["tip_is_old"])));
    let days = (now() - 1_231_006_505) / 86_400;
    assert_eq!(row["reason"], format!("the newest block is {days} days old"));
    assert_eq!(get(&router, "/api/health").await.body["status"], "degraded");
    // The demo's blocks are made when it is made.
    slot.set_source(Some(SourceStatus { kind: SourceKind::Demo, reachable: true, ..SourceStatus::default() }));
    let body = get_ok(&router, FULL, FULL).await;
    assert_eq!(component(&body, "index")["details"]["problems"], json!([]));
    assert_eq!(get(&router, "/api/health").await.body["status"], "ok");
}
