//! How close names are to the words of a query.

mod typos;

pub use typos::{MOST_TYPOS, Typos, typos_for};
