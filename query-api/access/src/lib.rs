//! Sells single calls over Lightning (L402) and by x402, behind the gate of `cairn-http`. Over Lightning:
//!
//! ```text
//! offer ─► open challenge of the same call? ─► invoice of the daemon ─► macaroon ─► row (pending)
//! take  ─► row of the token ─► macaroon and preimage verified ─► leased ─► redeemed │ given back
//! ```
//!
//! Rows decide: of all processes on one database, one request gets a payment ([`cairn_state::ChallengeLease`]). A
//! payment is redeemed durably before the first byte of its answer; until then every failure gives it back.

mod flights;
mod invoicing;
mod lease;
mod offer;
mod proof;
mod request;
mod seller;
mod till;
mod x402;

pub use till::LightningTill;
pub use x402::{Reconciled, X402Settings, X402Till};
