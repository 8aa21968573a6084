//! Why a payment that can be read is not accepted.

use thiserror::Error;

use crate::{
    address::Address, amount::Amount, payment::Payment, requirements::MIN_SETTLE_SECS, signature::SignatureError,
};

/// Why a payment is not accepted. The answer is 402 with the offers again.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// The offer is not one of the request.
    #[error("`accepted` is not an offer of this request; repeat one entry of `accepts` without changes")]
    NotOffered,
    /// The resource is missing.
    #[error("the payment has no `resource`; repeat `resource` of PAYMENT-REQUIRED without changes")]
    NoResource,
    /// The resource is another one.
    #[error("`resource.url` is not the URL of this request; pay by the PAYMENT-REQUIRED of the same URL")]
    OtherResource,
    /// The amount is wrong.
    #[error("`authorization.value` is {0}; the price is {1}; sign a transfer of exactly the price")]
    Value(Amount, Amount),
    /// The recipient is wrong.
    #[error("`authorization.to` is {0}; it must be `payTo` of the offer, {1}")]
    Recipient(Address, Address),
    /// It is not valid yet.
    #[error("`validAfter` is {0}, in the future; it must not be later than now; check the clock")]
    NotYetValid(Amount),
    /// It ends too soon.
    #[error("`validBefore` is {0}; it must be at least {min} s from now; sign again", min = MIN_SETTLE_SECS)]
    Expired(Amount),
    /// It ends too late.
    #[error("`validBefore` is {0}; it must not be later than {1}: now, `maxTimeoutSeconds` and the tolerance")]
    TooLong(Amount, u128),
    /// The signature is not by a key, so only the chain can check it.
    #[error(
        "the signature has {length} bytes; one by a key has 65, and others (contract wallets) are not accepted; pay \
         from an account with a key",
        length = _0.signature.length()
    )]
    UnsupportedSignature(Box<Payment>),
    /// The signature is not valid.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// Somebody else signed, or something else was signed.
    #[error("the signature is not by `authorization.from`, {0}; check the token's EIP-712 name and version in `extra`")]
    Signer(Address),
}

impl Refusal {
    /// Returns the code: that of the protocol's list of errors where it has one.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Refusal::NotOffered => "invalid_payment_requirements",
            Refusal::NoResource | Refusal::OtherResource => "resource_mismatch",
            Refusal::Value(..) => "invalid_exact_evm_payload_authorization_value_mismatch",
            Refusal::Recipient(..) => "invalid_exact_evm_payload_recipient_mismatch",
            Refusal::NotYetValid(_) => "invalid_exact_evm_payload_authorization_valid_after",
            Refusal::Expired(_) | Refusal::TooLong(..) => "invalid_exact_evm_payload_authorization_valid_before",
            Refusal::UnsupportedSignature(_) => "unsupported_signature",
            Refusal::Signature(_) | Refusal::Signer(_) => "invalid_exact_evm_payload_signature",
        }
    }
}
