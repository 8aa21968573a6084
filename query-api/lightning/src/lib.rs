//! Lightning invoices of a daemon that the operator runs: made, checked and looked up.
//!
//! [`Invoices`] is the trait of all backends: LND, Core Lightning, phoenixd, and [`Simulated`] for regtest. A
//! [`BackendConfig`] makes one. Calls block, and end within the time-out of the configuration. No answer is taken on
//! trust: each new invoice is decoded, its signature is checked, and network, amount, hash and validity are compared
//! with the request; each payment must show the preimage of its hash.

mod base_url;
mod bolt11;
mod config;
mod config_error;
mod core_lightning;
mod daemon;
mod error;
mod fields;
mod http;
mod invoice;
mod kind;
mod lnd;
mod phoenixd;
mod secret;
mod simulated;
mod store;
mod tls;

pub use bolt11::{DecodeError, DecodedInvoice, MAX_BOLT11_BYTES, MAX_CLOCK_DIFFERENCE_SECS, decode};
pub use config::{BackendConfig, Credential, DEFAULT_TIMEOUT, MAX_TIMEOUT, MIN_TIMEOUT};
pub use config_error::ConfigError;
pub use error::{BackendError, StoreError};
pub use http::MAX_ANSWER_BYTES;
pub use invoice::{
    Invoice, InvoiceState, Invoices, MAX_AMOUNT_SATS, MAX_EXPIRY_SECS, MAX_LABEL_BYTES, MAX_MEMO_CHARS, NewInvoice,
    NodeInfo, NotAPaymentHash, PaymentHash, Preimage, RequestError,
};
pub use kind::{BackendKind, UnknownBackend};
pub use secret::Secret;
pub use simulated::{PayError, Simulated};
pub use store::{InvoiceStore, MAX_STORED_INVOICES, MemoryStore, StoredInvoice};
