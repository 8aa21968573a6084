//! The feed: pages of it, what comes after an event, and the stream of events over a real socket.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use cairn_events::{Category, Claim, EvidenceTier};
use cairn_http::HttpConfig;
use cairn_link::Publish;
use cairn_operations::{ApiConfig, ApiState, serve};
use cairn_pipeline::{NoProgress, SyncOptions};
use cairn_sources::BlockFiles;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};

use crate::{
    claims::{claim, listed, take},
    support::{World, assert_problem, get, get_ok, open_config},
};

const FEED: &str = "/v1/chain/activity-feed";
const EVENTS: &str = "/v1/events";
/// Whatever is waited for comes in this time.
const PATIENCE: Duration = Duration::from_secs(20);

/// The demo chain, with a feed over its newest blocks.
fn announced_world() -> World {
    let world = World::of(cairn_chaingen::demo::chain(1).unwrap());
    announce(&world);
    world
}

fn announce(world: &World) {
    let engine = world.engine.lock().unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    engine.follow_feed(1_900_000_000).unwrap();
    engine.settle().unwrap();
    let feed = engine.reader().view().unwrap().feed().span().unwrap().unwrap();
    world.slot.publish_feed(feed.last);
}

fn unwind(world: &World, blocks: u32) {
    let mut engine = world.engine.lock().unwrap();
    let to = engine.tip().unwrap().unwrap().0 - blocks;
    engine.unwind(to, &NoProgress).unwrap();
}

/// Brings the index to the tip of the block files again.
fn sync(world: &World) {
    let files = BlockFiles::open(&world.blocks_dir, cairn_model::Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    world.engine.lock().unwrap().sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
}

fn list<'b>(body: &'b Value, name: &str) -> &'b [Value] {
    body[name].as_array().unwrap_or_else(|| panic!("{name}: {body}"))
}

/// The events of all pages.
async fn pages(router: &axum::Router, query: &str) -> Vec<Value> {
    let (mut events, mut cursor) = (Vec::new(), String::new());
    for _ in 0..1_000 {
        let body = get_ok(router, FEED, &format!("{FEED}?{query}{cursor}")).await;
        events.extend(list(&body, "events").iter().cloned());
        match body["next_cursor"].as_str() {
            None => return events,
            Some(next) => cursor = format!("&cursor={next}"),
        }
    }
    panic!("pages without end");
}

/// Types of what is about blocks.
const OF_BLOCKS: &str =
    "block,whale_tx,coinjoin_round,awakening,consolidation,dormancy_flush,whale_wakeup,dust_campaign";

/// All events after one.
async fn after(router: &axum::Router, id: &str, query: &str) -> Vec<Value> {
    let (mut events, mut last) = (Vec::new(), id.to_owned());
    for _ in 0..1_000 {
        let body = get_ok(router, EVENTS, &format!("{EVENTS}?after={last}&{query}")).await;
        assert_eq!(body["reset"], false);
        events.extend(list(&body, "events").iter().cloned());
        last = body["last_id"].as_str().unwrap().to_owned();
        if body["has_more"] == false {
            return events;
        }
    }
    panic!("events without end");
}

#[tokio::test]
async fn what_is_not_on_disk_is_not_told() {
    let world = &announced_world();
    let router = world.open_router();
    let all = pages(&router, &format!("limit=200&types={OF_BLOCKS}")).await;
    let epoch = all[0]["id"].as_str().unwrap().split('-').next().unwrap().to_owned();
    // A kill loses the newest three, and their numbers are given to others.
    let last = all[3]["seq"].as_u64().unwrap();
    world.slot.publish_feed(last);
    assert_eq!(pages(&router, &format!("limit=200&types={OF_BLOCKS}")).await, all[3..]);
    let mut forward = after(&router, &format!("{epoch}-0"), "limit=100").await;
    forward.reverse();
    assert_eq!(forward, all[3..]);
    world.slot.publish_feed(last + 3);
    assert_eq!(pages(&router, &format!("limit=200&types={OF_BLOCKS}")).await, all);
}

