//! A facilitator: a service that checks payments with the chain, and carries them out.

use crate::{
    error::FacilitatorError,
    outcome::{Attempt, SettleOutcome, Supported, VerifyOutcome},
    payment::Payment,
};

/// A facilitator. Each call waits for the answer.
pub trait Facilitator: Send + Sync {
    /// Returns the kinds of payment that the facilitator settles.
    fn supported(&self) -> Result<Supported, FacilitatorError>;

    /// Asks whether the payment would be settled now: balance, nonce and signature of a contract wallet are on the
    /// chain. Ask before the first attempt to settle only: afterwards the nonce may be used by this payment itself.
    fn verify(&self, payment: &Payment) -> Result<VerifyOutcome, FacilitatorError>;

    /// Carries out the payment. Call it again with the same payment after [`SettleOutcome::Indeterminate`]: the token
    /// takes each nonce once, so the payer pays once.
    ///
    /// The reference facilitator (x402 2.25 and @x402/evm 2.27) remembers for 5 minutes a transaction that it sent and
    /// saw in no block, and answers a retry with that transaction's result. Later, or after its restart, it answers
    /// `invalid_exact_evm_nonce_already_used`, without the transaction, if the first attempt succeeded.
    fn settle(&self, payment: &Payment, attempt: Attempt) -> SettleOutcome;
}
