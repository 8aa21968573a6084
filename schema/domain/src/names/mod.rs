//! How close names are to what somebody asks for.

mod typos;

pub use typos::{MOST_TYPOS, Typos, typos_for};
