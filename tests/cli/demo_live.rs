//! A demo that adds blocks: a timestamp from the hash to the final proof, a report from the draft to its publication.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use cairn_chaingen::demo::{DEMO_BLOCKS, actors};
use cairn_support::{World, fails, get_json, wait_until};
use serde_json::{Value, json};

use crate::CAIRN;

/// A demo that adds blocks; the tests look more often than a client may.
const LIVE: &str = "demo --datadir demo --listen 127.0.0.1:0 --rate-limit 0";
/// The hash of the word "test".
const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// A POST request with JSON; status and answer.
pub(crate) fn post(address: &str, path: &str, body: &Value) -> (u16, Value) {
    let (mut stream, body) = (TcpStream::connect(address).unwrap(), body.to_string());
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}: {answer}")))
}

fn height(address: &str) -> u64 {
    get_json(address, "/api/health")["_meta"]["tip"]["height"].as_u64().unwrap()
}

#[test]
fn a_demo_anchors_hashes_and_publishes_paid_reports() {
    let world = World::empty(CAIRN);
    let mut running = world.start(LIVE);
    let address = running.address();
    let whale = actors().unwrap().into_iter().find(|actor| actor.name == "whale").unwrap();
    let wallet = &whale.addresses[1];
    let sent = format!("/v1/wallets/{wallet}/overview");
    let coins = get_json(&address, &sent)["tx_count"].as_u64().unwrap();

    // A report has an address, and is not paid.
    let draft = json!({
        "address": "bcrt1qn0zpusylmg5zhuyplwdn5eel7q5junjutxwytm",
        "category": "scam",
        "description": "Asked for a deposit and never answered again."
    });
    let (status, report) = post(&address, "/v1/community/reports", &draft);
    assert_eq!(status, 202, "{report}");
    let (id, payee) = (report["report_id"].as_str().unwrap(), report["payment_address"].as_str().unwrap());
    let sats = report["amount_sats"].as_u64().unwrap();
    let report_state = || get_json(&address, &format!("/v1/community/reports/{id}/status"))["status"].clone();
    assert_eq!(report_state(), "pending");
    assert_eq!(height(&address), u64::from(DEMO_BLOCKS), "nothing waits for a block");

    // The hash is taken as soon as the wallet has been looked at.
    let mut taken = Value::Null;
    wait_until("the hash is accepted", || {
        let (status, answer) = post(&address, "/v1/timestamp", &json!({ "hash": HASH }));
        assert!([200, 202, 503].contains(&status), "{answer}");
        taken = answer;
        status != 503
    });
    let pending = taken["pending_proof_base64"].as_str();
    assert!(pending.is_some_and(|proof| !proof.is_empty()), "{taken}");
    let state = |address: &str| get_json(address, &format!("/v1/timestamp/{HASH}"))["state"].clone();
    wait_until("the hash is in a block", || state(&address) == "confirmed");
    let (status, verified) = post(&address, "/v1/timestamp/verify", &proof(&address));
    assert_eq!(status, 200, "{verified}");
    assert_eq!(verified["verified"], true, "{verified}");
    assert!(height(&address) > u64::from(DEMO_BLOCKS));
    assert!(get_json(&address, &sent)["tx_count"].as_u64() > Some(coins), "the wallet pays for the anchor");

    // The payment of the report.
    let said = world.stdout(&format!("demo pay --datadir demo {payee} {sats}"));
    assert!(said.contains(payee), "{said}");
    wait_until("the report is published", || report_state() == "published");
    fails(world.run("demo pay --datadir demo nobody 5000"), 2, &["nobody is not a regtest address"]);

    // A second demo in the same folder answers, and adds no blocks. It cannot be made still below the first.
    let mut second = world.start(LIVE);
    let other = second.address();
    assert!(height(&other) > u64::from(DEMO_BLOCKS));
    drop(second);
    fails(world.run("demo --still --datadir demo --listen 127.0.0.1:0"), 5, &["another demo adds blocks here"]);

    // Blocks go on until the batch is final; then the chain rests.
    wait_until("the batch is confirmed", || state(&address) == "confirmed");
    let reached = height(&address);
    running.signal("INT");
    assert_eq!(running.end().0.code(), Some(130));
    fails(world.run(&format!("demo pay --datadir demo {payee} {sats}")), 1, &["no demo that adds blocks runs in"]);

    // The next start goes on where it was.
    let mut running = world.start(LIVE);
    let address = running.address();
    assert!(height(&address) >= reached);
    wait_until("further blocks", || height(&address) >= reached + 2);
    wait_until("the batch is final", || state(&address) == "final");
    assert_eq!(post(&address, "/v1/timestamp/verify", &proof(&address)).1["verified"], true);
    let last = get_json(&address, &format!("/v1/blocks/{}", height(&address)));
    // Magic and length come before a block.
    let record = 8 + last["size"].as_u64().unwrap();
    running.signal("INT");
    running.end();
    world.run("verify --datadir demo").success();

    // Files that have lost the last block, in part or all of it: the log says so, and what mends it.
    let blocks = fs::File::options().write(true).open(world.path("demo/blocks/blk00000.dat")).unwrap();
    let length = blocks.metadata().unwrap().len();
    for (lost, says) in [(40, "damaged record in blk00000.dat"), (record, "lack a block that the index has")] {
        blocks.set_len(length - lost).unwrap();
        let mut running = world.start(LIVE);
        running.address();
        world.stdout(&format!("demo pay --datadir demo {payee} {sats}"));
        running.wait_for("no block can be added at present");
        running.wait_for(says);
        running.wait_for("demo to start over");
        running.signal("INT");
        running.end();
    }

    // The fixed tip: the chain is made again.
    let mut still = world.start("demo --still --datadir demo --listen 127.0.0.1:0");
    let address = still.address();
    assert_eq!(height(&address), u64::from(DEMO_BLOCKS));
    let (status, answer) = post(&address, "/v1/community/reports", &draft);
    assert_eq!((status, &answer["error"]), (503, &json!("payments_not_configured")), "{answer}");
    assert!(fs::read_dir(world.path("demo/payments")).is_err(), "orders belong to the chain before");
}

/// The request that verifies the proof.
fn proof(address: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /v1/timestamp/{HASH}/proof HTTP/1.1\r\nHost: {address}\r\nAccept: application/json\r\n\
         Connection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    json!({ "hash": HASH, "proof_base64": body["proof_base64"] })
}
