//! The protocol of agents over an index of a generated chain, in process: every revision, every tool, and what
//! strangers may send.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod batches;
mod bound;
mod calls;
mod corpus;
#[allow(dead_code, reason = "shared with the tests of the API")]
#[path = "../api/corpus/demo.rs"]
mod demo;
mod endpoints;
mod eras;
mod hostile;
mod judged;
#[allow(dead_code, reason = "shared with the tests of the API")]
#[path = "../api/corpus/record.rs"]
mod record;
mod rig;
mod sold;
mod sse;
#[allow(dead_code, reason = "shared with the tests of the API")]
#[path = "../api/support.rs"]
mod support;
mod tools;
#[allow(dead_code, reason = "shared with the tests of the API")]
#[path = "../api/unconfirmed.rs"]
mod unconfirmed;
mod x402;
#[allow(dead_code, reason = "shared with the tests of cairn-access")]
#[path = "../../query-api/access/tests/x402/payer.rs"]
mod x402_payer;
