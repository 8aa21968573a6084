//! A router with the protocol's endpoint, and messages to it.

use axum::{
    Router,
    body::Body,
    http::{Request, request},
};
use cairn_mcp::{Options, routes};
use cairn_operations::{ApiState, router_with};
use cairn_state::State;
use serde_json::{Value, json};

use crate::support::{Reply, World, open_config, send};

pub const NEWEST: &str = "2026-07-28";
/// Revisions that begin with `initialize`.
pub const WITH_HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The API and the protocol over a world, without gates.
pub fn app(world: &World, options: Options) -> Router {
    app_with(world, None, options)
}

/// The same with service state.
pub fn app_with(world: &World, state: Option<State>, options: Options) -> Router {
    let api = ApiState::new(std::sync::Arc::clone(&world.slot) as _, open_config());
    router_with(ApiState { state, ..api }, |api| routes(api, options))
}

pub fn to(path: &str) -> request::Builder {
    Request::post(path).header("host", "cairn.test").header("content-type", "application/json")
}

/// Sends a body to the endpoint with these headers besides.
pub async fn raw(router: &Router, headers: &[(&str, &str)], body: impl Into<Body>) -> Reply {
    let accept = ("accept", "application/json, text/event-stream");
    let request =
        [accept].iter().chain(headers).fold(to("/mcp/"), |request, (name, value)| request.header(*name, *value));
    send(router, request.body(body.into()).unwrap()).await
}

/// Sends a request of a revision with a handshake.
pub async fn ask(router: &Router, version: &str, method: &str, params: Value) -> Reply {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    // The header came with 2025-06-18.
    let header = [("mcp-protocol-version", version)];
    let headers = if version >= "2025-06-18" && method != "initialize" { &header[..] } else { &[] };
    raw(router, headers, body.to_string()).await
}

/// Sends a request of the newest revision, with all that it wants in headers and `_meta`.
pub async fn ask_newest(router: &Router, method: &str, params: Value) -> Reply {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut headers = vec![("mcp-protocol-version", NEWEST), ("mcp-method", method)];
    let name = params["name"].as_str().map(str::to_owned);
    if let Some(name) = &name {
        headers.push(("mcp-name", name));
    }
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    raw(router, &headers, body.to_string()).await
}

/// The result of a request that has to succeed.
pub fn result(reply: &Reply) -> &Value {
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!((&reply.body["jsonrpc"], &reply.body["id"]), (&"2.0".into(), &7.into()), "{}", reply.text);
    assert!(reply.body["error"].is_null(), "{}", reply.text);
    &reply.body["result"]
}

/// Calls a tool: the result.
pub async fn call(router: &Router, tool: &str, arguments: Value) -> Value {
    let reply = ask(router, "2025-11-25", "tools/call", json!({"name": tool, "arguments": arguments})).await;
    result(&reply).clone()
}

/// The schema of a tool's result.
pub async fn result_schema(router: &Router, tool: &str) -> Value {
    let said = call(router, "describe_endpoint", json!({"endpoint": tool})).await["structuredContent"].clone();
    assert_eq!(said["ok"], true, "{said}");
    said["data"]["result"].clone()
}

/// The answer in a result: structured, or as text for clients that know only that.
pub fn said(result: &Value) -> Value {
    match result.get("structuredContent") {
        Some(said) => said.clone(),
        None => serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap(),
    }
}

/// Checks that a result has its answer twice: hosts give their models the text or the structured content.
pub fn assert_twice(result: &Value) {
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), &result["structuredContent"]);
}

/// The tools.
pub async fn tools(router: &Router) -> Vec<Value> {
    let reply = ask(router, "2025-11-25", "tools/list", json!({})).await;
    result(&reply)["tools"].as_array().unwrap().clone()
}

/// The code of a failed message.
pub fn code(reply: &Reply) -> i64 {
    reply.body["error"]["code"].as_i64().unwrap_or_else(|| panic!("no failure: {}", reply.text))
}
