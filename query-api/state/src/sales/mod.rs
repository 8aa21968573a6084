//! Sales call by call. A challenge of L402 and a payment of x402 each give one answer. A request takes a lease
//! first, and makes its use durable before the first byte of its answer; until then, a crash gives it free again.
//!
//! These rows are many and cheap for anyone to make, so they do not count as changes of the database (see
//! [identity](crate::identity)). If an older copy of it is put back, challenges that were redeemed since can be
//! redeemed once more until they end, some minutes later. The chain itself refuses a second settlement.
//!
//! [`SimulatedInvoice`] is for tests and demos on regtest: the invoices that a Lightning node has otherwise.

mod challenge;
mod challenges;
mod leases;
mod report;
mod settlements;
mod simulated_invoices;
mod x402_payment;
mod x402_payments;

pub use challenge::{Challenge, ChallengeSecrets, ChallengeState, ChallengeStatus, NewChallenge, PAID_GRACE_SECS};
pub use challenges::{MAX_CHALLENGES_OF_CLIENT, MAX_OPEN_CHALLENGES, Offering, SAME_CHALLENGE_SECS};
pub use leases::{
    ChallengeLease, Leasing, MAX_NOT_FOUND_RELEASES, REOPENED_SECS, Redeeming, Release, Releasing, ReopenedChallenge,
    Reopening,
};
pub use report::{MAX_SALES_DAYS, SalesCounts, SalesMethod, SalesRow};
pub use simulated_invoices::SimulatedInvoice;
pub use x402_payment::{NewX402Payment, SettlementOutcome, X402Payment, X402PaymentKey, X402PaymentState};
pub use x402_payments::{X402Lease, X402Taking};

/// Time in seconds during which rows of sales are kept for the report: 400 days.
pub const SALES_KEPT_SECS: u64 = 400 * 86_400;
/// Maximum number of rows of a table that one call removes.
pub(crate) const PURGED_AT_ONCE: i64 = 1_000;
/// Maximum length of short texts of a sale (capability, provider, method, holder) in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 100;
/// Maximum length of paths, macaroons and invoices in bytes.
pub(crate) const MAX_LONG_BYTES: usize = 8_192;

/// True for a text of 1 to `max` bytes without control characters.
pub(crate) fn is_bounded(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len()) && !text.contains(char::is_control)
}

/// Bytes of a stored hash, or of another value of 32 bytes.
fn bytes32(bytes: Vec<u8>) -> Option<[u8; 32]> {
    bytes.try_into().ok()
}
