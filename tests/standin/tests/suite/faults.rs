use std::io::ErrorKind;
use std::time::{Duration, Instant};

use bitcoincore_zmq::Message;
use cairn_standin::{HttpFault, HttpRule, Match, Restart, Topic, When, ZmqFault, ZmqRule};
use serde_json::json;

use crate::client::{Client, get, post, rpc, try_rpc};
use crate::listener::Listener;
use crate::node;

/// The numbers of the `hashblock` messages that arrive.
fn numbers(listener: &Listener) -> Vec<u32> {
    let number = |message| match message {
        Message::HashBlock(_, number) => Some(number),
        _ => None,
    };
    listener.drain().into_iter().filter_map(number).collect()
}

#[test]
fn dropped_doubled_reordered() {
    let node = node(0);
    let listener = Listener::new(&node);
    let mine = |blocks, rules| {
        node.zmq_faults(1, rules).unwrap();
        node.world().mine(blocks).unwrap();
        node.settle().unwrap();
        numbers(&listener)
    };
    assert_eq!(mine(3, vec![ZmqRule::once(Topic::HashBlock, ZmqFault::Drop)]), [1, 2]);
    let second = ZmqRule { skip: 1, ..ZmqRule::once(Topic::HashBlock, ZmqFault::Duplicate) };
    assert_eq!(mine(3, vec![second]), [3, 4, 4, 5]);
    // A block has five messages (one transaction): the held one goes out after the next block's.
    assert_eq!(mine(3, vec![ZmqRule::once(Topic::HashBlock, ZmqFault::Reorder(6))]), [7, 6, 8]);
    assert_eq!(mine(2, vec![ZmqRule::once(Topic::HashBlock, ZmqFault::Reorder(99))]), [10]);
    node.flush().unwrap();
    assert_eq!(numbers(&listener), [9]);
    assert_eq!(mine(1, vec![]), [11]);
}

#[test]
fn chance_is_decided_by_the_seed() {
    let run = |seed| {
        let node = node(0);
        let listener = Listener::new(&node);
        node.zmq_faults(seed, vec![ZmqRule::sometimes(300, ZmqFault::Drop)]).unwrap();
        node.world().mine(40).unwrap();
        numbers(&listener)
    };
    let first = run(1);
    assert!(first.len() > 15 && first.len() < 38);
    assert_eq!(first, run(1));
    assert_ne!(first, run(2));
}

#[test]
fn a_late_topic_keeps_its_order() {
    let node = node(0);
    let listener = Listener::new(&node);
    let late = ZmqFault::Delay(Duration::from_millis(700));
    node.zmq_faults(1, vec![ZmqRule::once(Topic::HashBlock, late)]).unwrap();
    let start = Instant::now();
    node.world().mine(3).unwrap();
    let mut early = 0;
    let mut late = Vec::new();
    while late.len() < 3 {
        match listener.next() {
            Message::HashBlock(_, number) => {
                assert!(start.elapsed() >= Duration::from_millis(700));
                late.push(number);
            }
            _ => early += 1,
        }
    }
    assert_eq!((late, early), (vec![0, 1, 2], 12));
}

#[test]
fn a_closed_socket_leaves_a_gap() {
    let node = node(0);
    let listener = Listener::new(&node);
    node.world().mine(1).unwrap();
    assert_eq!(numbers(&listener), [0]);
    node.close_zmq().unwrap();
    node.world().mine(2).unwrap();
    node.open_zmq().unwrap();
    assert!(node.await_subscriptions(1, Duration::from_secs(10)).unwrap());
    node.world().mine(1).unwrap();
    assert_eq!(numbers(&listener), [3]);
}

#[test]
fn warm_up_and_full_queue() {
    let node = node(2);
    let warm = HttpRule::times(2, Match::Any, HttpFault::WarmUp("Loading block index…"));
    let full = HttpRule::times(1, Match::Rpc("getblockcount"), HttpFault::QueueFull);
    node.http_faults(1, vec![warm, full]);
    let error = try_rpc(&node, "getblockcount", json!([])).unwrap_err();
    assert_eq!(error, (-28, "Loading block index…".to_owned()));
    let rest = get(&node, "/rest/chaininfo.json");
    assert_eq!((rest.status, rest.text()), (503, "Service temporarily unavailable: Loading block index…\r\n"));
    assert_eq!(rpc(&node, "getbestblockhash", json!([])), json!(node.world().tip().to_string()));
    let answer = post(&node, &json!({ "method": "getblockcount" }));
    assert_eq!((answer.status, answer.text()), (503, "Work queue depth exceeded"));
    assert_eq!(rpc(&node, "getblockcount", json!([])), 2);
    node.http_faults(1, vec![HttpRule::times(1, Match::AnyRpc, HttpFault::Status(500, "out of order"))]);
    assert_eq!(post(&node, &json!({ "method": "getblockcount" })).text(), "out of order");
    node.http_faults(1, vec![HttpRule::times(2, Match::AnyRpc, HttpFault::Result("[17]"))]);
    assert_eq!(rpc(&node, "getblockcount", json!([])), json!([17]));
    let batch = post(&node, &json!([{ "id": 4, "method": "uptime" }, { "id": 5, "method": "getblockcount" }])).json();
    assert_eq!((&batch[0]["id"], &batch[1]["id"], &batch[1]["result"]), (&json!(4), &json!(5), &json!([17])));
    assert_eq!(node.requests(), 8);
}

