//! Payments of other programs, damaged payments, and calls of a facilitator over real connections.
#![allow(clippy::unwrap_used, missing_docs)]

mod facilitator;
mod fixtures;
mod mutations;
mod payments;
mod server;
