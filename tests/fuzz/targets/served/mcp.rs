//! Messages of the Model Context Protocol: each answer is one of JSON-RPC, to the message that was sent.

use axum::{body::Body, http::Request};
use serde_json::Value;

use super::world::World;

/// Revisions that a client may name, the first none.
const VERSIONS: [Option<&str>; 5] =
    [None, Some("2025-11-25"), Some("2025-06-18"), Some("2026-07-28"), Some("1999-01-01")];

/// The revision (modulo five), then the body of a POST.
pub fn run(bytes: &[u8]) {
    let Some((version, body)) = bytes.split_first() else { return };
    let mut request = Request::post("/mcp/")
        .header("host", "cairn.test")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(version) = VERSIONS[usize::from(*version) % VERSIONS.len()] {
        request = request.header("mcp-protocol-version", version);
    }
    let answer = World::get().ask(request.body(Body::from(body.to_vec())).unwrap());
    answer.assert_documented();
    if answer.body.is_empty() || answer.kind().starts_with("application/problem+json") {
        return;
    }
    match answer.json() {
        Value::Array(all) => all.iter().for_each(is_answer),
        one => is_answer(&one),
    }
}

fn is_answer(message: &Value) {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    assert!(message.get("result").is_some() != message.get("error").is_some(), "{message}");
    if let Some(error) = message.get("error") {
        assert!(error["code"].is_i64() && error["message"].is_string(), "{message}");
        assert_ne!(error["code"], -32603, "an internal error: {message}");
    }
}
