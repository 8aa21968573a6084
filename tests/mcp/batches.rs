//! Batches pass the same gate as single messages: charged, admitted and bounded one by one, and over when nobody reads.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use cairn_http::{HttpConfig, Metrics};
use cairn_mcp::{Options, routes};
use cairn_operations::{ApiConfig, ApiState, router_with, serve};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tower::ServiceExt;

use crate::{
    rig::{app, raw, said, to},
    support::{Reply, World, assert_problem, everything_world, open_config, send},
};

const PEER: &str = "192.0.2.7:5";

/// A router with a rate limit, and its metrics.
fn limited(world: &World, rate_limit: u32, options: Options) -> (Router, Arc<Metrics>) {
    let config = ApiConfig::from(HttpConfig { rate_limit, ..open_config().http });
    let state = ApiState::new(Arc::clone(&world.slot) as _, config);
    let metrics = Arc::clone(&state.metrics);
    (router_with(state, |api| routes(api, options)), metrics)
}

fn request(body: &Value) -> Request<Body> {
    let mut request = to("/mcp/").body(Body::from(body.to_string())).unwrap();
    request.extensions_mut().insert(ConnectInfo::<SocketAddr>(PEER.parse().unwrap()));
    request
}

fn many(count: usize, method: &str, params: &Value) -> Value {
    (0..count).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).collect()
}

/// Units that are left, as an answer says it.
fn left(reply: &Reply) -> u32 {
    let header = reply.header("ratelimit");
    header.split("r=").nth(1).unwrap().split(';').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn every_message_of_a_batch_is_charged() {
    let world = &everything_world();
    let (router, _) = limited(world, 200, Options::default());
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let before = left(&send(&router, request(&ping)).await);
    let reply = send(&router, request(&many(20, "tools/list", &json!({})))).await;
    assert_eq!(reply.body.as_array().unwrap().len(), 20);
    let after = left(&send(&router, request(&ping)).await);
    assert!((18..=21).contains(&(before - after)), "{before} {after}");
    // The call of a tool costs its operation besides: two units here.
    let txid = world.chain.active()[1].block.txdata[0].compute_txid().to_string();
    let call = json!({"name": "tx_status", "arguments": {"txid": txid}});
    let reply = send(&router, request(&many(20, "tools/call", &call))).await;
    assert!(reply.body.as_array().unwrap().iter().all(|answer| said(&answer["result"])["ok"] == true));
    let last = left(&send(&router, request(&ping)).await);
    assert!((56..=61).contains(&(after - last)), "{after} {last}");

    // Beyond the budget each message is refused on its own.
    let (router, _) = limited(world, 10, Options::default());
    let reply = send(&router, request(&many(20, "ping", &json!({})))).await;
    let answers = reply.body.as_array().unwrap();
    let refused = answers.iter().filter(|answer| answer["error"]["data"]["error"] == "rate_limited").count();
    assert!(answers.len() == 20 && (9..=10).contains(&refused), "{refused}");
    let error = answers.last().unwrap();
    assert_eq!(
        (&error["error"]["code"], &error["error"]["data"]["status"]),
        (&(-32000).into(), &429.into()),
        "{error}"
    );
    assert!(error["id"] == 19 && error["error"]["data"]["retry_after"].as_u64().unwrap() > 0, "{error}");
}

#[tokio::test]
async fn bodies_are_charged_by_size_before_they_are_parsed() {
    let world = &everything_world();
    let (router, _) = limited(world, 200, Options::default());
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let before = left(&send(&router, request(&ping)).await);
    // No JSON: it is refused, and paid.
    let mut large = request(&ping);
    *large.body_mut() = Body::from("x".repeat(1 << 20));
    assert_eq!(send(&router, large).await.status, 400);
    let after = left(&send(&router, request(&ping)).await);
    assert!((15..=17).contains(&(before - after)), "{before} {after}");
    let (router, _) = limited(world, 5, Options::default());
    let mut large = request(&ping);
    *large.body_mut() = Body::from("x".repeat(1 << 20));
    assert_problem(&send(&router, large).await, 429, "rate_limited");
}

#[tokio::test]
async fn messages_with_too_many_values_are_not_built() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let arguments: Value = (0..90_000).map(|at| (format!("a{at}"), json!(0))).collect::<serde_json::Map<_, _>>().into();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tx_verify",
        "arguments": arguments}});
    let reply = raw(&router, &[], call.to_string()).await;
    assert_eq!((reply.status, &reply.body["error"]["code"]), (400, &(-32600).into()), "{}", reply.text);
    assert!(reply.text.contains("20000 values"), "{}", reply.text);
    // One long argument is accepted.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tx_lookup",
        "arguments": {"txid": "a".repeat(1_000_000)}}});
    let reply = raw(&router, &[], call.to_string()).await;
    assert_eq!(said(&reply.body["result"])["error"]["error"], "invalid_txid");
    // Parameters that are not arguments are short.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "a".repeat(100_000)}});
    assert_eq!(raw(&router, &[], call.to_string()).await.body["error"]["code"], -32600);
}

