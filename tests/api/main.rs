//! The API over an index of a generated chain, in process: every answer against the naive ledger and its own schema.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod balance_history;
mod blocks;
mod bounds;
mod broadcast;
mod browsers;
mod claims;
mod compact;
mod connections;
mod corpus;
#[path = "../engine/cospending.rs"]
mod cospending;
mod damaged;
mod day_values;
mod description;
mod discovery;
mod endpoints;
mod entities;
mod errors;
mod examples;
mod feedback;
mod gates;
mod health_full;
mod limits;
mod mempool_ops;
mod network;
mod onchain;
mod onchain_ledger;
mod pools;
mod price_history;
mod price_now;
mod priced;
mod reference;
mod sanctions;
mod search;
mod sessions;
mod supply;
mod support;
mod tx;
mod unconfirmed;
mod unconfirmed_pages;
mod unconfirmed_tx;
mod unconfirmed_wallets;
mod verify;
mod verify_requests;
mod wallets;
