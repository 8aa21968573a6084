//! The operations of the query API as tools of the Model Context Protocol.
//!
//! A tool is an operation: its schemas, name and description come from the operation's file, and a call goes through
//! the same checks and limits as a request over HTTP. `rmcp` implements the protocol, in all revisions over Streamable
//! HTTP, without sessions: no state is kept between requests. This crate adds the old transport (HTTP with server-sent
//! events) and batches.

mod answer;
mod bound;
mod endpoint;
mod endpoints;
mod front;
mod handler;
mod hosts;
mod legacy;
mod portable;
mod rpc;
mod streams;
mod tools;

use std::sync::Arc;

use axum::{Router, extract::DefaultBodyLimit, routing::any};
use cairn_http::{Api, MAX_TOOL_ANSWER};
use cairn_model::CancelToken;

use crate::front::Front;
pub use crate::front::protocol_versions;

/// Paths of the MCP endpoint; the first is the main one.
pub const PATHS: [&str; 4] = ["/mcp/", "/mcp", "/mcp/v1/", "/mcp/v1"];

/// Path for messages of the old transport.
pub(crate) const MESSAGES: &str = "/mcp/messages";

/// Limits, and the shutdown signal.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum number of open streams of the old transport.
    pub max_streams: usize,
    /// Maximum number of open streams of the old transport per client.
    pub max_streams_per_client: usize,
    /// Maximum number of messages in a batch.
    pub max_batch: usize,
    /// Maximum size of a tool's answer in bytes of JSON. A larger answer becomes an error that says how to request
    /// less.
    pub max_answer_bytes: usize,
    /// Cancelled when the server stops; streams then end.
    pub stop: CancelToken,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_streams: 256,
            max_streams_per_client: 32,
            max_batch: 20,
            max_answer_bytes: MAX_TOOL_ANSWER,
            stop: CancelToken::new(),
        }
    }
}

/// The routes of the protocol, for [`cairn_http::router_with`].
pub fn routes(api: &Api, options: Options) -> Router {
    let front = Arc::new(Front::new(api.clone(), options));
    let mut router = Router::new();
    for path in PATHS {
        router = router.route(path, any(endpoint::endpoint));
    }
    // The body's limit is the API's own.
    router.route(MESSAGES, any(legacy::messages)).layer(DefaultBodyLimit::disable()).with_state(front)
}
