//! The worst transactions that consensus allows: bounded answers, at what they cost.

use bitcoin::Transaction;
use cairn_support::loopback::Client;

use crate::{
    support::{Server, WORLD},
    usage::{UNITS_PER_MINUTE, charged},
};

/// Largest default answer in bytes.
const LARGEST: usize = 1_000_000;
/// Processor time of a default answer, in units of 1,000 µs.
const DEAREST: u32 = if cfg!(debug_assertions) { 1_000 } else { 100 };

/// Asks with a fresh budget, once it is warm, and says how many units the request took in all.
fn units(server: &Server, host: u8, path: &str) -> (cairn_support::loopback::Answer, u32) {
    Client::from(200, server.address).get(path);
    let (answer, charged) = charged(server, host, |client| client.get(path));
    (answer, charged.ceil() as u32)
}

fn id(tx: &Transaction) -> String {
    tx.compute_txid().to_string()
}

#[test]
fn default_answers_are_bounded() {
    let (world, server) = (&*WORLD, Server::start(UNITS_PER_MINUTE));
    let worst = &world.worst;
    let mut host = 10;
    for (name, tx) in [
        ("outputs", &worst.outputs),
        ("inputs", &worst.inputs),
        ("witness", &worst.witness),
        ("pushes", &worst.pushes),
        ("carriers", &worst.carriers),
    ] {
        for path in
            [format!("/v1/tx/{}", id(tx)), format!("/v1/tx/{}/op-return", id(tx)), format!("/v1/tx/{}/status", id(tx))]
        {
            host += 1;
            let (answer, units) = units(&server, host, &path);
            println!("{name}: {path}: {} bytes, {units} units", answer.body.len());
            assert_eq!(answer.status, 200, "{name}: {path}: {}", String::from_utf8_lossy(&answer.body));
            assert!(answer.body.len() <= LARGEST, "{name}: {path}: {} bytes", answer.body.len());
            assert!(units <= DEAREST, "{name}: {path}: {units} units");
        }
    }
    let others = ["/v1/chain/recent-blocks", "/v1/chain/supply-distribution"].map(str::to_owned);
    for path in others.into_iter().chain([format!("/v1/blocks/{}", worst.payouts)]) {
        host += 1;
        let (answer, units) = units(&server, host, &path);
        println!("{path}: {} bytes, {units} units", answer.body.len());
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.body.len() <= LARGEST, "{path}: {} bytes", answer.body.len());
        assert!(units <= DEAREST, "{path}: {units} units");
    }
}

/// All inputs and outputs are there, part by part.
#[test]
fn parts_make_the_whole() {
    let (world, server) = (&*WORLD, Server::start(0));
    let mut client = Client::from(2, server.address);
    let (inputs, outputs) = (&world.worst.inputs, &world.worst.outputs);
    let mut parts = |tx: &Transaction, list: &str, next: &str, asks: &str| {
        let (mut from, mut found) = (Some(0), Vec::new());
        while let Some(start) = from {
            let path = format!("/v1/tx/{}?{next}={start}&{asks}", id(tx));
            let answer = client.get(&path);
            assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
            let body = answer.json();
            let rows = body[list].as_array().unwrap();
            assert!(!rows.is_empty() && rows[0]["index"] == start);
            found.extend(rows.iter().cloned());
            from = body[format!("next_{next}")].as_u64();
        }
        found
    };
    let found = parts(inputs, "inputs", "inputs_from", "io_limit=25000");
    assert_eq!(found.len(), inputs.input.len());
    for (row, input) in found.iter().zip(&inputs.input) {
        assert_eq!(row["prevout"]["txid"], input.previous_output.txid.to_string());
        assert_eq!(row["prevout"]["vout"], input.previous_output.vout);
    }
    let found = parts(outputs, "outputs", "outputs_from", "io_limit=25000");
    assert_eq!(found.len(), outputs.output.len());
    let spender = id(inputs);
    let spent = found.iter().filter(|row| row["spent_by"]["txid"] == spender.as_str()).count();
    assert_eq!(spent, inputs.input.len());
    let carriers = &world.worst.carriers;
    let mut from = Some(0);
    let mut count = 0;
    while let Some(start) = from {
        let body = client.get(&format!("/v1/tx/{}/op-return?outputs_from={start}", id(carriers))).json();
        count += body["outputs"].as_array().unwrap().len();
        from = body["next_outputs_from"].as_u64();
    }
    assert_eq!(count, carriers.output.len());
}

/// A value that is left out has a reason, and the whole is at hand.
#[test]
fn what_is_too_long_is_null_with_a_reason() {
    let (world, server) = (&*WORLD, Server::start(0));
    let mut client = Client::from(3, server.address);
    let witness = &world.worst.witness;
    let body = client.get(&format!("/v1/tx/{}", id(witness))).json();
    assert!(body["inputs"][0]["witness"].is_null());
    assert_eq!(body["inputs"][0]["too_long_reason"], "too_long");
    let answer = client.get(&format!("/v1/tx/{}?include_hex=true", id(witness)));
    assert_eq!(answer.json()["hex"], bitcoin::consensus::encode::serialize_hex(witness));
    let pushes = &world.worst.pushes;
    let body = client.get(&format!("/v1/tx/{}", id(pushes))).json();
    assert!(body["outputs"][0]["asm"].is_null() && body["outputs"][0]["too_long_reason"] == "too_long");
    let body = client.get(&format!("/v1/tx/{}/op-return", id(pushes))).json();
    let carrier = &body["outputs"][0];
    assert_eq!((&carrier["push_count"], &carrier["script_bytes"]), (&900_000.into(), &900_001.into()));
    assert!(carrier["script_hex"].is_null() && carrier["pushes"].as_array().unwrap().is_empty());
}
