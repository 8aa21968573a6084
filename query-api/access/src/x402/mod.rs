//! Sells calls by x402: a client signs a transfer of tokens, and a facilitator carries it out before the answer is
//! sent.
//!
//! ```text
//! take    payload ─► verified offline ─► verified by the facilitator ─► row (taken)
//! redeem  row (settling) ─► facilitator settles ─► row (settled, answered) ─► answer with its receipt
//!                                               ├► row (refused) ─► 402
//!                                               └► row (unknown) ─► 503; the same request again finds out the outcome
//! ```
//!
//! The signature covers no request, so the row binds a payment to one. A call of the facilitator that takes longer than
//! the client waits goes on in its own thread, which records the outcome: the next request with the payment then gets
//! its answer without another settlement. Outcomes that stay unknown are found out in the background, too.

mod books;
mod desk;
mod failures;
mod offer;
mod payment;
mod reconcile;
mod settings;
mod settler;
mod taking;
mod till;

pub use reconcile::Reconciled;
pub use settings::X402Settings;
pub use till::X402Till;
