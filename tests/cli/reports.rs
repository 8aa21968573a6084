//! `cairn reports`: a report of a client is erased while a server runs, whose metrics count it.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use cairn_support::{Running, World, fails, get, get_json, wait_until};
use serde_json::{Value, json};

use crate::CAIRN;

/// The account key of BIP 86's vectors, as test networks write it.
const DESCRIPTOR: &str = "wpkh(tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba/0/*)";
const ABOUT: &str = "mpXwg4jMtRhuSpVq4xS3HFHmCmWp9NyGKt";
const PATH: &str = "/v1/community/reports";

fn serve(world: &World) -> Running {
    let mut command = world.command("serve --datadir data --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0");
    command.env("CAIRN_PAYMENTS_DESCRIPTOR", DESCRIPTOR);
    Running::start(command)
}

/// Reports the address; the answer.
fn report(address: &str, description: &str) -> Value {
    let body = json!({"address": ABOUT, "category": "scam", "description": description}).to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("Host: {address}\r\nContent-Type: application/json\r\nContent-Length: {}", body.len());
    write!(stream, "POST {PATH} HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn is_in_files(world: &World, text: &str) -> bool {
    ["data/state.sqlite", "data/state.sqlite-wal"].iter().any(|name| {
        let bytes = fs::read(world.path(name)).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[test]
fn texts_are_erased_beside_a_server() {
    let world = World::small(CAIRN, 5);
    world.index();
    let mut server = serve(&world);
    let made = report(&server.address(), "names Alice Example\nand her street");
    let id = made["report_id"].as_str().unwrap().to_owned();
    server.wait_for("serving operators address=");
    let said = server.said();
    let admin = said.split("serving operators address=").nth(1).unwrap().split_whitespace().next().unwrap();
    // They are counted every 15 seconds.
    for line in [
        "cairn_reports_waiting{waits_for=\"payment\"} 1\n",
        "cairn_reports_waiting{waits_for=\"operator\"} 0\n",
        "cairn_payment_addresses 1\n",
    ] {
        wait_until(line, || get(admin, "/metrics").1.contains(line));
    }
    assert!(is_in_files(&world, "Alice Example"));
    let erase = |id: &str, reason: &str| {
        let mut command = world.command("reports erase --datadir data");
        command.args(["--reason", reason, id]);
        assert_cmd::assert::Assert::new(command.output().unwrap())
    };
    fails(erase("rp_0", "asked for"), 1, &["there is no report", "cairn reports list"]);
    assert!(is_in_files(&world, "Alice Example"));
    let said = String::from_utf8(erase(&id, "asked for by the person").success().get_output().stdout.clone()).unwrap();
    assert!(said.starts_with(&format!("{id}: the texts are erased\n")) && said.contains("Backups"), "{said}");
    assert!(!is_in_files(&world, "Alice Example") && !is_in_files(&world, "her street"));
    // It can be repeated, if others kept the files busy.
    let again = String::from_utf8(erase(&id, "again").success().get_output().stdout.clone()).unwrap();
    assert!(again.contains("were erased before"), "{again}");
    let listed = world.stdout("reports list --datadir data");
    assert!(listed.contains("  texts erased: ") && listed.contains(": asked for by the person\n"), "{listed}");
    assert!(!listed.contains("Alice") && !listed.contains("again"), "{listed}");
    let status = get_json(&server.address(), &format!("{PATH}/{id}/status"));
    assert_eq!((&status["text_removed"], &status["status"]), (&json!("erased_on_request"), &json!("pending")));
    assert!(world.stdout("state check --datadir data").contains(" 1 reports, 1 payment addresses"));
}