#[tokio::test]
async fn pages_and_events_have_the_same() {
    let world = &announced_world();
    let router = world.open_router();
    let all = pages(&router, &format!("limit=200&types={OF_BLOCKS}")).await;
    let seqs: Vec<u64> = all.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.windows(2).all(|two| two[0] == two[1] + 1) && seqs.last() == Some(&1), "the whole feed");
    let epoch = all[0]["id"].as_str().unwrap().split('-').next().unwrap();
    let mut forward = after(&router, &format!("{epoch}-0"), "limit=100").await;
    forward.reverse();
    assert_eq!(forward, all);
    // Without blocks, and one type alone.
    let alerts = pages(&router, "limit=7").await;
    let expected: Vec<&Value> = all.iter().filter(|event| event["type"] != "block").collect();
    assert_eq!(alerts.iter().collect::<Vec<_>>(), expected);
    for kind in ["whale_tx", "awakening", "consolidation", "coinjoin_round", "dormancy_flush", "whale_wakeup"] {
        let found = pages(&router, &format!("limit=50&types={kind}")).await;
        let expected: Vec<&Value> = all.iter().filter(|event| event["type"] == kind).collect();
        assert!(!found.is_empty(), "{kind}");
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{kind}");
    }
    // An event without a value stays.
    let large = pages(&router, "limit=50&min_btc=150").await;
    let expected =
        expected.iter().filter(|event| event["value_sats"].as_u64().is_none_or(|sats| sats >= 15_000_000_000));
    assert_eq!(large.iter().collect::<Vec<_>>(), expected.copied().collect::<Vec<_>>());
    // Whale alerts are those of the pulse.
    let whales = get_ok(&router, "/v1/pulse/whales", "/v1/pulse/whales?since=0&limit=100").await;
    let found = pages(&router, "limit=200&types=whale_tx").await;
    for (event, row) in found.iter().zip(list(&whales, "confirmed")) {
        assert_eq!((&event["txid"], &event["value_sats"]), (&row["txid"], &row["net_external_sats"]));
    }
}

#[tokio::test]
async fn reorganizations_are_told_and_taken_back() {
    let world = &announced_world();
    let router = world.open_router();
    let before = get_ok(&router, EVENTS, EVENTS).await["last_id"].as_str().unwrap().to_owned();
    let feed_before = pages(&router, &format!("limit=200&types={OF_BLOCKS}")).await;
    unwind(world, 40);
    announce(world);
    let told = after(&router, &before, "limit=100").await;
    let tip = 3_000;
    assert_eq!(
        (&told[0]["type"], &told[0]["count"], &told[0]["height"]),
        (&"reorg".into(), &40.into(), &(tip - 40).into())
    );
    assert!(told[1..].iter().all(|event| event["type"] == "retraction" && event["state"] == "final"));
    let gone: Vec<&Value> = feed_before.iter().filter(|event| event["height"].as_u64() > Some(tip - 40)).collect();
    let taken: Vec<&Value> = told[1..].iter().map(|event| &event["retracts"]["id"]).collect();
    assert_eq!(taken, gone.iter().map(|event| &event["id"]).collect::<Vec<_>>(), "each once, the newest first");
    // Earlier events stay, and are marked.
    let marked = pages(&router, &format!("limit=200&types={OF_BLOCKS},retraction")).await;
    let of = |id: &Value| marked.iter().find(|event| event["id"] == *id).unwrap();
    assert!(gone.iter().all(|event| of(&event["id"])["state"] == "retracted"));
    // Blocks are not asked for: neither are their retractions.
    let alerts = pages(&router, "limit=200").await;
    assert!(alerts.iter().all(|event| event["type"] != "block" && event["retracts"]["type"] != "block"));
    sync(world);
    announce(world);
    let again = after(&router, told.last().unwrap()["id"].as_str().unwrap(), "limit=100").await;
    let what =
        |event: &Value| (event["type"].clone(), event["height"].clone(), event["txid"].clone(), event["vin"].clone());
    let mut expected: Vec<_> = gone.iter().map(|event| what(event)).collect();
    expected.reverse();
    assert_eq!(again.iter().map(what).collect::<Vec<_>>(), expected, "announced anew, in order");
}

