//! Files of prices, exchange rates and labels, read row by row into quotes and claims.
//!
//! Without network, storage or clock: the caller gives a [`Read`](std::io::Read), says which second it is, and gets the
//! rows in the order of the file, with a [`Report`] of what was taken and what was refused. Memory does not grow with
//! the file, except for 4 bytes a candle that find duplicates.
//!
//! [`read_quotes`] and [`read_claims`] are the entries. Each layout has a file in `layouts`, which says where its times
//! and numbers come from.

mod candle_fingerprints;
mod claims;
mod collect;
mod csv;
mod error;
mod json;
mod layouts;
mod map;
mod number;
mod options;
mod plan;
mod read;
mod report;
mod starter;
mod starter_labels;
mod starter_tags;
mod time;
mod words;

pub use claims::{
    BadClaim, ClaimCode, ClaimDefaults, ClaimLayout, ClaimLayoutError, ClaimMap, ClaimMapError, ClaimOptions,
    ClaimReport, read_claims,
};
pub use error::InputError;
pub use layouts::{Layout, LayoutError};
pub use map::{ColumnMap, MapError};
pub use options::Options;
pub use read::{read_quotes, sorted};
pub use report::{BadRow, Code, Gap, Gaps, MAX_LISTED, Report, SeriesReport};
pub use starter::{STARTERS, Starter, StarterError};
pub use starter_labels::{STARTER_LABELS, StarterLabels};
pub use starter_tags::{STARTER_TAGS, StarterTags};
pub use words::{IntervalError, Pair, PairError, ZoneError, parse_interval, parse_zone};
