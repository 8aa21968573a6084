//! The old transport: a stream of events, and messages by POST.

use std::time::Duration;

use axum::{
    Router,
    body::Body,
    http::{Request, Response},
};
use cairn_mcp::Options;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{
    rig::{app, said, to},
    support::{assert_problem, everything_world, send},
};

/// An open stream.
struct Stream {
    response: Response<Body>,
    text: String,
}

impl Stream {
    async fn open(router: &Router) -> Self {
        let request = Request::get("/mcp/").header("host", "cairn.test").header("accept", "text/event-stream");
        let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { response, text: String::new() }
    }

    /// The next event and its data; `None` at the end.
    async fn next(&mut self) -> Option<(String, String)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let of = |key: &str| {
                    let lines = event.lines().filter_map(|line| line.strip_prefix(key));
                    lines.map(|line| line.trim_start().to_owned()).collect::<Vec<_>>().join("\n")
                };
                let found = (of("event:"), of("data:"));
                self.text = rest.to_owned();
                return Some(found);
            }
            let frame = tokio::time::timeout(Duration::from_secs(10), self.response.body_mut().frame()).await.unwrap();
            let bytes = frame?.unwrap().into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// Where messages go.
    async fn endpoint(&mut self) -> String {
        let (event, data) = self.next().await.unwrap();
        assert_eq!(event, "endpoint");
        data
    }

    /// The next message.
    async fn message(&mut self) -> Value {
        let (event, data) = self.next().await.unwrap();
        assert_eq!(event, "message");
        serde_json::from_str(&data).unwrap()
    }
}

async fn say(router: &Router, endpoint: &str, message: &Value) {
    let reply = send(router, to(endpoint).body(Body::from(message.to_string())).unwrap()).await;
    assert_eq!(reply.status, 202, "{}", reply.text);
}

#[tokio::test]
async fn a_client_of_the_old_transport() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let mut stream = Stream::open(&router).await;
    let endpoint = stream.endpoint().await;
    assert!(endpoint.starts_with("/mcp/messages?session_id="), "{endpoint}");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2024-11-05",
        "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}});
    say(&router, &endpoint, &hello).await;
    let answer = stream.message().await;
    assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&0.into(), &"2024-11-05".into()));
    say(&router, &endpoint, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    say(&router, &endpoint, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    let answer = stream.message().await;
    assert!(answer["result"]["tools"].as_array().unwrap().len() > 15, "the notification is answered by nothing");
    let call = json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call",
        "params": {"name": "block_detail", "arguments": {"height_or_hash": "0"}}});
    say(&router, &endpoint, &call).await;
    let answer = stream.message().await;
    assert_eq!((&answer["id"], &said(&answer["result"])["ok"]), (&"c".into(), &true.into()));
    // Failures come on the stream, too.
    say(&router, &endpoint, &json!({"jsonrpc": "2.0", "id": 2, "method": "no/such"})).await;
    assert_eq!(stream.message().await["error"]["code"], -32601);
    say(&router, &endpoint, &json!({"jsonrpc": "2.0", "id": 3, "method": 5})).await;
    assert_eq!(stream.message().await["error"]["code"], -32600);

    // With its reader gone, the stream is gone.
    drop(stream);
    let reply = send(&router, to(&endpoint).body(Body::from(call.to_string())).unwrap()).await;
    assert_problem(&reply, 404, "mcp_session_not_found");
}

#[tokio::test]
async fn streams_do_not_see_each_other() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let (mut one, mut other) = (Stream::open(&router).await, Stream::open(&router).await);
    let (to_one, to_other) = (one.endpoint().await, other.endpoint().await);
    assert_ne!(to_one, to_other);
    say(&router, &to_other, &json!({"jsonrpc": "2.0", "id": "other", "method": "ping"})).await;
    say(&router, &to_one, &json!({"jsonrpc": "2.0", "id": "one", "method": "ping"})).await;
    assert_eq!((&one.message().await["id"], &other.message().await["id"]), (&"one".into(), &"other".into()));
}

#[tokio::test]
async fn streams_are_bounded() {
    let world = &everything_world();
    let router = app(world, Options { max_streams: 2, ..Options::default() });
    let mut first = Stream::open(&router).await;
    let second = Stream::open(&router).await;
    let ask = || Request::get("/mcp/").header("host", "cairn.test").header("accept", "text/event-stream");
    let reply = send(&router, ask().body(Body::empty()).unwrap()).await;
    assert_problem(&reply, 503, "too_many_streams");
    assert_eq!(reply.header("retry-after"), "10");
    drop(second);
    drop(Stream::open(&router).await);
    // Answers that nobody reads are not piled up.
    let endpoint = first.endpoint().await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let mut accepted = 0;
    loop {
        let reply = send(&router, to(&endpoint).body(Body::from(ping.to_string())).unwrap()).await;
        if reply.status != 202 {
            assert_problem(&reply, 503, "stream_full");
            break;
        }
        accepted += 1;
        assert!(accepted < 100);
    }
    for _ in 0..accepted {
        first.message().await;
    }
    say(&router, &endpoint, &ping).await;
}

#[tokio::test]
async fn streams_end_with_the_server() {
    let world = &everything_world();
    let options = Options::default();
    let stop = options.stop.clone();
    let router = app(world, options);
    let mut stream = Stream::open(&router).await;
    stream.endpoint().await;
    stop.cancel();
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn only_those_who_know_no_better_get_a_stream() {
    let world = &everything_world();
    let router = app(world, Options::default());
    for (name, value) in [("mcp-protocol-version", "2025-06-18"), ("mcp-session-id", "x")] {
        let request = Request::get("/mcp/").header("host", "cairn.test").header("accept", "text/event-stream");
        let reply = send(&router, request.header(name, value).body(Body::empty()).unwrap()).await;
        assert_problem(&reply, 405, "method_not_allowed");
        assert_eq!(reply.header("allow"), "POST");
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    for id in
        ["", "?session_id=", "?session_id=x", "?session_id=00000000000000000000000000000000", "?x=1&session_id=%00"]
    {
        let request = to(&format!("/mcp/messages{id}")).body(Body::from(ping.clone())).unwrap();
        assert_problem(&send(&router, request).await, 404, "mcp_session_not_found");
    }
    let request = Request::get("/mcp/messages").header("host", "cairn.test").body(Body::empty()).unwrap();
    assert_problem(&send(&router, request).await, 405, "method_not_allowed");
}
