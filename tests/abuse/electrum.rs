//! One client does its worst at the Electrum port within its budget; another wallet asks as always.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use bitcoin::{
    Script,
    hashes::{Hash, sha256},
};
use cairn_support::loopback::connect;
use serde_json::{Value, json};

use crate::{
    attacks::{Attack, Way},
    fair::hardly_notices,
    support::{Server, WORLD, anyone},
};

/// Requests that a budget has room for.
const OF_A_CLIENT: usize = 1_000;

fn script_hash(script: &Script) -> String {
    let mut hash = sha256::Hash::hash(script.as_bytes()).to_byte_array();
    hash.reverse();
    hex::encode(hash)
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

fn batch(count: usize, method: &str, params: impl Fn(usize) -> Value) -> Vec<u8> {
    line(&(0..count).map(|n| request(method, params(n))).collect())
}

/// A wallet that opened its connection with a greeting.
struct Wallet(BufReader<TcpStream>);

impl Wallet {
    fn from(host: u8, server: SocketAddr) -> Wallet {
        let stream = connect(host, server).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut wallet = Wallet(BufReader::new(stream));
        wallet.ask(&line(&request("server.version", json!(["wallet", "1.4"]))));
        wallet
    }

    fn ask(&mut self, line: &[u8]) {
        self.0.get_mut().write_all(line).unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        assert!(answer.contains("\"result\""), "{answer}");
    }
}

/// Histories of a script with few transactions.
fn histories(server: &Server, hosts: RangeInclusive<u8>, count: usize) -> Vec<Duration> {
    let history = line(&request("blockchain.scripthash.get_history", json!([script_hash(&WORLD.worst.quiet)])));
    let mut times = Vec::new();
    for host in hosts {
        let mut wallet = Wallet::from(host, server.electrum);
        for _ in 0..OF_A_CLIENT.min(count - times.len()) {
            let began = Instant::now();
            wallet.ask(&history);
            times.push(began.elapsed());
        }
    }
    times
}

fn attacks() -> Vec<Attack> {
    let worst = &WORLD.worst;
    let busy = worst.busy_address.trim_start_matches("scripthash:");
    // Written in the other order of bytes.
    let busy: Vec<u8> = hex::decode(busy).unwrap().into_iter().rev().collect();
    let busy = json!([hex::encode(busy)]);
    let version = line(&request("server.version", json!(["attack", "1.4"])));
    let with_version = |rest: Vec<u8>| [version.clone(), rest].concat();
    let of_busy = |method: &str| batch(100, method, |_| busy.clone());
    let others = |n: usize| json!([format!("{n:064x}")]);
    let [inputs, witness] = [&worst.inputs, &worst.witness].map(|tx| tx.compute_txid().to_string());
    let attack = |name, connections, way| Attack { name, connections, way };
    vec![
        attack("batches of histories and coins of a busy script", 8, {
            let methods = ["get_history", "listunspent", "get_balance", "get_mempool"];
            Way::AsksLines(methods.map(|method| of_busy(&format!("blockchain.scripthash.{method}"))).into())
        }),
        attack("batches of subscriptions", 8, {
            let many = batch(100, "blockchain.scripthash.subscribe", others);
            Way::AsksLines(vec![of_busy("blockchain.scripthash.subscribe"), many])
        }),
        attack("subscriptions on many connections", 200, {
            Way::AsksLines(vec![batch(100, "blockchain.scripthash.subscribe", others)])
        }),
        attack("large transactions and their proofs", 8, {
            let txs = batch(100, "blockchain.transaction.get", |_| json!([witness]));
            let proofs = batch(100, "blockchain.transaction.get_merkle", |_| json!([inputs, 12]));
            Way::AsksLines(vec![txs, proofs])
        }),
        attack("headers with proofs", 8, {
            let headers = batch(100, "blockchain.block.headers", |_| json!([0, 2016, 10]));
            let proofs = batch(100, "blockchain.block.header", |n| json!([n % 10, 10]));
            Way::AsksLines(vec![headers, proofs])
        }),
        attack("answers that nobody reads", 32, {
            let coins = script_hash(&anyone());
            let rest = batch(100, "blockchain.scripthash.get_history", |_| json!([coins]));
            Way::NeverReads(with_version([of_busy("blockchain.scripthash.get_history"), rest].concat()))
        }),
        attack("long lines and deep nesting", 8, {
            let deep = format!("{}{}\n", "[".repeat(30_000), "]".repeat(30_000)).into_bytes();
            let long = line(&request("server.ping", json!(["x".repeat(60_000)])));
            Way::AsksLines(vec![deep, long, b"\n".to_vec(), vec![0xff; 60_000]])
        }),
        attack("lines that never end", 32, Way::NeverReads(vec![b'['; 4_096])),
        attack(
            "requests that arrive byte by byte",
            64,
            Way::Drips(with_version(of_busy("blockchain.scripthash.get_history"))),
        ),
        attack("greetings that are followed by nothing", 64, Way::Leaves(version.clone())),
        attack("connections that say nothing", 500, Way::Idles),
    ]
}

fn attacks_over_tls() -> Vec<Attack> {
    // The beginning of a record of a handshake that announces 16 KiB.
    let beginning = [&[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc][..], &[0; 2_000]].concat();
    let attack = |name, connections, way| Attack { name, connections, way };
    vec![
        attack("handshakes that never end", 500, Way::Idles),
        attack("handshakes that arrive byte by byte", 64, Way::Drips(beginning.clone())),
        attack("handshakes that are left", 64, Way::Leaves(beginning)),
    ]
}

#[test]
fn another_wallet_hardly_notices() {
    hardly_notices(attacks(), &|server| server.electrum, &histories);
}

#[test]
fn another_wallet_hardly_notices_handshakes() {
    if Server::start(0).electrum_tls.is_none() {
        cairn_testkit::skip!("openssl is not installed");
    }
    hardly_notices(attacks_over_tls(), &|server| server.electrum_tls.unwrap(), &histories);
}
