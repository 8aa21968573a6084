//! Input events: what enters the journal and is no block. So far: prices and exchange rates.
//!
//! Plain data, without storage, network or clock. A document is what an operator imports or a fetcher brings at one
//! time: where it comes from ([`Provenance`]), and its rows.

mod provenance;
mod quote;

pub use provenance::{DocumentHash, Provenance, Slug, SlugError};
pub use quote::{Currency, CurrencyError, Interval, Quote, QuoteRow, Range, Series};