#[test]
fn broken_connections() {
    let node = node(2);
    let path = format!("/rest/block/{}.bin", node.world().tip());
    let ask = |fault| {
        node.http_faults(1, vec![HttpRule::times(1, Match::Rest("block/"), fault)]);
        Client::new(&node).request("GET", &path, "", b"").map(|answer| answer.status).map_err(|error| error.kind())
    };
    assert_eq!(ask(HttpFault::Reset), Err(ErrorKind::ConnectionReset));
    assert_eq!(ask(HttpFault::Truncate), Err(ErrorKind::UnexpectedEof));
    assert_eq!(ask(HttpFault::Close), Err(ErrorKind::UnexpectedEof));
    let reset = ask(HttpFault::ResetInBody).unwrap_err();
    assert!(matches!(reset, ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof), "{reset:?}");
    assert_eq!(ask(HttpFault::Trickle(20, Duration::from_millis(1))), Ok(200));
    let start = Instant::now();
    assert_eq!(ask(HttpFault::Delay(Duration::from_millis(200))), Ok(200));
    assert!(start.elapsed() >= Duration::from_millis(200));
    // A kept connection that dies between two requests.
    node.http_faults(1, vec![HttpRule::times(1, Match::Any, HttpFault::CloseAfter)]);
    let mut client = Client::new(&node);
    assert_eq!(client.request("GET", &path, "", b"").unwrap().status, 200);
    assert!(client.request("GET", &path, "", b"").is_err());
    let mut client = Client::new(&node);
    for _ in 0..3 {
        assert_eq!(client.request("GET", &path, "", b"").unwrap().status, 200);
    }
}

#[test]
fn a_reorganization_in_the_middle_of_a_request() {
    let node = node(20);
    let old = node.world().tip();
    // Before: the answer is of the new chain. After: it is old when it arrives.
    node.at_request(Match::Rpc("getbestblockhash"), When::After, 1, |world| drop(world.reorg(2, 3).unwrap()));
    assert_eq!(rpc(&node, "getbestblockhash", json!([])), json!(old.to_string()));
    assert_eq!(node.waiting_actions(), 1);
    assert_eq!(rpc(&node, "getbestblockhash", json!([])), json!(old.to_string()));
    assert_ne!(node.world().tip(), old);
    assert_eq!((node.waiting_actions(), node.world().height()), (0, 21));
    // Within a batch, as Core answers its calls one by one.
    node.at_request(Match::Rpc("getblockhash"), When::Before, 0, |world| drop(world.reorg(1, 2).unwrap()));
    let batch = json!([
        { "id": 1, "method": "getblockcount" },
        { "id": 2, "method": "getblockhash", "params": [22] },
        { "id": 3, "method": "getblockcount" },
    ]);
    let answers = post(&node, &batch).json();
    assert_eq!((&answers[0]["result"], &answers[2]["result"]), (&json!(21), &json!(22)));
    assert_eq!(answers[1]["result"], json!(node.world().tip().to_string()));
    // In the middle of a body: the block is whole, though it is no longer on the chain when it ends.
    let tip = node.world().tip();
    node.at_request(Match::Rest("block/"), When::InBody, 0, |world| drop(world.reorg(1, 2).unwrap()));
    let body = get(&node, &format!("/rest/block/{tip}.bin")).body;
    let block: bitcoin::Block = bitcoin::consensus::deserialize(&body).unwrap();
    assert_eq!(block.block_hash(), tip);
    assert_ne!(node.world().hash_at(22), Some(tip));
}

#[test]
fn a_restart_breaks_connections_and_cookie() {
    let mut node = node(3);
    let mut client = Client::new(&node);
    let (body, cookie) = (br#"{"method":"getblockcount"}"#, node.authorization());
    assert_eq!(client.request("POST", "/", &cookie, body).unwrap().status, 200);
    node.stop();
    assert!(!node.is_running() && !node.cookie_file().exists());
    assert!(client.request("POST", "/", &cookie, body).is_err());
    assert!(std::net::TcpStream::connect(node.address()).is_err());
    node.world().mine(1).unwrap();
    node.start_again(&Restart::default()).unwrap();
    assert_eq!(Client::new(&node).request("POST", "/", &cookie, body).unwrap().status, 401);
    assert_eq!(rpc(&node, "getblockcount", json!([])), 4);
    node.restart(&Restart { network: Some(bitcoin::Network::Signet), ..Restart::default() }).unwrap();
    assert_eq!(rpc(&node, "getblockchaininfo", json!([]))["chain"], "signet");
}
