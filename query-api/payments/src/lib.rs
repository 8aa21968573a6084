//! Payments on chain. Addresses come from a watch-only descriptor of the operator ([`PaymentDescriptor`]); one counter
//! for each descriptor, in the service state, gives each of them out once ([`PaymentMark`] finds a counter that was
//! set back). The state of a payment follows from the index and the mempool alone ([`Payment`]).

mod descriptor;
mod mark;
mod payment;
mod scan;

pub use descriptor::{DescriptorError, PaymentDescriptor};
pub use mark::{KnownCounter, PaymentMark};
pub use payment::{Completion, Payment};
pub use scan::{ScanError, end_of_used, use_of};

/// Indices that are skipped when addresses may have been given out that the database does not know.
pub const SKIPPED_AFTER_RESTORE: u32 = 1_000;

/// Returns the index to go on from after a restore: above every index that may have been given out. `stored` is the
/// next index of the database, `remembered` that of the data folder, and `seen` the index after the last one that the
/// chain knows.
#[must_use]
pub fn index_after_restore(stored: u32, remembered: u32, seen: u32) -> u32 {
    stored.max(remembered).max(seen).saturating_add(SKIPPED_AFTER_RESTORE)
}
