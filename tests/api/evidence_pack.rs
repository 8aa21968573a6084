//! Evidence packs: what is in them, that every machine makes the same one, and that readers can check them.

use std::sync::Arc;

use axum::{Router, body::Body, http::Request};
use bitcoin::ScriptBuf;
use cairn_domain::evidence::{
    HeaderChain, KeyRecord, MAX_PROVEN, PublicKey, SecretKey, Signed, check_proofs, diff, named_txids, parse,
    read_keys, signed_bytes, verify,
};
use cairn_events::Claim;
use cairn_link::IndexSlot;
use cairn_model::Network;
use cairn_operations::{ApiConfig, ApiState, EvidenceConfig, router};
use cairn_pipeline::{Driver, Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_testkit::temp_dir;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    claims::{claim, listed, take},
    support::{Reply, World, assert_problem, everything_world, get, get_ok, open_config, script_hash, send},
};

const PACK: &str = "/v1/wallets/{address}/evidence-pack";
const KEYS: &str = "/.well-known/cairn-evidence-keys.json";

/// The first key of section 7.1 of RFC 8032.
const SECRET: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
    -----END PRIVATE KEY-----\n";

fn path(address: &str, query: &str) -> String {
    format!("{}?{query}", PACK.replace("{address}", address))
}

fn signing() -> ApiConfig {
    let key = Some(Arc::new(SecretKey::from_pem(SECRET).unwrap()));
    ApiConfig { evidence: EvidenceConfig { key, keys: Vec::new() }, ..open_config() }
}

/// The scripts in the most transactions, the busiest first.
fn busiest(world: &World, count: usize) -> Vec<ScriptBuf> {
    let mut all: Vec<_> = world.oracle.scripts().collect();
    all.sort_by_key(|script| (std::cmp::Reverse(world.oracle.history(script).len()), (*script).clone()));
    all.into_iter().take(count).cloned().collect()
}

async fn accepting(router: &Router, path: &str, accept: &str) -> Reply {
    send(router, Request::get(path).header("accept", accept).body(Body::empty()).unwrap()).await
}

fn section<'p>(pack: &'p Value, name: &str) -> &'p Value {
    &pack["sections"][name]["data"]
}

/// All names of members below a value.
fn names(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            found.push(name.clone());
            names(value, found);
        }),
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn a_pack_has_the_answers_of_its_operations() {
    let world = &everything_world();
    let busy = busiest(world, 3);
    for script in &busy[..2] {
        take(world, "list-a", 1_760_000_000, true, &[claim(script, "an-exchange"), listed(script)]);
    }
    let router = world.router(signing());
    for script in &busy {
        let address = script_hash(script);
        // Neither is the default of the pack or of the operation that has the part: both must be passed on.
        let pack = get_ok(&router, PACK, &path(&address, "depth=2&tx_limit=3")).await;
        for (name, section) in pack["sections"].as_object().unwrap() {
            assert_eq!(section["status"], "ok", "{name}: {section}");
            assert!(pack["digest_covers"].as_array().unwrap().contains(&json!(name)));
        }
        let history = world.oracle.history(script).len();
        assert_eq!(section(&pack, "overview")["tx_count"], history);
        assert_eq!(section(&pack, "transactions")["total"], history);
        assert_eq!(section(&pack, "transactions")["transactions"].as_array().unwrap().len(), history.min(3));
        let own = |of: &str| format!("/v1/wallets/{address}/{of}");
        let trust = get(&router, &own("trust-safety")).await.body;
        assert_eq!(section(&pack, "trust_safety")["label"], trust["label"]);
        let detail = get(&router, &own("detail")).await.body;
        assert_eq!(section(&pack, "labels")["total"], detail["total"]);
        let graph = get(&router, &own("flow-graph?hops=2")).await.body;
        let count =
            |graph: &Value| (graph["nodes"].as_array().unwrap().len(), graph["edges"].as_array().unwrap().len());
        assert_eq!(count(section(&pack, "flow_graph")), count(&graph));
        let mut found = Vec::new();
        names(&pack["sections"], &mut found);
        for name in found {
            let is_left_out = name.ends_with("_btc") || name.starts_with("unconfirmed") || name.contains("price");
            assert!(!is_left_out && name != "next_cursor", "{name}");
        }
        // It is what a reader checks without an index.
        let keys = [KeyRecord { key: SecretKey::from_pem(SECRET).unwrap().public(), valid_from: None, valid_to: None }];
        let verdict = verify(&pack, Some(&keys)).unwrap();
        assert_eq!(verdict.signed, Signed::By(keys[0].clone()));
        assert_eq!(verdict.digest, pack["digest_sha256"]);
    }
    let asked = path(&script_hash(&busy[0]), "include_graph=false");
    let pack = get_ok(&router, PACK, &asked).await;
    let skipped = json!({"status": "skipped", "reason": "include_graph_false", "data": null});
    assert_eq!(pack["sections"]["flow_graph"], skipped);
    assert!(pack["not_covered"].as_array().unwrap().contains(&json!("flow_graph")));
    verify(&pack, None).unwrap();
    for bad in ["depth=0", "depth=5", "tx_limit=101", "format=pdf"] {
        assert_problem(&get(&router, &path(&script_hash(&busy[0]), bad)).await, 422, "validation_error");
    }
    let unknown = get_ok(&router, PACK, &path("mpXwg4jMtRhuSpVq4xS3HFHmCmWp9NyGKt", "")).await;
    assert_eq!(section(&unknown, "overview")["tx_count"], 0);
    verify(&unknown, None).unwrap();
}

