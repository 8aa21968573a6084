//! The program follows a node: a stand-in with real HTTP and ZMQ sockets over a generated chain.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, missing_docs)]

#[path = "../cli/common.rs"]
#[allow(dead_code)]
mod common;

mod acts;
// Shared with the soak.
#[allow(dead_code)]
mod cast;
mod client;
mod following;
mod pool;
mod scripts;
mod truth;
mod witness;
