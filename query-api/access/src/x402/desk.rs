//! The parts of a till that its payments need.

use std::time::Duration;

use super::{settings::X402Settings, settler::Settler};

/// Takes payments by these terms, and has them settled.
pub(super) struct Desk {
    pub(super) settings: X402Settings,
    pub(super) settler: Settler,
    /// Name of this process in leases.
    pub(super) holder: String,
    /// How long a request waits until its payment is settled.
    pub(super) patience: Duration,
}
