//! The offer of a call in a 402 answer.

use axum::http::HeaderName;
use serde_json::Value;

/// An offer of a call.
#[derive(Debug)]
pub struct CallOffer {
    /// The member of `payment_options`.
    pub body: Value,
    /// Its headers.
    pub headers: Vec<(HeaderName, String)>,
    /// How to pay, in a sentence.
    pub how: &'static str,
}
