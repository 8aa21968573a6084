//! Hashes are anchored by the process that writes, with the node's wallet.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use cairn_standin::{StandIn, StandInOptions};
use cairn_support::{Cast, Form, get, get_json};
use serde_json::Value;

use crate::CAIRN;

const WALLET: &str = "stamps";
const HASH: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

/// Sends a body; status and body of the answer.
fn post(address: &str, path: &str, kind: &str, body: &[u8]) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    )
    .unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// The proof as a file; `None` while there is none.
fn proof(address: &str) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /v1/timestamp/{HASH}/proof HTTP/1.1\r\nHost: {address}\r\nAccept: application/vnd.opentimestamps.ots\r\n\
         Connection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let at = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    answer.starts_with(b"HTTP/1.1 200 ").then(|| answer[at + 4..].to_vec())
}

fn submit(address: &str) -> u16 {
    post(address, "/v1/timestamp", "application/json", format!("{{\"hash\": \"{HASH}\"}}").as_bytes()).0
}

#[test]
fn a_hash_becomes_final_though_the_process_is_killed_on_the_way() {
    let node = StandIn::start(StandInOptions { premine: 105, ..StandInOptions::default() }).unwrap();
    let wallet = format!("--timestamps-wallet {WALLET} --timestamps-interval 1");
    let mut cast = Cast::new(CAIRN, &node, Form::One).with(&wallet, "");
    cast.start_all();
    let address = cast.client().address().to_owned();
    let available = |address: &str| {
        let quote = get_json(address, "/v1/timestamp/quote");
        (quote["available"].clone(), quote["reason"].clone())
    };
    cast.wait_until("the report of a missing wallet", || {
        available(&address) == (Value::Bool(false), Value::from("wallet_missing"))
    });
    assert_eq!(submit(&address), 503);
    node.world().create_wallet(WALLET);
    cast.wait_until("the report of an empty wallet", || available(&address).1 == "empty");
    node.world().fund_wallet(WALLET, 2, 100_000).unwrap();
    cast.wait_until("the report of coins", || available(&address).0 == true);
    assert_eq!((submit(&address), submit(&address)), (202, 200));
    let state = |address: &str| get_json(address, &format!("/v1/timestamp/{HASH}"))["state"].clone();
    cast.wait_until("the transaction", || state(&address) == "broadcast");
    let sent = node.world().pool_txids();
    assert_eq!(sent.len(), 1);
    cast.end_writer("KILL");
    node.world().evict(&sent[0]).unwrap();
    cast.start_writer();
    let address = cast.client().address().to_owned();
    // The next process has the lease after a minute, and sends the same bytes.
    let mut waited = 0;
    while node.world().pool_txids() != sent {
        std::thread::sleep(std::time::Duration::from_millis(200));
        waited += 1;
        assert!(waited < 450, "{}", cast.said());
    }
    assert!(proof(&address).is_none());
    node.world().mine(1).unwrap();
    cast.wait_until("the block", || state(&address) == "confirmed");
    node.world().mine(5).unwrap();
    cast.wait_until("the sixth block", || state(&address) == "final");
    let file = proof(&address).unwrap();
    let (status, verified) = post(&address, "/v1/timestamp/verify", "application/vnd.opentimestamps.ots", &file);
    assert_eq!((status, &verified["verified"], &verified["file_hash"]), (200, &Value::Bool(true), &HASH.into()));
    assert_eq!(get(&address, "/api/health").0, 200);
    cast.end_writer("TERM");
}
