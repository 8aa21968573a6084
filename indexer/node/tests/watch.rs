//! ZMQ over real sockets, and polling without it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::time::{Duration, Instant};

use cairn_model::BlockHash;
use cairn_node::{GapCause, NodeEvent, Notifications, Payload, TipWatcher, Topic, WatchOptions, ZmqEndpoint};
use common::toy::{SharedToy, Toy, serve};

/// A publisher as the node has it.
struct Publisher {
    socket: zmq::Socket,
    _context: zmq::Context,
    address: String,
}

impl Publisher {
    fn start(address: &str) -> Self {
        let context = zmq::Context::new();
        let socket = context.socket(zmq::PUB).unwrap();
        socket.set_linger(0).unwrap();
        let started = Instant::now();
        while let Err(error) = socket.bind(address) {
            assert!(started.elapsed() < Duration::from_secs(10), "{address}: {error}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let address = socket.get_last_endpoint().unwrap().unwrap();
        Publisher { socket, _context: context, address }
    }

    fn send(&self, topic: &str, data: &[u8], number: u32) {
        self.socket.send_multipart([topic.as_bytes(), data, &number.to_le_bytes()], 0).unwrap();
    }
}

fn endpoint(publisher: &Publisher, topics: &[Topic]) -> ZmqEndpoint {
    ZmqEndpoint { address: publisher.address.clone(), topics: topics.to_vec() }
}

fn options(endpoints: Vec<ZmqEndpoint>) -> WatchOptions {
    WatchOptions {
        endpoints,
        poll: Duration::from_millis(50),
        safety_poll: Duration::from_secs(600),
        ..WatchOptions::default()
    }
}

/// The next event that is wanted, or a panic after a while.
fn next<T>(watcher: &TipWatcher, mut wanted: impl FnMut(&NodeEvent) -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let event = watcher.events().recv_deadline(until).expect("no such event");
        if let Some(found) = wanted(&event) {
            return found;
        }
    }
}

fn connected(watcher: &TipWatcher) {
    next(watcher, |event| matches!(event, NodeEvent::Gap(gap) if gap.cause == GapCause::Connected).then_some(()));
    // The subscription follows the connection.
    std::thread::sleep(Duration::from_millis(150));
}

/// Gaps and transactions, in short, until the transaction `last`.
fn story(watcher: &TipWatcher, last: &[u8]) -> Vec<String> {
    let mut story = Vec::new();
    next(watcher, |event| {
        match event {
            NodeEvent::Gap(gap) => story.push(gap.to_string()),
            NodeEvent::Tx(raw) => story.push(String::from_utf8_lossy(raw).into_owned()),
            _ => {}
        }
        matches!(event, NodeEvent::Tx(raw) if **raw == *last).then_some(())
    });
    story
}

fn node() -> (SharedToy, common::Server) {
    let toy = Toy::new(3);
    let server = serve(&toy);
    (toy, server)
}

#[test]
fn every_hole_is_told_before_the_message_behind_it() {
    let (_toy, server) = node();
    let publisher = Publisher::start("tcp://127.0.0.1:*");
    let watcher = TipWatcher::start(&server.client(), options(vec![endpoint(&publisher, &[Topic::RawTx])])).unwrap();
    connected(&watcher);
    for (data, number) in [("a", 5), ("b", 6), ("c", 8), ("d", 9), ("d", 9), ("e", 10), ("z", 11)] {
        publisher.send("rawtx", data.as_bytes(), number);
    }
    assert_eq!(
        story(&watcher, b"z"),
        [
            "rawtx: first message has number 5",
            "a",
            "b",
            "rawtx: number 8 instead of 7",
            "c",
            "d",
            "rawtx: number 9 instead of 10",
            "d",
            "e",
            "z",
        ]
    );
    let status = watcher.status();
    assert_eq!((status.gaps_seen, status.gaps_open()), (4, 4));
    assert_eq!((status.topics[0].lost, status.topics[0].messages, status.topics[0].last_number), (2, 7, Some(11)));
    assert!(status.last_message.is_some());
    watcher.repaired(3);
    assert_eq!(watcher.status().gaps_open(), 1);
    watcher.repaired(30);
    assert_eq!(watcher.status().gaps_open(), 0);
}

#[test]
fn a_publisher_that_restarts_is_a_gap_even_if_its_numbers_fit() {
    let (_toy, server) = node();
    let publisher = Publisher::start("tcp://127.0.0.1:*");
    let address = publisher.address.clone();
    let watcher = TipWatcher::start(&server.client(), options(vec![endpoint(&publisher, &[Topic::RawTx])])).unwrap();
    connected(&watcher);
    publisher.send("rawtx", b"a", 0);
    assert_eq!(story(&watcher, b"a"), ["rawtx: first message has number 0", "a"]);
    drop(publisher);
    let publisher = Publisher::start(&address);
    connected(&watcher);
    publisher.send("rawtx", b"b", 1);
    assert_eq!(story(&watcher, b"b"), ["rawtx: first message has number 1", "b"]);
    assert_eq!(watcher.status().topics[0].connections, 2);
}

#[test]
fn blocks_and_changes_of_the_mempool_are_read() {
    let (toy, server) = node();
    let publisher = Publisher::start("tcp://127.0.0.1:*");
    let topics = [Topic::HashBlock, Topic::RawBlock, Topic::Sequence];
    let watcher = TipWatcher::start(&server.client(), options(vec![endpoint(&publisher, &topics)])).unwrap();
    connected(&watcher);
    let (hash, raw) = {
        let toy = toy.lock().unwrap();
        (toy.tip().hash, toy.blocks[&toy.tip().hash].clone())
    };
    let mut shown = hash.0;
    shown.reverse();
    publisher.send("hashblock", &shown, 0);
    publisher.send("rawblock", &raw, 0);
    publisher.send("sequence", &[&shown[..], b"C"].concat(), 0);
    publisher.send("sequence", &[&shown[..], b"A", &77u64.to_le_bytes()].concat(), 1);
    publisher.send("sequence", &[&shown[..], b"?"].concat(), 2);
    publisher.send("sequence", &[&shown[..], b"D"].concat(), 3);
    next(&watcher, |event| matches!(event, NodeEvent::Tip(tip) if *tip == hash).then_some(()));
    let block: Vec<u8> = next(&watcher, |event| match event {
        NodeEvent::Block { hash: of, raw } if *of == hash => Some(raw.to_vec()),
        _ => None,
    });
    assert_eq!(block, raw);
    next(&watcher, |event| matches!(event, NodeEvent::Connected(of) if *of == hash).then_some(()));
    next(&watcher, |event| {
        matches!(event, NodeEvent::Accepted { txid, mempool_sequence: 77 } if txid.0 == hash.0).then_some(())
    });
    let cause = next(&watcher, |event| match event {
        NodeEvent::Gap(gap) => Some((gap.topic, gap.cause)),
        _ => None,
    });
    assert_eq!(cause, (Topic::Sequence, GapCause::Garbled));
    next(&watcher, |event| matches!(event, NodeEvent::Disconnected(of) if *of == hash).then_some(()));
}

#[test]
fn without_zmq_the_node_is_polled() {
    let (toy, server) = node();
    let watcher = TipWatcher::start(&server.client(), options(vec![])).unwrap();
    let tip = || toy.lock().unwrap().tip().hash;
    let polled = |hash: BlockHash| {
        next(&watcher, |event| matches!(event, NodeEvent::Polling { best } if *best == hash).then_some(()));
    };
    polled(tip());
    toy.lock().unwrap().mine(1, 0);
    let mined = tip();
    polled(mined);
    // The same tip is announced once.
    assert!(watcher.events().recv_timeout(Duration::from_millis(200)).is_err());
    let status = watcher.status();
    assert_eq!((status.notifications, status.reachable), (Notifications::Polling, true));
    assert_eq!((status.blocks, status.tips_found_by_polling), (Some(4), 0));
    assert_eq!(status.best_block, Some(mined.to_string()));
}

#[test]
fn silence_is_found_out_by_the_safety_poll() {
    let (toy, server) = node();
    let publisher = Publisher::start("tcp://127.0.0.1:*");
    let endpoints = vec![endpoint(&publisher, &[Topic::HashBlock])];
    let options = WatchOptions { safety_poll: Duration::from_millis(300), ..options(endpoints) };
    let watcher = TipWatcher::start(&server.client(), options).unwrap();
    connected(&watcher);
    assert_eq!(watcher.status().notifications, Notifications::Zmq);
    // A block of which ZMQ says nothing.
    let found = watcher.status().tips_found_by_polling;
    toy.lock().unwrap().mine(1, 0);
    let hash = toy.lock().unwrap().tip().hash;
    next(&watcher, |event| matches!(event, NodeEvent::Polling { best } if *best == hash).then_some(()));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(watcher.status().tips_found_by_polling, found + 1);
    // One that ZMQ announced is not news.
    toy.lock().unwrap().mine(1, 0);
    let hash = toy.lock().unwrap().tip().hash;
    let mut shown = hash.0;
    shown.reverse();
    publisher.send("hashblock", &shown, 0);
    next(&watcher, |event| matches!(event, NodeEvent::Tip(tip) if *tip == hash).then_some(()));
    // The connection lost, the node is polled at the faster pace again.
    drop(publisher);
    let until = Instant::now() + Duration::from_secs(20);
    while watcher.status().notifications == Notifications::Zmq {
        assert!(Instant::now() < until, "the lost connection is not noticed");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!watcher.status().topics[0].connected);
}

#[test]
fn a_node_that_goes_and_comes_back_is_told() {
    let toy = Toy::new(3);
    let server = serve(&toy);
    let (address, client) = (server.address, server.client());
    let watcher = TipWatcher::start(&client, options(vec![])).unwrap();
    let tip = toy.lock().unwrap().tip().hash;
    let polled = |watcher: &TipWatcher| {
        next(watcher, |event| matches!(event, NodeEvent::Polling { best } if *best == tip).then_some(()));
    };
    polled(&watcher);
    drop(server);
    let until = Instant::now() + Duration::from_secs(20);
    while watcher.status().reachable {
        assert!(Instant::now() < until, "the lost node is not noticed");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(watcher.status().error.is_some());
    let other = std::sync::Arc::clone(&toy);
    let _server = common::Server::start_at(address, move |request| common::toy::answer(&other, request));
    // The same tip, but an owner that missed messages meanwhile must look.
    polled(&watcher);
    assert!(watcher.status().error.is_none());
}

#[test]
fn bad_addresses_are_errors() {
    let (_toy, server) = node();
    let endpoints = vec![ZmqEndpoint { address: "tcp:/nowhere".to_owned(), topics: vec![Topic::RawTx] }];
    let error = TipWatcher::start(&server.client(), options(endpoints)).err().expect("an error");
    assert!(error.to_string().starts_with("ZMQ at tcp:/nowhere: "), "{error}");
}

#[test]
fn a_slow_owner_loses_nothing_unnoticed() {
    let (_toy, server) = node();
    let publisher = Publisher::start("tcp://127.0.0.1:*");
    let endpoints = vec![endpoint(&publisher, &[Topic::RawTx])];
    let options = WatchOptions { queue_events: 4, queue_bytes: 1000, ..options(endpoints) };
    let watcher = TipWatcher::start(&server.client(), options).unwrap();
    connected(&watcher);
    for number in 0..200u32 {
        publisher.send("rawtx", &[number as u8; 400], number);
    }
    std::thread::sleep(Duration::from_millis(300));
    let mut held: Vec<Payload> = Vec::new();
    let mut seen = 0;
    let until = Instant::now() + Duration::from_secs(20);
    while seen < 200 {
        match watcher.events().recv_deadline(until).unwrap() {
            NodeEvent::Tx(payload) => {
                assert_eq!(payload[0], seen as u8);
                seen += 1;
                // Two may be held at a time.
                held.push(payload);
                if held.len() == 2 {
                    held.clear();
                }
            }
            NodeEvent::Gap(gap) => assert_eq!((gap.cause, seen), (GapCause::First, 0)),
            _ => {}
        }
    }
}
