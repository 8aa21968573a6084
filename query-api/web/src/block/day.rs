//! Coins that were spent on the day of a block.

use serde::Deserialize;
use serde_json::Number;

/// The chain at the end of a day.
#[derive(Deserialize)]
pub(super) struct Onchain {
    pub(super) day: Day,
    #[serde(default)]
    pub(super) day_complete: bool,
}

#[derive(Deserialize)]
pub(super) struct Day {
    pub(super) date: String,
    pub(super) blocks: u64,
    /// Sum over all spent coins of amount × days that they were not moved.
    pub(super) coin_days_destroyed: Option<Number>,
}
