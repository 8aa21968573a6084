//! The client against a server that answers whatever a test wants: credentials, retries, errors in words.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cairn_model::{BlockHash, CancelToken, Network, Txid};
use cairn_node::{BlockFault, MempoolEntry, NodeAuth, NodeClient, NodeConfig, NodeError, RetryPolicy};
use common::{Response, Server, quick, reply, toy};
use serde_json::json;

const HASH: &str = "00000000000000000000000000000000000000000000000000000000000000ff";

/// A server that answers `getbestblockhash` after `times` other answers.
fn after(times: usize, first: Response) -> (Server, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let server = Server::start(move |request| {
        if counted.fetch_add(1, Ordering::SeqCst) < times {
            return first.clone();
        }
        Response::rpc(request, Ok(json!(HASH)))
    });
    (server, count)
}

#[test]
fn credentials_are_sent_and_connections_are_kept() {
    let (server, _) = after(0, Response::Hangup);
    let client = server.client();
    for _ in 0..20 {
        assert_eq!(client.best_block_hash().unwrap().to_string(), HASH);
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    let requests = server.requests.lock().unwrap();
    assert!(requests.iter().all(|r| r.authorization.as_deref() == Some("Basic YW5uOnNlY3JldA==")));
}

#[test]
fn transient_faults_are_waited_out() {
    let warming = json!({ "result": null, "error": { "code": -28, "message": "Loading block index…" }, "id": 0 });
    let faults = [
        Response::Hangup,
        Response::Truncated(b"{\"result\":".to_vec()),
        Response::text(503, "Work queue depth exceeded"),
        Response::text(500, ""),
        Response::text(500, &warming.to_string()),
        // As JSON-RPC 2.0 has it.
        Response::text(200, &warming.to_string()),
    ];
    for fault in faults {
        let (server, count) = after(3, fault.clone());
        assert_eq!(server.client().best_block_hash().unwrap().to_string(), HASH, "{fault:?}");
        assert_eq!(count.load(Ordering::SeqCst), 4, "{fault:?}");
    }
}

#[test]
fn retries_are_bounded_and_the_last_error_has_words() {
    let warming = json!({ "result": null, "error": { "code": -28, "message": "Verifying blocks…" }, "id": 0 });
    for (fault, words) in [
        (Response::text(500, &warming.to_string()), "still starting: Verifying blocks…"),
        (Response::text(503, "Work queue depth exceeded"), "overloaded: Work queue depth exceeded"),
        (Response::Truncated(b"{".to_vec()), "closed before the answer was complete"),
    ] {
        let (server, count) = after(usize::MAX, fault);
        let started = Instant::now();
        let error = server.client().best_block_hash().unwrap_err();
        assert!(error.is_transient() && error.to_string().contains(words), "{error}");
        assert!(count.load(Ordering::SeqCst) > 3);
        assert!(started.elapsed() < Duration::from_secs(5));
        let before = count.load(Ordering::SeqCst);
        assert!(server.client().with_retry(RetryPolicy::NONE).best_block_hash().is_err());
        assert_eq!(count.load(Ordering::SeqCst), before + 1);
    }
}

#[test]
fn nobody_there() {
    let address = {
        let (server, _) = after(0, Response::Hangup);
        server.address
    };
    let auth = NodeAuth::UserPassword { user: "ann".to_owned(), password: "hunter2".to_owned() };
    let config = NodeConfig { retry: quick(), ..NodeConfig::new(format!("http://{address}"), auth) };
    let client = NodeClient::new(&config, CancelToken::new()).unwrap();
    thread::sleep(Duration::from_millis(50));
    let error = client.best_block_hash().unwrap_err();
    assert!(matches!(error, NodeError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("check that the node runs"), "{error}");
    assert!(!format!("{error} {error:?} {client:?} {config:?}").contains("hunter2"));
}

#[test]
fn a_stop_ends_the_retries() {
    let (server, _) = after(usize::MAX, Response::text(503, "busy"));
    let cancel = CancelToken::new();
    let retry = RetryPolicy { first: Duration::from_secs(60), ..RetryPolicy::default() };
    let policy = RetryPolicy { longest: Duration::from_secs(60), total: Duration::from_secs(600), ..retry };
    let config = NodeConfig { retry: policy, ..server.config() };
    let client = NodeClient::new(&config, cancel.clone()).unwrap();
    let asking = thread::spawn(move || client.best_block_hash());
    thread::sleep(Duration::from_millis(100));
    cancel.cancel();
    assert!(matches!(asking.join().unwrap(), Err(NodeError::Stopped)));
}

#[test]
fn a_stop_ends_a_long_call() {
    let (server, count) = after(usize::MAX, Response::Silence(Duration::from_secs(5)));
    let cancel = CancelToken::new();
    let client = NodeClient::new(&server.config(), cancel.clone()).unwrap();
    let started = Instant::now();
    let asking = thread::spawn(move || client.tx_out_set_info());
    while count.load(Ordering::SeqCst) == 0 {
        thread::sleep(Duration::from_millis(5));
    }
    cancel.cancel();
    assert!(matches!(asking.join().unwrap(), Err(NodeError::Stopped)));
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[test]
fn a_silent_node_times_out() {
    let (server, _) = after(usize::MAX, Response::Silence(Duration::from_secs(3)));
    let client = server.client().with_retry(RetryPolicy::NONE).with_timeout(Duration::from_millis(100));
    let error = client.best_block_hash().unwrap_err();
    assert!(matches!(error, NodeError::TimedOut { .. }) && error.is_transient(), "{error}");
}

/// A node that takes the cookie it has now.
fn cookie_node(cookie: &Arc<Mutex<String>>) -> Server {
    let cookie = Arc::clone(cookie);
    Server::start(move |request| {
        let expected = format!("Basic {}", base64_of(&cookie.lock().unwrap()));
        if request.authorization.as_deref() != Some(expected.as_str()) {
            return Response::text(401, "");
        }
        Response::rpc(request, Ok(json!(HASH)))
    })
}

fn base64_of(text: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.encode(text)
}

#[test]
fn the_cookie_of_a_restarted_node_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".cookie");
    let cookie = Arc::new(Mutex::new("__cookie__:one".to_owned()));
    let server = cookie_node(&cookie);
    let config = NodeConfig { auth: NodeAuth::Cookie(path.clone()), ..server.config() };
    let client = NodeClient::new(&config, CancelToken::new()).unwrap();
    // Not there yet: the node is starting.
    let writing = {
        let path = path.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(60));
            fs::write(path, "__cookie__:one").unwrap();
        })
    };
    client.best_block_hash().unwrap();
    writing.join().unwrap();
    // Another one after a restart: one refusal, then the new one.
    *cookie.lock().unwrap() = "__cookie__:two".to_owned();
    fs::write(&path, "__cookie__:two").unwrap();
    let before = server.count();
    client.best_block_hash().unwrap();
    assert_eq!(server.count(), before + 2);
    client.best_block_hash().unwrap();
    assert_eq!(server.count(), before + 3);
    // The same as refused: nothing more to try.
    *cookie.lock().unwrap() = "__cookie__:three".to_owned();
    let before = server.count();
    let error = client.best_block_hash().unwrap_err();
    assert!(matches!(error, NodeError::WrongCredentials { .. }), "{error}");
    assert!(error.to_string().contains(".cookie") && !error.to_string().contains("two"), "{error}");
    assert_eq!(server.count(), before + 1);
}