#[tokio::test]
async fn labels_are_announced_and_joined() {
    let world = &announced_world();
    let router = world.open_router();
    assert_eq!(pages(&router, "types=exchange_flow_large").await, Vec::<Value>::new());
    let last = get_ok(&router, EVENTS, EVENTS).await["last_id"].as_str().unwrap().to_owned();
    let actors = cairn_chaingen::demo::actors().unwrap();
    let hot = &actors.iter().find(|of| of.name == "exchange").unwrap().addresses[0];
    let own = Claim {
        level: 90,
        tier: EvidenceTier::SelfDisclosed,
        category: Some(Category::Exchange),
        ..claim(&hot.script_pubkey(), "cairn-exchange")
    };
    take(world, "exchange", 1_700_000_000, false, std::slice::from_ref(&own));
    announce(world);
    let told = after(&router, &last, "limit=10").await;
    let [event] = &told[..] else { panic!("{told:?}") };
    assert_eq!(
        (&event["type"], &event["count"], &event["state"]),
        (&"label_change".into(), &1.into(), &"final".into())
    );
    assert!(event["source"].as_str().unwrap().starts_with("exchange/"), "{event}");
    // A list of sanctions says that it is one.
    let other = &actors.iter().find(|of| of.name == "sleeper").unwrap().addresses[0];
    let listed = listed(&other.script_pubkey());
    take(world, "ofac", 1_700_000_100, true, std::slice::from_ref(&listed));
    announce(world);
    let told = after(&router, event["id"].as_str().unwrap(), "limit=10&types=sanctions_list_change").await;
    let [listing] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&listing["type"], &listing["count"]), (&"sanctions_list_change".into(), &1.into()));
    assert!(listing["txid"].is_null() && listing["value_sats"].is_null(), "{listing}");
    let flows = pages(&router, "limit=200&types=exchange_flow_large").await;
    assert!(!flows.is_empty());
    assert!(flows.iter().all(|event| event["type"] == "whale_tx" && event["flow_type"] == "exchange_flow_large"));
    // Those that the address or the entity takes part in; the demo's epoch is the feed's.
    let epoch = last.split('-').next().unwrap();
    let start = format!("{epoch}-0");
    let of_address = after(&router, &start, &format!("limit=100&types=whale_tx&address={hot}")).await;
    let of_entity = after(&router, &start, "limit=100&types=whale_tx&entity=cairn-exchange").await;
    let ids = |events: &[Value]| events.iter().map(|event| event["id"].to_string()).collect::<BTreeSet<_>>();
    assert!(ids(&of_address).is_superset(&ids(&flows)) && ids(&of_entity).is_superset(&ids(&of_address)));
    let nobody = after(&router, &start, "limit=100&types=whale_tx&entity=nobody").await;
    assert_eq!(nobody, Vec::<Value>::new());
}

#[tokio::test]
async fn bounds_are_told() {
    let world = &announced_world();
    let router = world.open_router();
    for bad in ["types=whale", "limit=0", "limit=201", "cursor=00", "min_btc=x"] {
        assert_problem(&get(&router, &format!("{FEED}?{bad}")).await, 422, "validation_error");
    }
    for bad in ["after=1", "after=a-b", "limit=101", "entity=%20", "types="] {
        assert_problem(&get(&router, &format!("{EVENTS}?{bad}")).await, 422, "validation_error");
    }
    // Of another feed, or of one that is longer.
    for other in ["1-5", "1900000000-99999999", "4294967295-18446744073709551615"] {
        let body = get_ok(&router, EVENTS, &format!("{EVENTS}?after={other}")).await;
        assert_eq!((&body["reset"], &body["events"]), (&true.into(), &Value::Array(Vec::new())), "{other}");
    }
    // An index without a feed.
    let empty = &World::of(cairn_chaingen::demo::chain(1).unwrap());
    let router = empty.open_router();
    let body = get_ok(&router, EVENTS, EVENTS).await;
    assert_eq!((&body["last_id"], &body["events"]), (&Value::Null, &Value::Array(Vec::new())));
    let body = get_ok(&router, FEED, FEED).await;
    assert_eq!((&body["feed_began_at"], &body["events"]), (&Value::Null, &Value::Array(Vec::new())));
}

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    over: JoinHandle<std::io::Result<()>>,
}

async fn server(world: &World, http: HttpConfig) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let state = ApiState::new(Arc::clone(&world.slot) as Arc<_>, ApiConfig::from(http));
    let (stop, stopped) = oneshot::channel();
    let shutdown = async move { drop(stopped.await) };
    let over = tokio::spawn(serve(listener, state, |_| axum::Router::new(), shutdown));
    Server { address, stop, over }
}

/// A client of the stream.
struct Client(BufReader<TcpStream>);

/// An event as it came: its name, its id, its data.
type Came = (String, String, Value);

impl Client {
    async fn connect(server: &Server, query: &str, last: Option<&str>) -> Client {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let head = format!("GET {EVENTS}?{query} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n{last}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        Client(BufReader::new(stream))
    }

    /// The next line; `None` at the end.
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.0.read_line(&mut line)).await.expect("nothing comes").ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// Reads the head of the answer.
    async fn head(&mut self) -> Vec<String> {
        let mut head = Vec::new();
        loop {
            match self.line().await {
                Some(line) if !line.is_empty() => head.push(line),
                _ => return head,
            }
        }
    }

    /// The next event; `None` if the stream ends.
    async fn event(&mut self) -> Option<Came> {
        let (mut name, mut id, mut data) = (String::new(), String::new(), Value::Null);
        loop {
            let line = self.line().await?;
            if let Some(rest) = line.strip_prefix("event: ") {
                name = rest.to_owned();
            } else if let Some(rest) = line.strip_prefix("id: ") {
                id = rest.to_owned();
            } else if let Some(rest) = line.strip_prefix("data: ") {
                data = serde_json::from_str(rest).unwrap();
            } else if line.is_empty() && !name.is_empty() {
                return Some((name, id, data));
            }
        }
    }
}

