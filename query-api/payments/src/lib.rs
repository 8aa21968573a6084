//! Payments on chain. Addresses come from a watch-only descriptor of the operator ([`PaymentDescriptor`]); one counter
//! for each descriptor, in the service state, gives each of them out once ([`PaymentMark`] finds a counter that was
//! set back). The state of a payment follows from the index and the mempool alone ([`Payment`], for checkouts
//! [`CheckoutSight`]).

mod checkout;
mod descriptor;
mod mark;
mod payment;
mod scan;

pub use checkout::{CheckoutSight, SETTLED_CONFIRMATIONS, needed_confirmations};
pub use descriptor::{DescriptorError, PaymentDescriptor};
pub use mark::{KnownCounter, PaymentMark};
pub use payment::{Completion, Payment};
pub use scan::{SKIPPED_AFTER_RESTORE, ScanError, end_of_used, index_after_restore, use_of};
