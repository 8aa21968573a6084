//! The command line from outside: exit codes, settings, a whole run on a small chain, the demo, stopping.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bound;
mod cluster;
mod common;
#[path = "../engine/cospending.rs"]
mod cospending;
mod damaged_blocks;
mod demo;
mod deployed;
mod exit_codes;
mod feedback;
mod flow;
mod following;
mod gaps;
mod hostile;
mod keys;
mod ledger;
mod memory;
mod repair;
mod scrub;
mod settings;
mod state;
mod stopping;
mod waiting;
