//! Files of prices and exchange rates, read row by row into quotes.
//!
//! Without network, storage or clock: the caller gives a [`Read`](std::io::Read), says which second it is, and gets the
//! rows in the order of the file, with a [`Report`] of what was taken and what was refused. Memory does not grow with the
//! file, but for 4 bytes a candle that tell duplicates.
//!
//! [`read_quotes`] is the one entry. Each layout has a file in `layouts`, which says where its times and numbers come
//! from.

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
mod seen;
mod starter;
mod time;
mod words;

pub use error::InputError;
pub use layouts::{Layout, LayoutError};
pub use map::{ColumnMap, MapError};
pub use options::Options;
pub use read::{read_quotes, sorted};
pub use report::{BadRow, Code, Gap, Gaps, MAX_LISTED, Report, SeriesReport};
pub use starter::{STARTERS, Starter, StarterError};
pub use words::{IntervalError, Pair, PairError, ZoneError, parse_interval, parse_zone};
