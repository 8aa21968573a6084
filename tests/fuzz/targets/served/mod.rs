//! Targets that need RocksDB: frames between processes, and requests to a router over a small index.

mod cursors;
mod http;
mod link;
mod mcp;
mod world;

use super::parsers::Target;

/// All of them.
pub const TARGETS: &[Target] =
    &[("cursors", cursors::run), ("http", http::run), ("link", link::run), ("mcp", mcp::run)];

pub use world::World;
