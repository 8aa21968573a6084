//! Input events: data in the journal other than blocks: prices, exchange rates, claims about scripts,
//! contests of them, tags of mining pools, and profiles of entities.
//!
//! Plain data, without storage, network or clock. A [`Document`] is imported by an operator or brought by a fetcher at
//! one time: its [`Provenance`], and its rows. [`file`] has the form of documents in a file.

mod choose;
pub mod claim;
pub mod codec;
mod contest;
mod document;
pub mod file;
mod listed;
mod listing;
mod live;
mod pool_tag;
mod profile;
mod provenance;
mod quote;

pub use choose::{Chosen, choose};
pub use claim::{Behaviour, Category, Claim, ClaimList, ClaimType, ContestAct, ContestParty, EntityName, EvidenceTier};
pub use contest::{ClaimId, ClaimIdError, Contest, SignedText, StatementHash, put_contest};
pub use document::{BadDocument, Body, Document, MAX_ROWS};
pub use listed::{BadListing, Listed, put_listed};
pub use listing::Listing;
pub use live::{LiveQuote, MAX_LIVE_QUOTES, put_live_quotes, read_live_quotes};
pub use pool_tag::{MAX_POOL_TAGS, MAX_TAG, PoolTag};
pub use profile::{Jurisdiction, JurisdictionError, MAX_ALIASES, MAX_JURISDICTIONS, Profile};
pub use provenance::{DocumentHash, Provenance, Slug, SlugError};
pub use quote::{Currency, CurrencyError, Interval, Quote, QuoteRow, Range, Series};