#[test]
fn refusals_have_words_and_are_not_retried() {
    let too_long = format!("<html>{}", "x".repeat(10_000));
    for (answer, words) in [
        (Response::text(401, ""), "rejects the password of user \"ann\""),
        (Response::text(403, ""), "rpcallowip"),
        (Response::text(200, "<html>hello"), "is not Bitcoin Core: HTTP status 200, \"<html>hello\""),
        (Response::text(404, &too_long), "is not Bitcoin Core"),
        (Response::text(301, ""), "is not Bitcoin Core: HTTP status 301"),
        (Response::text(200, "{\"result\":1"), "not JSON of the documented form"),
        (Response::text(200, "{\"result\":\"ff\",\"error\":null,\"id\":99}"), "answers request 99"),
    ] {
        let (server, count) = after(usize::MAX, answer);
        let error = server.client().best_block_hash().unwrap_err();
        assert!(!error.is_transient() && error.to_string().contains(words), "{error}");
        assert!(error.to_string().len() < 400);
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn errors_of_the_interface() {
    let server = Server::start(|request| match request.rpc()["method"].as_str() {
        Some("getrawtransaction") => Response::rpc(request, Err((-5, "No such mempool transaction"))),
        Some("getblockhash") => Response::rpc(request, Err((-8, "Block height out of range"))),
        Some("sendrawtransaction") => Response::rpc(request, Err((-26, "min relay fee not met, 100 < 141"))),
        _ => Response::rpc(request, Err((-32601, "Method not found"))),
    });
    let client = server.client();
    assert_eq!(client.raw_transaction(&Txid::default(), None).unwrap(), None);
    assert_eq!(client.block_hash(7).unwrap(), None);
    let error = client.send_raw_transaction(&[1, 2], None, None).unwrap_err();
    assert!(matches!(error, NodeError::Rpc { code: -26, .. }) && error.to_string().contains("min relay fee"));
    assert!(matches!(client.mempool_info().unwrap_err(), NodeError::Rpc { code: -32601, .. }));
    assert_eq!(server.count(), 4);
}

#[test]
fn batches() {
    let toy = toy::Toy::new(1200);
    let server = toy::serve(&toy);
    let client = server.client();
    let heights: Vec<u32> = (0..=1201).collect();
    let hashes = client.block_hashes(&heights).unwrap();
    assert_eq!(server.count(), 3);
    let best = toy.lock().unwrap().best.clone();
    assert_eq!(hashes[..=1200].iter().map(|hash| hash.unwrap()).collect::<Vec<_>>(), best);
    assert_eq!(hashes[1201], None);
    let headers = client.block_headers(&[best[3], BlockHash([7; 32])]).unwrap();
    assert_eq!(headers[0].unwrap()[4..36], best[2].0);
    assert_eq!(headers[1], None);
    assert_eq!(client.block_hashes(&[]).unwrap(), []);
}

#[test]
fn odd_batches_are_refused() {
    let answers: [fn(&serde_json::Value) -> serde_json::Value; 4] = [
        // One is missing.
        |requests| json!([reply(&requests[0]["id"], Ok(json!(HASH)))]),
        // One that nobody asked for.
        |requests| json!([reply(&requests[0]["id"], Ok(json!(HASH))), reply(&json!(12345), Ok(json!(HASH)))]),
        |_| json!([{ "id": -1 }, { "id": "x" }]),
        |_| json!([]),
    ];
    for answer in answers {
        let server = Server::start(move |request| Response::text(200, &answer(&request.rpc()).to_string()));
        let error = server.client().block_hashes(&[1, 2]).unwrap_err();
        assert!(matches!(error, NodeError::BadAnswer { .. }), "{error}");
    }
    let whole = json!({ "result": null, "error": { "code": -32600, "message": "Batches are off" }, "id": null });
    let server = Server::start(move |_| Response::text(500, &whole.to_string()));
    let error = server.client().block_hashes(&[1, 2]).unwrap_err();
    assert!(error.to_string().contains("Batches are off"), "{error}");
}

#[test]
fn nodes_that_cannot_be_followed() {
    let toy = toy::Toy::new(3);
    let server = toy::serve(&toy);
    let info = server.client().check(Network::Regtest).unwrap();
    assert_eq!((info.major_version(), info.chain.blocks, info.network.relay_fee), (30, 3, Some(1000)));
    assert_eq!(info.network.warnings, ["one"]);
    let error = server.client().check(Network::Main).unwrap_err();
    assert_eq!(error.to_string(), "the node is on regtest, not on main");
    toy.lock().unwrap().version = 249_900;
    let error = server.client().check(Network::Regtest).unwrap_err();
    assert!(error.to_string().starts_with("node version 24.99 is too old"), "{error}");
    toy.lock().unwrap().version = 990_000;
    assert!(server.client().check(Network::Regtest).unwrap().is_newer_than_known());
}

#[test]
fn blocks_come_by_rest_where_offered() {
    for rest in [true, false] {
        let toy = toy::Toy::new(3);
        toy.lock().unwrap().rest = rest;
        let server = toy::serve(&toy);
        let client = server.client();
        let hash = toy.lock().unwrap().best[2];
        assert_eq!(client.uses_rest(), None);
        for _ in 0..2 {
            let block = client.block(2, &hash).unwrap();
            assert_eq!((block.height, block.hash()), (2, hash));
            assert_eq!(block.raw, toy.lock().unwrap().blocks[&hash]);
            assert_eq!(block.previous(), toy.lock().unwrap().best[1]);
        }
        assert_eq!(client.uses_rest(), Some(rest));
        // Asked once whether REST is offered; never with credentials.
        let requests = server.requests.lock().unwrap();
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|request| (request.method == "GET") == request.authorization.is_none()));
        assert_eq!(requests.iter().filter(|request| request.method == "GET").count(), if rest { 3 } else { 1 });
    }
}

