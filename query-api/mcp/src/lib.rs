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
mod options;
mod portable;
mod rpc;
mod streams;
mod tools;

use std::sync::Arc;

use axum::{Router, extract::DefaultBodyLimit, routing::any};
use cairn_http::Api;

pub use crate::{endpoint::PATHS, front::protocol_versions, options::Options};
use crate::{front::Front, legacy::MESSAGES};

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
