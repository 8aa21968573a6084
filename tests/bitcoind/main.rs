//! Cairn and a real Bitcoin Core node (regtest, and a custom signet): run with `BITCOIND_EXE` set to a `bitcoind` with
//! wallet and ZMQ. Without it every test is listed as skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

mod account;
mod addresses;
mod anchoring;
mod broadcast;
mod coins;
mod descriptor_corpus;
mod descriptors;
mod evictions;
mod following;
mod imported;
mod ledger;
mod mempool;
mod mempool_restarts;
mod node;
mod pool;
mod reorgs;
mod restarts;
mod served;
mod signet;
mod silent_payments;
mod sync;
mod template;
mod wallet;

use cairn_support::Program;

/// The program that is tested.
const CAIRN: Program = Program::new(env!("CARGO_BIN_EXE_cairn"));