#[test]
fn rest_that_is_switched_off_is_left() {
    let toy = toy::Toy::new(3);
    toy.lock().unwrap().rest = true;
    let server = toy::serve(&toy);
    let client = server.client();
    let hash = toy.lock().unwrap().best[2];
    client.block(2, &hash).unwrap();
    toy.lock().unwrap().rest = false;
    client.block(2, &hash).unwrap();
    client.block(2, &hash).unwrap();
    assert_eq!(client.uses_rest(), Some(false));
}

#[test]
fn what_is_not_the_block_is_refused() {
    for rest in [true, false] {
        let toy = toy::Toy::new(3);
        let server = toy::serve(&toy);
        let client = server.client();
        let (hash, other) = {
            let mut toy = toy.lock().unwrap();
            toy.rest = rest;
            (toy.best[2], toy.best[1])
        };
        let (raw, another) = {
            let toy = toy.lock().unwrap();
            (toy.blocks[&hash].clone(), toy.blocks[&other].clone())
        };
        let replace = |bytes: Vec<u8>| toy.lock().unwrap().replaced.insert(hash, bytes);
        replace(another);
        let error = client.block(2, &hash).unwrap_err();
        assert!(matches!(error, NodeError::BadBlock { fault: BlockFault::OtherBlock(found), .. } if found == other));
        // Cut short, too long, another coinbase under the same header, nothing.
        let mut changed = raw.clone();
        *changed.last_mut().unwrap() ^= 1;
        for bytes in [raw[..raw.len() - 1].to_vec(), [&raw[..], &[0]].concat(), changed, vec![]] {
            replace(bytes);
            let error = client.block(2, &hash).unwrap_err();
            assert!(matches!(error, NodeError::BadBlock { fault: BlockFault::NoBlock(_), .. }), "{error}");
        }
        let unknown = BlockHash([9; 32]);
        assert!(matches!(client.block(2, &unknown), Err(NodeError::BlockMissing { hash }) if hash == unknown));
        toy.lock().unwrap().replaced.clear();
        toy.lock().unwrap().rest = false;
        toy.lock().unwrap().prune_height = Some(3);
        assert!(matches!(client.block(2, &hash), Err(NodeError::Pruned { .. })));
    }
}

