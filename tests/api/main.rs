//! The API over an index of a generated chain, in process: every answer against the naive ledger and its own schema.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod blocks;
mod bounds;
mod description;
mod errors;
mod gates;
mod support;
mod tx;
mod wallets;
