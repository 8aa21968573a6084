//! Messages in headers of HTTP (base64 of JSON), and in `_meta` of MCP (the JSON object itself).

use std::io;

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::{payload::PaymentPayload, requirements::VERSION};

/// Header of the server that carries [`crate::PaymentRequired`].
pub const PAYMENT_REQUIRED: &str = "payment-required";
/// Header of the client that carries [`PaymentPayload`].
pub const PAYMENT_SIGNATURE: &str = "payment-signature";
/// Header of the server that carries [`crate::SettleResponse`].
pub const PAYMENT_RESPONSE: &str = "payment-response";
/// Key in `_meta` of an MCP request that has [`PaymentPayload`] as its value.
pub const MCP_PAYMENT: &str = "x402/payment";
/// Key in `_meta` of an MCP result that has [`crate::SettleResponse`] as its value.
pub const MCP_PAYMENT_RESPONSE: &str = "x402/payment-response";
/// Maximum size of a payment in bytes: of the header, and of the JSON text in MCP.
pub const MAX_PAYLOAD_BYTES: usize = 16 << 10;

/// Clients pad base64, but the reference server takes it without padding too.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A payment that cannot be read. The answer is 400.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DecodeError {
    /// It is too long.
    #[error("the payment is longer than {MAX_PAYLOAD_BYTES} bytes; leave out extensions")]
    TooLong,
    /// It is not base64.
    #[error("the payment is not base64; expected the standard alphabet with padding")]
    Base64,
    /// It is of another version.
    #[error("the payment is of x402 version {0}; only version {VERSION} is accepted; update the client")]
    Version(u64),
    /// It is not a payment.
    #[error("the payment is not a PaymentPayload of x402 version {VERSION} for the scheme exact and EIP-3009: {0}")]
    Json(String),
}

impl From<serde_json::Error> for DecodeError {
    /// Keeps the beginning only: serde repeats texts of the payment.
    fn from(error: serde_json::Error) -> Self {
        DecodeError::Json(error.to_string().chars().take(160).collect())
    }
}

/// The field that decides how the others are read.
#[derive(Deserialize)]
struct Versioned {
    #[serde(rename = "x402Version")]
    x402_version: u64,
}

/// Returns the value of a header that carries a message.
///
/// # Errors
/// Fails for a type that has no form in JSON; the messages of this crate have one.
pub fn encode<M: Serialize>(message: &M) -> Result<String, serde_json::Error> {
    Ok(BASE64.encode(serde_json::to_vec(message)?))
}

/// Reads the value of `PAYMENT-SIGNATURE`.
pub fn decode_payment_signature(value: &[u8]) -> Result<PaymentPayload, DecodeError> {
    if value.len() > MAX_PAYLOAD_BYTES {
        return Err(DecodeError::TooLong);
    }
    let json = BASE64.decode(value.trim_ascii()).map_err(|_| DecodeError::Base64)?;
    let Versioned { x402_version } = serde_json::from_slice(&json)?;
    if x402_version != VERSION {
        return Err(DecodeError::Version(x402_version));
    }
    Ok(serde_json::from_slice(&json)?)
}

/// Reads the value of [`MCP_PAYMENT`] in `_meta` of an MCP request.
pub fn payment_from_meta(value: &Value) -> Result<PaymentPayload, DecodeError> {
    serde_json::to_writer(Bounded(MAX_PAYLOAD_BYTES), value).map_err(|_| DecodeError::TooLong)?;
    let Versioned { x402_version } = Versioned::deserialize(value)?;
    if x402_version != VERSION {
        return Err(DecodeError::Version(x402_version));
    }
    Ok(PaymentPayload::deserialize(value)?)
}

/// Counts bytes, and fails past the limit.
struct Bounded(usize);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