/// An index of block files, made by a driver, that has taken the same claims.
fn index_by(driver: Driver, world: &World, claims: &[Claim]) -> (Arc<IndexSlot>, Engine, TempDir) {
    let data = temp_dir();
    let facts = Facts { blocks_dir: Some(world.blocks_dir.clone()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(data.path(), &facts).unwrap();
    let files = BlockFiles::open(&world.blocks_dir, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions { driver, ..SyncOptions::default() }, &NoProgress).unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    for source in ["list-a", "list-b"] {
        take_into(&engine, source, claims);
    }
    engine.follow_up(&NoProgress, true).unwrap();
    (Arc::new(IndexSlot::with(engine.reader())), engine, data)
}

fn take_into(engine: &Engine, source: &str, claims: &[Claim]) {
    let document = crate::claims::document(source, 1_760_000_000, true, claims);
    engine.take_document(&document, if source == "list-a" { 1_800_000_000 } else { 1_900_000_000 }).unwrap();
}

#[tokio::test]
async fn two_machines_give_the_same_digest() {
    let world = &everything_world();
    let busy = busiest(world, 12);
    let claims: Vec<Claim> =
        busy[..6].iter().flat_map(|script| [claim(script, "an-exchange"), listed(script)]).collect();
    let (bulk, _engine_a, _data_a) = index_by(Driver::Bulk, world, &claims);
    let (tip, _engine_b, _data_b) = index_by(Driver::Tip, world, &claims);
    let [a, b] = [bulk, tip].map(|slot| router(ApiState::new(slot as Arc<_>, signing())));
    for script in &busy {
        for query in ["", "depth=3&tx_limit=100", "include_graph=false"] {
            let asked = path(&script_hash(script), query);
            let (one, other) = (get_ok(&a, PACK, &asked).await, get_ok(&b, PACK, &asked).await);
            assert!(one["digest_sha256"].is_string(), "{asked}: {}", one["digest_reason"]);
            let changes = diff(&one, &other).unwrap();
            assert!(changes.is_empty(), "{asked}: {changes:#?}");
            assert_eq!(one["digest_sha256"], other["digest_sha256"], "{asked}");
            assert_eq!(one["signature"], other["signature"], "{asked}");
        }
    }
    let digest = |pack: Value| pack["digest_sha256"].clone();
    let asked = script_hash(&busy[0]);
    let (one, two) = (get(&a, &path(&asked, "")).await.body, get(&a, &path(&asked, "tx_limit=1")).await.body);
    assert_ne!(digest(one), digest(two));
}

#[tokio::test]
async fn a_new_claim_is_named_by_the_difference() {
    let world = &everything_world();
    let script = busiest(world, 1).remove(0);
    let router = world.open_router();
    let asked = path(&script_hash(&script), "");
    let before = get_ok(&router, PACK, &asked).await;
    take(world, "list-a", 1_760_000_000, true, &[claim(&script, "an-exchange")]);
    let after = get_ok(&router, PACK, &asked).await;
    assert_ne!(before["digest_sha256"], after["digest_sha256"]);
    let changes: Vec<String> = diff(&before, &after).unwrap().iter().map(ToString::to_string).collect();
    let is_of = |change: &String| change.contains("/sections/labels/data/") && change.contains("by input event");
    assert!(changes.iter().any(is_of), "{changes:#?}");
    assert!(changes.iter().any(|change| change.starts_with("/ledger_seq: ")), "{changes:#?}");
}

#[tokio::test]
async fn keys_are_published() {
    let world = &everything_world();
    let public = SecretKey::from_pem(SECRET).unwrap().public();
    let none = get(&world.open_router(), KEYS).await;
    assert_eq!((none.status, &none.body["keys"]), (200, &json!([])));
    let old = PublicKey::from_bytes([9; 32]);
    let old = KeyRecord { key: old, valid_from: None, valid_to: Some("2026-01-01T00:00:00Z".to_owned()) };
    let present = KeyRecord { key: public, valid_from: Some("2026-01-01T00:00:00Z".to_owned()), valid_to: None };
    let config = signing();
    let evidence = EvidenceConfig { keys: vec![old.clone(), present.clone()], ..config.evidence.clone() };
    let published = get(&world.router(ApiConfig { evidence, ..config }), KEYS).await;
    assert_eq!(published.header("content-type"), "application/json");
    assert_eq!(read_keys(&published.body), Ok(vec![present, old]));
}

#[tokio::test]
async fn people_can_read_a_pack() {
    let world = &everything_world();
    let script = busiest(world, 1).remove(0);
    let evil = Claim {
        entity_name: "<script>alert('x')</script> [a](https://evil.example) | b".into(),
        note: "&lt; \"quoted\" `code`".into(),
        ..claim(&script, "an-exchange")
    };
    take(world, "list-a", 1_760_000_000, true, &[evil]);
    let router = world.router(signing());
    // One step is the default: it has edges to draw, and the least work for the graph's clock to cut.
    let asked = path(&script_hash(&script), "depth=1");
    let json = get_ok(&router, PACK, &asked).await;
    let digest = json["digest_sha256"].as_str().unwrap();
    let markdown = accepting(&router, &asked, "text/markdown").await;
    assert_eq!((markdown.status, markdown.header("content-type")), (200, "text/markdown; charset=utf-8"));
    assert!(markdown.header("vary").contains("accept"), "{}", markdown.header("vary"));
    let page = accepting(&router, &asked, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"));
    for text in [&markdown.text, &page.text] {
        assert!(text.contains(digest) && text.contains("list-a") && text.contains("cc0-1.0"), "{text}");
        // A backslash before it makes the sign a character in Markdown.
        assert!(!text.replace("\\<", "").contains("<script"), "{text}");
        for section in ["Labels", "Overview", "Transactions", "Flow graph", "Sources", "Limits of this report"] {
            assert!(text.contains(section), "{section}");
        }
    }
    assert!(!markdown.text.contains("](https://evil"), "{}", markdown.text);
    assert!(page.text.contains("&lt;script&gt;alert(&#39;x&#39;)") && page.text.contains("<svg"), "{}", page.text);
    assert!(!page.text.contains("src=") && !page.text.contains("@import"));
    // The parameter says the same as the header, and JSON stays the default.
    assert_eq!(get(&router, &format!("{asked}&format=markdown")).await.text, markdown.text);
    assert_eq!(accepting(&router, &asked, "*/*").await.header("content-type"), "application/json");
    assert_eq!(accepting(&router, &format!("{asked}&format=json"), "text/html").await.body["digest_sha256"], digest);
    assert!(!signed_bytes(&json).unwrap().is_empty());
}

/// The headers of the chain, checked.
fn headers(world: &World) -> HeaderChain {
    let headers = world.chain.active().into_iter().map(|mined| bitcoin::consensus::serialize(&mined.block.header));
    HeaderChain::check(&headers.flatten().collect::<Vec<u8>>(), 0, Network::Regtest).unwrap()
}

#[tokio::test]
async fn proofs_prove_the_transactions() {
    let world = &everything_world();
    let router = world.router(signing());
    let chain = headers(world);
    assert_eq!(chain.last(), world.oracle.tip().unwrap().0);
    for script in busiest(world, 8) {
        // More transactions than a pack proves, so that some are omitted.
        let asked = path(&script_hash(&script), &format!("proofs=true&tx_limit={}", MAX_PROVEN + 5));
        let pack = get_ok(&router, PACK, &asked).await;
        let proven = check_proofs(&pack, Some(&chain)).unwrap_or_else(|error| panic!("{asked}: {error}")).unwrap();
        let named = named_txids(&pack["sections"]);
        assert_eq!(proven.txids.len() + proven.omitted.len(), named.len(), "{asked}");
        assert!(!proven.txids.is_empty() && proven.txids.len() <= MAX_PROVEN, "{asked}");
        let rows = section(&pack, "transactions")["transactions"].as_array().unwrap().len();
        assert_eq!(proven.rows.len(), rows.min(MAX_PROVEN), "{asked}");
        // The digest does not depend on whether the server has block files.
        let mut without = pack.clone();
        for name in ["proofs", "proofs_omitted"] {
            without[name] = Value::Null;
        }
        assert_eq!(verify(&without, None).unwrap().digest, pack["digest_sha256"]);
        assert_eq!(check_proofs(&without, None), Ok(None));
        // A statement that the blocks contradict is refused, whoever signs it.
        let mut wrong = pack.clone();
        let rows = wrong["sections"]["transactions"]["data"]["transactions"].as_array_mut().unwrap();
        // A transaction of 64 bytes has no proof.
        let is_proven = |row: &Value| proven.rows.iter().any(|txid| row["txid"] == txid.as_str());
        let at = rows.iter().position(is_proven).unwrap();
        rows[at]["received_sats"] = json!(rows[at]["received_sats"].as_u64().unwrap() + 1);
        let error = check_proofs(&wrong, Some(&chain)).unwrap_err();
        assert_eq!(error.place, format!("/sections/transactions/data/transactions/{at}/received_sats"));
    }
}

#[tokio::test]
async fn a_flipped_bit_of_a_proven_pack_is_refused() {
    let world = &everything_world();
    let script = busiest(world, 1).remove(0);
    let router = world.router(signing());
    let asked = path(&script_hash(&script), "proofs=true&include_graph=false&tx_limit=3");
    let mut pack = get_ok(&router, PACK, &asked).await;
    pack.as_object_mut().unwrap().remove("_meta");
    let (chain, keys) = (
        headers(world),
        [KeyRecord { key: SecretKey::from_pem(SECRET).unwrap().public(), valid_from: None, valid_to: None }],
    );
    let accepts = |file: &[u8]| {
        parse(file).is_ok_and(|pack| verify(&pack, Some(&keys)).is_ok() && check_proofs(&pack, Some(&chain)).is_ok())
    };
    let file = pack.to_string().into_bytes();
    assert!(accepts(&file));
    // Every byte of small packs is flipped in the unit tests. Here each byte gets one flip, and in the proofs all.
    let proofs = pack.to_string().find("\"proofs\":").unwrap();
    let step = (file.len() / 1_500).max(1);
    for at in (0..file.len()).step_by(step) {
        let bits = if at > proofs { 0..8 } else { at % 8..at % 8 + 1 };
        for bit in bits {
            let mut flipped = file.clone();
            flipped[at] ^= 1 << bit;
            assert!(
                !accepts(&flipped),
                "bit {bit} of byte {at}: {}",
                String::from_utf8_lossy(&flipped[at.saturating_sub(40)..(at + 40).min(flipped.len())])
            );
        }
    }
}

#[tokio::test]
async fn a_server_without_block_files_has_no_proofs() {
    let world = &everything_world();
    let data = temp_dir();
    let mut engine = Engine::open(data.path(), &Facts::of(Network::Regtest)).unwrap();
    let files = BlockFiles::open(&world.blocks_dir, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    let router = router(ApiState::new(Arc::new(IndexSlot::with(engine.reader())) as Arc<_>, signing()));
    let asked = path(&script_hash(&busiest(world, 1)[0]), "proofs=true");
    let pack = get_ok(&router, PACK, &asked).await;
    assert_eq!((&pack["proofs"], &pack["proofs_omitted"]), (&Value::Null, &Value::Null));
    assert_eq!(pack["proofs_reason"], "neither block files nor a node are available");
    verify(&pack, None).unwrap();
}
