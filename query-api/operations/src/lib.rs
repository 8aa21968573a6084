//! The operations: what clients ask about the chain. Each is one file under its area; its route, its entry in
//! `/openapi.json`, its tool, its place in the catalog and its validation all derive from what that file says.

mod about;
mod allotment;
mod area;
mod backend;
mod base_rates;
mod batch;
mod billing;
mod blocks;
mod candles;
mod chain;
mod client_hashes;
mod community;
mod config;
mod confirmation;
mod context;
mod definitions;
mod dormancy;
mod entities;
mod explain;
mod feed;
mod fees;
mod flows;
mod invoices;
mod labels;
mod ledger;
mod ledger_cache;
mod market;
mod mempool;
mod network;
mod node_bytes;
mod operation;
mod page_request;
mod pages;
mod parameters;
mod parsed;
mod pools;
mod price_now;
mod qr;
mod raw_tx;
mod register;
mod registry;
mod risk;
mod sanctions;
mod sealed;
mod series;
mod service;
mod start;
mod timestamps;
mod transfers;
mod troubles;
mod tx;
mod tx_sides;
mod values;
mod vocabulary;
mod wallets;
mod window;
mod young;

pub use cairn_chain::{BroadcastLimits, NodeAccess, Question, Refused, Unreachable};
pub use config::{
    ApiConfig, EvidenceConfig, Featured, PaymentsConfig, ReportsModeration, SanctionsConfig, TimestampConfig, VotesPer,
};
pub use invoices::{InvoiceAccess, InvoiceStatus, LightningInvoice, LightningUnavailable};
pub use ledger::{LedgerAccess, NotTaken};
pub use start::{ApiState, admin_router, openapi_document, other_router, router, router_with, serve, serve_all};
pub use troubles::TroubleSlot;
