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
pub(crate) mod limits;
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
pub use limits::{MAX_SALES_DAYS, SALES_KEPT_SECS};
pub use report::{SalesCounts, SalesMethod, SalesRow};
pub use simulated_invoices::SimulatedInvoice;
pub use x402_payment::{NewX402Payment, SettlementOutcome, X402Payment, X402PaymentKey, X402PaymentState};
pub use x402_payments::{X402Lease, X402Taking};
