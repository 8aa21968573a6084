//! An index with a damaged table file: answers to clients and messages to operators.

use std::{fs, path::Path, sync::Arc};

use cairn_chaingen::{
    EverythingOptions,
    corefiles::{FileOptions, Layout, write_chain},
    everything,
};
use cairn_link::IndexSlot;
use cairn_model::Network;
use cairn_operations::{ApiState, admin_router, router};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::{Facts, Reader, TableFile, table_files_in};
use cairn_sources::BlockFiles;
use cairn_testkit::temp_dir;
use serde_json::json;
use tempfile::TempDir;

use crate::support::{assert_problem, get, get_ok, open_config, script_hash};

/// An index on disk that nobody has open, and a script of its chain.
pub fn closed() -> (TempDir, String) {
    closed_with(|_| Facts::of(Network::Regtest))
}

/// The same, with tweaks of silent payments, which are made of the block files.
pub fn closed_with_tweaks() -> TempDir {
    closed_with(|blocks| Facts { blocks_dir: Some(blocks.to_owned()), ..Facts::of(Network::Regtest) }).0
}

fn closed_with(facts: impl FnOnce(&Path) -> Facts) -> (TempDir, String) {
    let (blocks, data) = (temp_dir(), temp_dir());
    let facts = facts(blocks.path());
    let options = EverythingOptions { blocks: 120, max_txs: 8, forks: vec![], showpieces: false };
    let chain = everything(12, &options).unwrap();
    write_chain(blocks.path(), &chain, &Layout::tidy(FileOptions::new(bitcoin::Network::Regtest, [0; 8]))).unwrap();
    let mut engine = Engine::open(data.path(), &facts).unwrap();
    let files = BlockFiles::open(blocks.path(), Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.set_silent_payments(facts.blocks_dir.is_some());
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    if facts.blocks_dir.is_some() {
        engine.follow_up(&NoProgress, true).unwrap();
    }
    let script = &chain.active()[5].block.txdata[0].output[0].script_pubkey;
    (data, script_hash(script))
}

/// Damages every data block of a table.
pub fn damage(data: &TempDir, table: &str) {
    for file in table_files_in(&data.path().join("index")).unwrap().iter().filter(|file| file.table() == table) {
        let mut bytes = fs::read(file.path()).unwrap();
        let rows = bytes.len() / 2;
        bytes[..rows].iter_mut().for_each(|byte| *byte ^= 0x55);
        fs::write(file.path(), bytes).unwrap();
    }
}

#[tokio::test]
async fn a_damaged_row_is_an_error_of_its_own() {
    let (data, script) = closed();
    damage(&data, "totals");
    let slot = IndexSlot::with(Arc::new(Reader::open(&data.path().join("index")).unwrap()));
    let state = ApiState::new(Arc::new(slot), open_config());
    let (api, admin) = (router(state.clone()), admin_router(&state));
    let health = get_ok(&api, "/api/health", "/api/health").await;
    assert_eq!(health["status"], "ok", "nobody has read the table yet");
    let before = get(&api, "/v1/blocks/7").await;
    for asked in 1..=3 {
        let reply = get(&api, &format!("/v1/wallets/{script}/overview")).await;
        assert_problem(&reply, 500, "index_damaged");
        let detail = reply.body["detail"].as_str().unwrap();
        let expected = "table totals of the index is damaged; the operator can run `cairn verify`";
        assert!(detail.starts_with(expected), "{detail}");
        assert_eq!((&reply.body["retryable"], reply.header("retry-after")), (&json!(false), ""));
        let metrics = get(&admin, "/metrics").await.text;
        assert!(metrics.contains(&format!("\ncairn_index_damages_total{{table=\"totals\"}} {asked}\n")), "{metrics}");
    }
    // Questions that need other tables are answered, with a new version: the state is part of it.
    let after = get(&api, "/v1/blocks/7").await;
    assert_eq!((before.status, after.status), (200, 200));
    assert_ne!(before.header("etag"), after.header("etag"));
    // Health, as a service and for a machine.
    assert_eq!(get_ok(&api, "/api/health", "/api/health").await["status"], "degraded");
    let full = get_ok(&api, "/api/health/full", "/api/health/full").await;
    let index = full["components"].as_array().unwrap().iter().find(|row| row["name"] == "index").unwrap();
    assert_eq!((&full["status"], &index["status"]), (&json!("degraded"), &json!("degraded")));
    let details = &index["details"];
    assert_eq!((&details["problems"], &details["damaged_tables"]), (&json!(["damaged"]), &json!(["totals"])));
    assert_eq!((&details["scrubber"], &details["last_scrub_at"]), (&json!("off"), &json!(null)));
    let reason = index["reason"].as_str().unwrap();
    assert!(reason.contains("table totals of the index is damaged") && reason.contains("`cairn verify`"), "{reason}");
    let ready = get(&admin, "/readyz").await;
    assert_eq!(ready.status, 503);
    assert!(ready.text.contains("totals") && ready.text.contains("cairn verify"), "{}", ready.text);
    assert!(get(&admin, "/metrics").await.text.contains("\ncairn_index_damaged_tables 1\n"));
}

/// Without its headers there is no view of the index: every question about the chain fails, and health says why.
#[tokio::test]
async fn health_answers_without_a_view() {
    let (data, script) = closed();
    let slot = IndexSlot::with(Arc::new(Reader::open(&data.path().join("index")).unwrap()));
    // Opened, and not read: the headers come from the disk with the first view.
    damage(&data, "headers");
    let state = ApiState::new(Arc::new(slot), open_config());
    let (api, admin) = (router(state.clone()), admin_router(&state));
    assert_problem(&get(&api, &format!("/v1/wallets/{script}/overview")).await, 500, "index_damaged");
    let full = get_ok(&api, "/api/health/full", "/api/health/full").await;
    let index = full["components"].as_array().unwrap().iter().find(|row| row["name"] == "index").unwrap();
    assert_eq!((&full["status"], &index["details"]["problems"]), (&json!("down"), &json!(["damaged"])));
    assert_eq!(get_ok(&api, "/api/health", "/api/health").await["status"], "degraded");
    assert_eq!(get(&admin, "/readyz").await.status, 503);
    assert!(get(&admin, "/metrics").await.text.contains("cairn_index_damages_total{table=\"headers\"} "));
}

#[test]
fn files_are_found_by_their_table() {
    let (data, _) = closed();
    let files = table_files_in(&data.path().join("index")).unwrap();
    for table in ["headers", "block_log", "totals", "coins", "small"] {
        assert!(files.iter().any(|file: &TableFile| file.table() == table), "{table}: {files:?}");
    }
}
