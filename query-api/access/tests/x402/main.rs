//! Calls that are sold by x402, over HTTP, with a database and a facilitator that does as a test says.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod outcomes;
mod payer;
mod proofs;
mod shop;
mod tools;
mod waiting;
