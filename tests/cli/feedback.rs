//! `cairn feedback`: what clients send to a running server is listed and closed beside it.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bitcoin::{
    Address, CompressedPublicKey, Network, PrivateKey,
    hashes::Hash,
    key::Secp256k1,
    secp256k1::{Message, SecretKey},
    sign_message::{MessageSignature, signed_msg_hash},
};
use cairn_reader::{freeze, mark_replica};
use cairn_support::{Running, World, fails, get, wait_until};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::CAIRN;

/// Sends feedback; the whole answer.
fn post(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /v1/feedback HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn ticket_in(answer: &str) -> &str {
    let at = answer.find("\"fb_").unwrap_or_else(|| panic!("{answer}"));
    &answer[at + 1..at + 20]
}

#[test]
fn tickets_are_listed_and_closed_beside_a_server() {
    let world = World::small(CAIRN, 5);
    world.index();
    let mut server = Running::start(world.command("serve --datadir data --listen 127.0.0.1:0"));
    let address = server.address();
    let list = |more: &str| world.stdout(&format!("feedback list --datadir data {more}"));
    assert_eq!(list(""), "");
    let first = post(&address, r#"{"type": "general", "message": "one\ntwo \u001b[31m"}"#);
    assert!(first.starts_with("HTTP/1.1 422 "), "{first}");
    let first = post(&address, r#"{"type": "general", "message": "one\ntwo \u202e"}"#);
    let second = post(&address, r#"{"type": "data_quality", "reason": "three", "suggested_label": "x"}"#);
    let (first, second) = (ticket_in(&first), ticket_in(&second));
    let text = list("");
    assert!(
        text.contains(&format!("{first} open general ")) && text.contains("  | one\n  | two \\u{202e}\n"),
        "{text}"
    );
    assert!(
        text.contains(&format!("{second} open data_quality ")) && text.contains("  suggested label: x\n"),
        "{text}"
    );
    assert!(list("--limit 1").ends_with("There are more than 1: see --limit.\n"));

    assert_eq!(world.stdout(&format!("feedback resolve --datadir data {first}")), format!("resolved {first}\n"));
    let closed = world.stdout(&format!("feedback resolve --datadir data --reject --note spam {second}"));
    assert_eq!(closed, format!("rejected {second}\n"));
    fails(world.run(&format!("feedback resolve --datadir data {second}")), 1, &["is already rejected"]);
    fails(world.run("feedback resolve --datadir data fb_0"), 1, &["there is no ticket", "--only all"]);
    assert_eq!(list(""), "");
    assert!(list("--only rejected").contains("  note: spam\n"));
    assert_eq!(list("--only all").matches(" general ").count(), 1);
    // The same words open a new ticket now.
    let again = post(&address, r#"{"type": "data_quality", "reason": "three", "suggested_label": "x"}"#);
    assert_ne!(ticket_in(&again), second);
    server.signal("TERM");
    server.end();
    assert!(!server.said().contains("three"), "what clients write is in the log");
}

/// A holder's signature goes through a server that only reads to the process that writes the index.
#[test]
fn a_signed_contest_reaches_the_index_through_the_inbox() {
    contest(false);
}

/// From a replica it goes through the database that the two share, here the writer's own.
#[test]
fn a_signed_contest_reaches_the_index_from_a_replica() {
    contest(true);
}

/// Makes the folder `one` a replica of the index as it is, or gives it a newer copy.
fn copy(world: &World) {
    let (index, next) = (world.path("one/index"), world.path("one/index.restoring"));
    fs::create_dir_all(&index).unwrap();
    freeze(&world.path("data/index"), &next).unwrap();
    renameat_with(CWD, &index, CWD, &next, RenameFlags::EXCHANGE).unwrap();
    fs::remove_dir_all(&next).unwrap();
    mark_replica(&world.path("one"), "here").unwrap();
}

fn contest(from_a_replica: bool) {
    let secp = Secp256k1::new();
    let key = SecretKey::from_slice(&[7; 32]).unwrap();
    let public = CompressedPublicKey::from_private_key(&secp, &PrivateKey::new(key, Network::Regtest)).unwrap();
    let wallet = Address::p2wpkh(&public, Network::Regtest).to_string();
    let sign = |message: &str| {
        let hash = Message::from_digest(signed_msg_hash(message).to_byte_array());
        let signature = secp.sign_ecdsa_recoverable(&hash, &key);
        BASE64_STANDARD.encode(MessageSignature::new(signature, true).serialize())
    };

    let world = World::small(CAIRN, 20);
    let mut writer = world.start("run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0");
    writer.wait_for("height=20");
    fs::write(world.path("list.txt"), format!("{wallet}\n")).unwrap();
    let says = "--claim-type controlled_by --evidence-tier third_party --entity abc";
    world.run(&format!("labels import --datadir data --licence mit --source abc {says} list.txt")).success();
    let of_writer = writer.address();
    let get = |address: &str, path: &str| -> Value { serde_json::from_str(&get(address, path).1).unwrap() };
    let state_at =
        |address: &str| get(address, &format!("/v1/wallets/{wallet}/trust-safety"))["assessment"]["state"].clone();
    wait_until("the label at the writer", || state_at(&of_writer) == "labeled");
    let line = if from_a_replica {
        copy(&world);
        "serve --datadir one --listen 127.0.0.1:0 --state-url sqlite:data/state.sqlite"
    } else {
        "serve --datadir data --listen 127.0.0.1:0"
    };
    let mut server = world.start(line);
    let address = server.address();
    wait_until("the label", || state_at(&address) == "labeled");
    // A replica has what it was given, until the next copy.
    let state = || state_at(if from_a_replica { &of_writer } else { &address });
    let detail = get(&address, &format!("/v1/wallets/{wallet}/detail"));
    let claim = &detail["groups"][0]["claims"][0]["claim_id"];
    let ask = |more: Value| -> Value {
        let mut body = json!({"type": "label_correction", "address": wallet, "message": "mine", "claim_id": claim});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = post(&address, &body.to_string());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        serde_json::from_str::<Value>(body).unwrap()["contest"].clone()
    };
    let message = ask(json!({}))["message_to_sign"].as_str().unwrap().to_owned();
    let contest = ask(json!({"signed_message": message, "signature": sign(&message)}));
    assert_eq!(contest["state"], "contested", "{contest}");
    wait_until("the contest", || state() == "contested");
    let listed = world.stdout("feedback list --datadir data");
    assert_eq!(listed.matches("signed: by the key of the address").count(), 1, "{listed}");
    let claim = claim.as_str().unwrap();
    world.run(&format!("labels resolve --datadir data --reason checked {claim}")).success();
    wait_until("the end of the contest", || state() == "labeled");
    if from_a_replica {
        assert!(!world.path("one/inbox").exists());
        let before = get(&address, "/v1/blocks/1")["_meta"]["tip"]["hash"].clone();
        copy(&world);
        server.wait_for("another index has taken the place");
        assert_eq!(get(&address, "/v1/blocks/1")["_meta"]["tip"]["hash"], before);
    }
    // The operator has decided: the same signature only opens a ticket.
    let again = ask(json!({"signed_message": message, "signature": sign(&message)}));
    assert_eq!(again["state"], "settled", "{again}");
    writer.signal("TERM");
    writer.end();
    assert!(world.stdout("verify --datadir data").contains("2 contests"));
}
