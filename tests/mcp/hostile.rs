//! Messages that strangers may send: nothing breaks, and nothing is answered at length.

use axum::body::Body;
use cairn_mcp::Options;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::{
    rig::{NEWEST, app, code, raw, to},
    support::{assert_problem, everything_world, send},
};

#[tokio::test]
async fn bodies_that_are_no_messages() {
    let world = &everything_world();
    let router = app(world, Options::default());
    for (body, wanted) in [
        (String::new(), -32700),
        ("{".to_owned(), -32700),
        ("nonsense".to_owned(), -32700),
        ("\u{feff}{}".to_owned(), -32700),
        ("[".repeat(10_000), -32700),
        ("{\"a\":".repeat(10_000), -32700),
        (format!("{}1{}", "[".repeat(500), "]".repeat(500)), -32700),
        ("1e999".to_owned(), -32700),
        ("null".to_owned(), -32600),
        ("1".to_owned(), -32600),
        ("\"ping\"".to_owned(), -32600),
        ("{}".to_owned(), -32600),
        (json!({"jsonrpc": "2.0", "id": [1], "method": "ping"}).to_string(), -32600),
        (json!({"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}).to_string(), -32600),
        (json!({"jsonrpc": "2.0", "id": true, "method": "ping"}).to_string(), -32600),
        (json!({"jsonrpc": 2, "id": 1, "method": "ping"}).to_string(), -32600),
        (json!({"jsonrpc": "2.0", "id": 1, "method": ["ping"]}).to_string(), -32600),
        (json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(), -32600),
        (json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}).to_string(), -32600),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 1}).to_string(), -32602),
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": {}}}).to_string(),
            -32602,
        ),
    ] {
        let reply = raw(&router, &[], body.clone()).await;
        let shown: String = body.chars().take(60).collect();
        assert_eq!((reply.status, code(&reply)), (400, wanted), "{shown}: {}", reply.text);
        assert!(reply.text.len() < 300, "{shown}: {}", reply.text);
        assert_eq!(reply.header("content-type"), "application/json");
    }
    // Bytes that are not a text.
    let reply = raw(&router, &[], vec![b'"', 0xff, 0xfe, b'"']).await;
    assert_eq!(code(&reply), -32700);
}

#[tokio::test]
async fn bodies_of_the_wrong_type_or_length() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}).to_string();
    let request = to("/mcp/").body(Body::from(vec![b' '; (1 << 20) + 1])).unwrap();
    assert_problem(&send(&router, request).await, 413, "payload_too_large");
    // Without a length, too.
    let chunks = futures_util::stream::iter((0..20).map(|_| Ok::<_, std::io::Error>(vec![b' '; 100_000])));
    let request = to("/mcp/").body(Body::from_stream(chunks)).unwrap();
    assert_problem(&send(&router, request).await, 413, "payload_too_large");
    // One that ends before it is whole is not too large.
    let broken =
        futures_util::stream::iter([Ok(vec![b'{']), Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof))]);
    let request = to("/mcp/").body(Body::from_stream(broken)).unwrap();
    assert_problem(&send(&router, request).await, 400, "incomplete_body");
    for kind in ["text/plain", "application/jsonx", "multipart/form-data", ""] {
        let request = axum::http::Request::post("/mcp/").header("host", "localhost").header("content-type", kind);
        let reply = send(&router, request.body(Body::from(message.clone())).unwrap()).await;
        assert_problem(&reply, 415, "unsupported_media_type");
    }
    // Clients that are content with less are answered.
    let request = to("/mcp/").header("accept", "*/*").body(Body::from(message.clone())).unwrap();
    assert_eq!(send(&router, request).await.status, 200);
    let request = axum::http::Request::post("/mcp/")
        .header("host", "localhost:1")
        .header("content-type", "application/json; charset=utf-8");
    assert_eq!(send(&router, request.body(Body::from(message)).unwrap()).await.status, 200);
}

#[tokio::test]
async fn headers_that_make_no_sense() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}).to_string();
    for (name, value) in
        [("mcp-protocol-version", "x"), ("mcp-protocol-version", "9999-99-99"), ("mcp-protocol-version", NEWEST)]
    {
        let reply = raw(&router, &[(name, value)], message.clone()).await;
        assert_eq!(reply.status, 400, "{value}: {}", reply.text);
        assert!(code(&reply) < 0);
    }
    // There are no sessions: an id of one is not looked at.
    let reply = raw(&router, &[("mcp-session-id", "../../etc/passwd"), ("last-event-id", "x")], message).await;
    assert_eq!(reply.status, 200);
}

/// Messages that are nearly right.
#[tokio::test]
async fn mangled_messages_break_nothing() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let whole: Vec<Vec<u8>> = [
        json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {"sampling": {}}, "clientInfo": {"name": "x", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "block_detail",
            "arguments": {"height_or_hash": "3", "tx_limit": 2}, "_meta": {"progressToken": 1}}}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tx_verify",
            "arguments": {"txid": "00", "address": "x", "expected_amount_btc": 0.1}}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "call_endpoint",
            "arguments": {"endpoint": "/v1/blocks/3?tx_limit=1", "arguments": {}}}}),
        json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1}}]),
        json!({"jsonrpc": "2.0", "id": 3, "method": "subscriptions/listen", "params": {"notifications": {}}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}}),
    ]
    .iter()
    .map(|message| message.to_string().into_bytes())
    .collect();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let pieces: [&[u8]; 12] = [
        b"null",
        b"{}",
        b"[]",
        b"\"\"",
        b"-1",
        b"1e308",
        b"18446744073709551616",
        b"\\u0000",
        b"\\ud800",
        b"true",
        b",",
        b"\xff",
    ];
    for round in 0..3_000 {
        let mut body = whole[rng.random_range(0..whole.len())].clone();
        for _ in 0..rng.random_range(0..4) {
            let at = rng.random_range(0..body.len());
            match rng.random_range(0..4) {
                0 => body[at] = rng.random(),
                1 => drop(body.drain(at..(at + rng.random_range(1..20)).min(body.len()))),
                2 => {
                    let piece = pieces[rng.random_range(0..pieces.len())];
                    drop(body.splice(at..at, piece.iter().copied()));
                }
                _ => {
                    let piece = body[at..(at + rng.random_range(1..30)).min(body.len())].to_vec();
                    drop(body.splice(at..at, piece));
                }
            }
            if body.is_empty() {
                break;
            }
        }
        let headers: &[(&str, &str)] = match rng.random_range(0..3) {
            0 => &[],
            1 => &[("mcp-protocol-version", "2025-11-25")],
            _ => &[("mcp-protocol-version", NEWEST), ("mcp-method", "tools/call")],
        };
        let reply = raw(&router, headers, body.clone()).await;
        let shown = String::from_utf8_lossy(&body);
        assert!(reply.status < 500, "round {round}: {shown}: {}", reply.text);
        assert!(reply.status == 202 || reply.body.is_object() || reply.body.is_array(), "round {round}: {shown}");
    }
}