#[tokio::test]
async fn the_answers_of_a_batch_are_bounded() {
    let world = &everything_world();
    let router = app(world, Options { max_batch_bytes: 60_000, ..Options::default() });
    let mut messages = many(6, "tools/list", &json!({}));
    messages.as_array_mut().unwrap().push(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
    let reply = raw(&router, &[], messages.to_string()).await;
    let answers = reply.body.as_array().unwrap();
    assert_eq!(answers.len(), 7);
    let whole = answers.iter().filter(|answer| answer["result"]["tools"].is_array()).count();
    let cut: Vec<&Value> = answers.iter().filter(|answer| answer["error"]["code"] == -32001).collect();
    assert!(whole >= 1 && !cut.is_empty() && whole + cut.len() == 6, "{whole} {}", cut.len());
    let text = cut[0]["error"]["message"].as_str().unwrap();
    assert!(text.contains("60000") && text.contains("on its own"), "{text}");
    // An answer that still fits is sent.
    assert_eq!((&answers[6]["id"], &answers[6]["result"]), (&"p".into(), &json!({})));
    assert!(reply.text.len() < 65_000);
}

#[tokio::test]
async fn a_batch_ends_with_its_reader() {
    let world = &everything_world();
    let (router, metrics) = limited(world, 0, Options::default());
    let call = json!({"name": "block_detail", "arguments": {"height_or_hash": 0}});
    let response = router.clone().oneshot(request(&many(20, "tools/call", &call))).await.unwrap();
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(&first[..], b"[");
    drop(body);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let text = metrics.text();
    let calls: u64 = text
        .lines()
        .filter(|line| line.starts_with("cairn_http_requests_total{") && line.contains("block_detail"))
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(calls, 1, "{text}");
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

const CONNECTIONS: usize = 512;
const MIB: usize = 1 << 20;

/// Sends a batch on each of many connections, and reads nothing.
async fn batches(address: SocketAddr, body: &str) -> Vec<TcpStream> {
    let head = format!(
        "POST /mcp/ HTTP/1.1\r\nHost: cairn.test\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let mut streams = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    streams
}

/// The review's attack: 512 batches of 20 lists of tools, by clients that leave. It took 16 GB.
#[tokio::test(flavor = "multi_thread")]
async fn many_batches_take_little_memory() {
    let world = everything_world();
    let http = HttpConfig { rate_limit: 0, max_connections_per_client: 2 * CONNECTIONS, ..open_config().http };
    let state = ApiState::new(Arc::clone(&world.slot) as _, ApiConfig::from(http));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(serve(
        listener,
        state,
        |api| routes(api, Options { max_batch_bytes: usize::MAX, ..Options::default() }),
        std::future::pending(),
    ));
    let body = many(20, "tools/list", &json!({})).to_string();
    // One that is read to its end: it is answered, and everything is warm.
    let mut streams = batches(address, &body).await;
    let mut one = streams.pop().unwrap();
    let mut text = String::new();
    one.read_to_string(&mut text).await.unwrap();
    assert_eq!(text.matches("\"search_endpoints\"").count(), 20);
    drop(streams);
    tokio::time::sleep(Duration::from_secs(1)).await;

    let before = resident();
    let mut most = 0;
    for _ in 0..3 {
        let streams = batches(address, &body).await;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            most = most.max(resident());
        }
        drop(streams);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = resident();
    println!("{} MiB before, {} at most, {} after", before / MIB, most / MIB, after / MIB);
    assert!(most < before + 96 * MIB, "{} MiB more", (most - before) / MIB);
    assert!(after < before + 48 * MIB, "{} MiB stay", (after - before) / MIB);
    server.abort();
}
