//! x402, protocol version 2, scheme `exact` on EVM chains by EIP-3009: the part that a server needs to sell single
//! requests. Only [`HttpFacilitator`] uses the network; the rest computes, and takes the time from its caller.
//!
//! A sale goes like this. The server answers 402 with [`PaymentRequired`]. The client signs a transfer of tokens to the
//! seller and sends it as [`PaymentPayload`]. [`verify`] compares it with the offers of the request, recovers the
//! signer, and returns a [`Payment`]; its [`NonceKey`] must be unique in the seller's records before the payment is
//! used, because the signature covers no request. A [`Facilitator`] then settles the payment on the chain.

mod address;
mod amount;
mod connect;
mod eip712;
mod error;
mod facilitator;
mod header;
mod http;
mod keccak;
mod outcome;
mod payload;
mod payment;
mod refusal;
mod requirements;
mod signature;
mod verify;

pub use address::{Address, AddressError};
pub use amount::{Amount, AmountError};
pub use error::{FacilitatorError, MAX_ANSWER_BYTES};
pub use facilitator::Facilitator;
pub use header::{
    DecodeError, MAX_PAYLOAD_BYTES, MCP_PAYMENT, MCP_PAYMENT_RESPONSE, PAYMENT_REQUIRED, PAYMENT_RESPONSE,
    PAYMENT_SIGNATURE, decode_payment_signature, encode, payment_from_meta,
};
pub use http::{ConfigError, Credential, HttpFacilitator, Timeouts};
pub use outcome::{Attempt, SettleOutcome, SettleResponse, Supported, SupportedKind, Uncertainty, VerifyOutcome};
pub use payload::{Authorization, ExactPayload, Nonce, PaymentPayload};
pub use payment::{NonceKey, Payment};
pub use refusal::Refusal;
pub use requirements::{
    Eip712Name, MAX_CLOCK_SKEW_SECS, MIN_SETTLE_SECS, Network, OfferError, PaymentRequired, PaymentRequirements,
    ResourceInfo, Scheme, VERSION,
};
pub use signature::{Signature, SignatureError};
pub use verify::{verify, verify_stored};
