//! Headers of payments.

use axum::http::HeaderName;

/// The header with what a payment must fulfil: base64 of JSON in x402, or the requirements of a pass as compact JSON.
pub(crate) const PAYMENT_REQUIRED: HeaderName = HeaderName::from_static("payment-required");
/// The header with a payment (x402).
pub(crate) const PAYMENT_SIGNATURE: HeaderName = HeaderName::from_static("payment-signature");
/// The header with the receipt of a payment (x402).
pub(crate) const PAYMENT_RESPONSE: HeaderName = HeaderName::from_static("payment-response");
