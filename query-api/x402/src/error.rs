//! A facilitator that gives no usable answer.

use std::time::Duration;

use thiserror::Error;

/// Maximum size of a facilitator's answer in bytes; its headers have the same limit.
pub const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The facilitator did not answer.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FacilitatorError {
    /// Nothing was sent.
    #[error("the facilitator cannot be reached: {0}; check that it runs, and its URL")]
    Unreachable(String),
    /// There are no root certificates, so nothing was sent.
    #[error("this machine has no root certificates for https; install them (Debian: ca-certificates)")]
    NoRoots,
    /// It took too long.
    #[error("the facilitator did not answer within {} s; try again", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The connection broke after something may have been sent.
    #[error("the connection to the facilitator broke: {0}; try again")]
    Lost(String),
    /// The answer is too long.
    #[error("the answer of the facilitator is longer than {MAX_ANSWER_BYTES} bytes; check its URL")]
    TooLong,
    /// The answer is an error of HTTP.
    #[error("the facilitator answered with HTTP status {0}; 200 is expected; see its log")]
    Status(u16),
    /// The answer is not one of x402, or it is about another payment.
    #[error("the answer of the facilitator cannot be used: {0}; check its URL and version")]
    Unreadable(String),
}