/// Announcements, a reorganization, a client that comes again: each event comes once, and in order.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_sends_each_event_once() {
    let world = &announced_world();
    let router = world.open_router();
    let server = server(world, open_config().http).await;
    let last = get_ok(&router, EVENTS, EVENTS).await["last_id"].as_str().unwrap().to_owned();
    let mut client = Client::connect(&server, "", None).await;
    let head = client.head().await;
    assert!(head[0].starts_with("HTTP/1.1 200") && head.iter().any(|line| line == "content-type: text/event-stream"));
    assert!(head.iter().any(|line| line == "cache-control: no-store"), "{head:?}");
    unwind(world, 30);
    announce(world);
    sync(world);
    announce(world);
    let expected = after(&router, &last, "limit=100").await;
    assert!(expected.len() > 60);
    let mut seen: Vec<Came> = Vec::new();
    for at in 0..expected.len() {
        // In the middle the connection is lost.
        if at == 17 {
            let id = seen.last().unwrap().1.clone();
            client = Client::connect(&server, "after=1-1", Some(&id)).await;
            client.head().await;
        }
        seen.push(client.event().await.expect("the stream goes on"));
    }
    for ((name, id, data), event) in seen.iter().zip(&expected) {
        assert_eq!((&event["type"], &event["id"]), (&name.as_str().into(), &id.as_str().into()));
        assert_eq!(data, event);
    }
    // Two blocks later only what is asked for comes.
    let mut blocks = Client::connect(&server, "types=reorg&limit=1", None).await;
    blocks.head().await;
    unwind(world, 2);
    announce(world);
    let (name, _, data) = blocks.event().await.unwrap();
    assert_eq!((name.as_str(), &data["count"]), ("reorg", &2.into()));
    // Of another feed: a reset, then what comes.
    let mut other = Client::connect(&server, "after=5-5", None).await;
    other.head().await;
    assert_eq!(other.event().await.unwrap().0, "reset");
    // The same, escaped; it goes on from there.
    let mut escaped = Client::connect(&server, "%61fter=5%2D5&types=block", None).await;
    escaped.head().await;
    assert_eq!(escaped.event().await.unwrap().0, "reset");
    sync(world);
    announce(world);
    assert_eq!(escaped.event().await.unwrap().0, "block");
    // A wrong request is reported as with any other operation.
    let long = "9".repeat(30_000);
    for (query, id) in [
        ("types=whale", None),
        ("types=whale", Some("1-")),
        ("after=1-", None),
        ("after=%FF", None),
        (format!("after={}", "-".repeat(40_000)).as_str(), None),
    ] {
        let mut wrong = Client::connect(&server, query, id).await;
        let head = wrong.head().await;
        assert!(head[0].starts_with("HTTP/1.1 422"), "{query} {id:?}: {head:?}");
    }
    // But a browser that comes again with an id that is not from this feed gets a stream: first a reset, then new
    // events.
    let mut again = Vec::new();
    for id in ["1-", "\u{fc}", "5-5", "no-id", long.as_str()] {
        let mut client = Client::connect(&server, "types=block", Some(id)).await;
        let head = client.head().await;
        assert!(head[0].starts_with("HTTP/1.1 200"), "{id:.9}: {head:?}");
        let newest = get_ok(&router, EVENTS, EVENTS).await["last_id"].clone();
        let (name, id, data) = client.event().await.unwrap();
        assert_eq!((name.as_str(), &json!(id), &data["last_id"]), ("reset", &newest, &newest));
        assert_eq!(data["feed"], format!("http://cairn.test{FEED}"));
        again.push(client);
    }
    unwind(world, 1);
    announce(world);
    sync(world);
    announce(world);
    for client in &mut again {
        assert_eq!(client.event().await.unwrap().0, "block");
    }
    // The server stops in spite of open streams, and they end.
    server.stop.send(()).unwrap();
    timeout(PATIENCE, server.over).await.expect("the server stops").unwrap().unwrap();
    while let Some((name, ..)) = blocks.event().await {
        assert_eq!(name, "reorg");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_so_many_streams() {
    let world = &announced_world();
    let http = HttpConfig { max_streams: 4, max_streams_per_client: 2, ..open_config().http };
    let server = server(world, http).await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(&server, "", None).await;
        assert!(client.head().await[0].starts_with("HTTP/1.1 200"));
        open.push(client);
    }
    let mut third = Client::connect(&server, "", None).await;
    let head = third.head().await;
    assert!(
        head[0].starts_with("HTTP/1.1 503") && head.iter().any(|line| line.starts_with("retry-after: ")),
        "{head:?}"
    );
    // One leaves, and its place is free.
    drop(open.pop());
    for _ in 0..200 {
        let mut client = Client::connect(&server, "", None).await;
        if client.head().await[0].starts_with("HTTP/1.1 200") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the place of a client that left is never free");
}
