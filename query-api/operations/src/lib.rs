//! The operations: what clients ask about the chain. Each is one file under its area; its route, its entry in
//! `/openapi.json`, its tool, its place in the catalog and its validation all derive from what that file says.

mod about;
mod area;
mod backend;
mod batch;
mod blocks;
mod candles;
mod chain;
mod config;
mod context;
mod definitions;
mod dormancy;
mod entities;
mod fees;
mod kept;
mod labels;
mod ledger;
mod market;
mod mempool;
mod network;
mod node;
mod node_bytes;
mod operation;
mod pages;
mod parameters;
mod pools;
mod price_now;
mod qr;
mod raw_tx;
mod register;
mod registry;
mod sanctions;
mod series;
mod service;
mod start;
mod tx;
mod values;
mod vocabulary;
mod wallets;

pub use config::{ApiConfig, Featured, SanctionsConfig};
pub use ledger::{LedgerAccess, NotTaken};
pub use node::{NodeAccess, Refused, Unreachable};
pub use start::{ApiState, admin_router, openapi_document, router, router_with, serve};
