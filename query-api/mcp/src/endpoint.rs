//! The MCP endpoint: selects the transport of a request.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::Response,
};
use cairn_http::Api;
use serde_json::{Value, json};

use crate::{
    exchange::VERSION,
    front::{Front, SESSION, post_body, protocol_versions},
    legacy, rpc,
};

/// Paths of the MCP endpoint; the first is the main one.
pub const PATHS: [&str; 4] = ["/mcp/", "/mcp", "/mcp/v1/", "/mcp/v1"];

pub(crate) async fn endpoint(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(refused) = front.hosts.check(&parts.uri, &parts.headers) {
        return *refused;
    }
    match parts.method {
        Method::POST => match post_body(&front.api, &parts, body).await {
            Ok(body) => front.answer(&parts, body).await,
            Err(refused) => refused,
        },
        Method::GET if wants_events(&parts.headers) => {
            // A client of Streamable HTTP requests a stream of server messages: there are none. A client that names
            // neither session nor revision supports only the old transport.
            if parts.headers.contains_key(SESSION) || parts.headers.contains_key(VERSION) {
                return Api::method_not_allowed(&parts.method, "POST");
            }
            legacy::stream(&front, &parts)
        }
        Method::GET | Method::HEAD => rpc::json_response(StatusCode::OK, about(&front).to_string()),
        _ => Api::method_not_allowed(&parts.method, "GET, HEAD, POST, OPTIONS"),
    }
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(','));
    accepted
        .into_iter()
        .any(|kind| kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream"))
}

/// The answer for a browser.
fn about(front: &Front) -> Value {
    let base = &front.api.config().base_url;
    json!({
        "name": "cairn",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Endpoint of the Model Context Protocol. Send messages with POST.",
        "url": format!("{base}{}", PATHS.first().copied().unwrap_or_default()),
        "transports": ["streamable-http", "sse"],
        "protocol_versions": protocol_versions(),
        "authentication": front.api.authentication(),
    })
}
