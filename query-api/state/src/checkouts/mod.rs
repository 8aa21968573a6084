//! Checkouts of passes: opened with something to pay to, followed until they are paid, and claimed once for a key.
//!
//! Whether a checkout is paid is decided by the chain or by a Lightning node; a row remembers how that was last seen
//! ([`SeenPayment`]). If the chain loses an accepted payment, the key of the checkout is suspended in the same
//! transaction, and works again as soon as the payment is back.

mod checkout;
mod claims;
mod counts;
mod opening;
mod seen;

pub use checkout::{Checkout, CheckoutPayment, CheckoutState, NewCheckout, PaymentBlock, TOP_UP_SECS};
pub use claims::Claiming;
pub use counts::PassCounts;
pub use opening::{MAX_CHECKOUTS_OF_CLIENT, MAX_OPEN_CHECKOUTS, OpenedCheckout, OpeningCheckout, PaymentInvoice};
pub use seen::{CHECKOUT_WATCHED_SECS, SeenPayment};
