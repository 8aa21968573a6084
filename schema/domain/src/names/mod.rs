//! How close names are to the words of a query.

mod typos;

pub use typos::{MAX_TYPOS, Typos, typos_for};
