//! The watcher against the stand-in node: real HTTP and ZMQ, faults on command, and an oracle that knows what is true.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs, unreachable_pub)]

mod blocks;
mod chain;
mod faults;
mod hostile;
mod hostile_node;
mod random;
mod reader;
mod rig;
mod transactions;