#[test]
fn a_block_that_never_comes_is_given_up() {
    let toy = toy::Toy::new(2);
    toy.lock().unwrap().delay = Duration::from_millis(10);
    let server = toy::serve(&toy);
    let hash = toy.lock().unwrap().best[2];
    assert!(matches!(server.client().block(2, &hash), Err(NodeError::Busy { .. })));
}

#[test]
fn answers_read() {
    let server = Server::start(|request| {
        Response::rpc(
            request,
            Ok(match request.rpc()["method"].as_str().unwrap() {
                "gettxoutsetinfo" => json!({
                    "height": 7, "bestblock": HASH, "txouts": 9, "bogosize": 700, "muhash": HASH,
                    "total_amount": 20_999_999.976_9, "disk_size": 1,
                }),
                "getrawmempool" => json!({ "txids": [HASH], "mempool_sequence": 12 }),
                "getmempoolinfo" => json!({
                    "loaded": true, "size": 2, "bytes": 300, "usage": 1000, "total_fee": 0.1, "maxmempool": 300_000_000,
                    "mempoolminfee": 0.000_01, "minrelaytxfee": 0.000_001, "incrementalrelayfee": 0.000_001,
                    "unbroadcastcount": 0, "fullrbf": true,
                }),
                "getrawtransaction" => json!("0102"),
                "getzmqnotifications" => json!([{ "type": "pubrawtx", "address": "tcp://127.0.0.1:1", "hwm": 1000 }]),
                "sendrawtransaction" => json!(HASH),
                other => panic!("{other}"),
            }),
        )
    });
    let client = server.client();
    let txid: Txid = HASH.parse().unwrap();
    let hash: BlockHash = HASH.parse().unwrap();
    let coins = client.tx_out_set_info().unwrap();
    assert_eq!((coins.total_amount, coins.best, coins.txouts), (2_099_999_997_690_000, hash, 9));
    assert_eq!(coins.muhash, cairn_model::MuHashDigest(hash.0).to_string());
    assert_eq!(client.raw_mempool(1).unwrap().txids, [txid]);
    let entry = json!({
        "vsize": 141, "weight": 561, "time": 1_700_000_000, "height": 5, "descendantcount": 1,
        "descendantsize": 141, "ancestorcount": 2, "ancestorsize": 300, "wtxid": HASH,
        "fees": { "base": 0.000_001_41, "modified": -0.5, "ancestor": 0.000_002, "descendant": 1e-8 },
        "depends": [HASH], "spentby": [], "bip125-replaceable": true, "unbroadcast": false,
    });
    let entry: MempoolEntry = serde_json::from_str(&entry.to_string()).unwrap();
    assert_eq!((entry.fees.base, entry.fees.modified, entry.fees.descendant), (141, None, Some(1)));
    assert_eq!(client.mempool_info().unwrap().min_fee, 1000);
    assert_eq!(client.raw_transaction(&txid, Some(&hash)).unwrap(), Some(vec![1, 2]));
    assert_eq!(client.zmq_notifications().unwrap()[0].kind, "pubrawtx");
    for (fee, burn, expected) in [
        (Some(10_000), None, json!(["07", "0.00010000"])),
        (None, None, json!(["07", null])),
        (None, Some(546), json!(["07", null, "0.00000546"])),
    ] {
        assert_eq!(client.send_raw_transaction(&[7], fee, burn).unwrap(), txid);
        let sent = server.requests.lock().unwrap().last().unwrap().rpc()["params"].clone();
        assert_eq!(sent, expected);
    }
}
