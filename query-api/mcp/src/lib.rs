//! The operations of the query API as tools of the Model Context Protocol.
//!
//! A tool is an operation: its schemas, its name and what is said about it come from the operation's file, and a call
//! goes through the same routes, checks and limits as a request over HTTP. The protocol itself, in all its revisions
//! over Streamable HTTP, is spoken by `rmcp`, without sessions: nothing is kept between two requests. The old transport
//! of HTTP with server-sent events, and batches, are put before it here.

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

/// Paths that are the protocol's endpoint; the first is the one to name.
pub const PATHS: [&str; 4] = ["/mcp/", "/mcp", "/mcp/v1/", "/mcp/v1"];

/// Where clients of the old transport send their messages.
pub(crate) const MESSAGES: &str = "/mcp/messages";

/// Bounds, and the end.
#[derive(Clone, Debug)]
pub struct Options {
    /// Open streams of the old transport, over all clients.
    pub max_streams: usize,
    /// Open streams of the old transport of one client, as limits count clients.
    pub max_streams_per_client: usize,
    /// Messages in a batch.
    pub max_batch: usize,
    /// Largest answer of a tool in bytes of JSON; a larger one becomes a failure that says how to ask for less.
    pub max_answer_bytes: usize,
    /// Cancelled when the server stops: streams end then.
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
