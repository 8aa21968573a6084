//! The program follows a node: a stand-in with real HTTP and ZMQ sockets over a generated chain.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, missing_docs)]

mod acts;
mod anchoring;
mod calendar;
mod following;
mod pool;
mod scripts;
mod truth;
mod witness;

use cairn_support::Program;

/// The program that is tested.
const CAIRN: Program = Program::new(env!("CARGO_BIN_EXE_cairn"));
