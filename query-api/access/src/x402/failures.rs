//! Why a payment by x402 opens no answer.

use cairn_http::{ApiError, ErrorCode, NotTaken, Warning};
use cairn_x402::Refusal;

/// Seconds after which a client asks again for an outcome that is not known.
const PENDING_RETRY_SECS: u32 = 10;

/// 402 with this reason.
pub(super) fn refused(code: &'static str, detail: impl Into<String>) -> NotTaken {
    NotTaken::Refused(Warning::new(code, detail))
}

/// 402: it does not fit the offer of the call.
pub(super) fn not_accepted(refusal: &Refusal) -> NotTaken {
    refused(refusal.code(), format!("the payment is not accepted: {refusal}"))
}

/// 402: another request has it.
pub(super) fn used_elsewhere() -> NotTaken {
    refused("payment_used_elsewhere", "the payment pays another request; sign a new payment for this one")
}

/// 503 while nobody knows the outcome.
pub(super) fn pending_error(why: &str) -> ApiError {
    let detail = format!(
        "it is not known yet whether the payment was carried out: {why}; repeat the same request with the same payment, \
         which is charged once"
    );
    ApiError::new(ErrorCode::PaymentPending, detail).retryable(Some(PENDING_RETRY_SECS))
}

/// 503 while nobody knows the outcome, before the operation runs.
pub(super) fn pending(why: &str) -> NotTaken {
    NotTaken::Failed(pending_error(why))
}

/// 503 while payments cannot be checked or settled.
pub(super) fn unavailable(why: &str, retry_after: u32) -> ApiError {
    let detail = format!("{why}; nothing was charged: repeat the same request with the same payment");
    ApiError::unavailable(ErrorCode::FacilitatorUnavailable, detail, retry_after)
}
