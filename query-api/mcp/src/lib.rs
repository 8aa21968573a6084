//! The operations of the query API as tools of the Model Context Protocol.
//!
//! A tool is an operation: its schemas, name and description come from the operation's file, and a call goes through
//! the same checks and limits as a request over HTTP. `rmcp` implements the protocol, in all revisions over Streamable
//! HTTP, without sessions: no state is kept between requests. This crate adds the old transport (HTTP with server-sent
//! events) and batches.

mod answer;
mod batch;
mod bound;
mod coerce;
mod cut;
mod endpoint;
mod endpoints;
mod exchange;
mod front;
mod general;
mod handler;
mod legacy;
mod message;
mod options;
mod payment;
mod portable;
mod rpc;
mod search;
mod streams;
mod tools;

use std::sync::Arc;

use axum::{Router, extract::DefaultBodyLimit, routing::any};
use cairn_http::Api;

pub use crate::{
    endpoint::PATHS,
    front::protocol_versions,
    options::{Options, SHORT_TOOL_ANSWER},
};
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
