//! Errors of requests: codes and texts of JSON-RPC, and their origin in the limits or the index.

use cairn_http::{ApiError, ErrorCode};
use serde_json::json;

/// An error of JSON-RPC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl Failure {
    /// The request is well-formed, but asks for something that does not exist or is not permitted.
    pub(crate) const BAD_REQUEST: i32 = 1;
    /// The node refused, or cannot be reached.
    pub(crate) const NODE: i32 = 2;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const UNKNOWN_METHOD: i32 = -32601;
    pub(crate) const BAD_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL: i32 = -32603;
    pub(crate) const PARSE: i32 = -32700;
    /// The server has no room, or the client asked too much.
    pub(crate) const BUSY: i32 = -102;

    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Failure { code, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Failure::new(Failure::BAD_REQUEST, message)
    }

    pub(crate) fn params(message: impl Into<String>) -> Self {
        Failure::new(Failure::BAD_PARAMS, message)
    }

    /// The history of a script exceeds the limit. Clients match on this text.
    pub(crate) fn too_large() -> Self {
        Failure::bad("history too large")
    }

    /// An error of the limits or the index.
    pub(crate) fn of_api(error: &ApiError) -> Self {
        let code = match error.code {
            ErrorCode::NodeUnavailable => Failure::NODE,
            ErrorCode::WorkLimitExceeded => Failure::BAD_REQUEST,
            _ if error.retryable && error.code != ErrorCode::InternalError => Failure::BUSY,
            ErrorCode::InternalError => return Failure::new(Failure::INTERNAL, "the server failed to answer"),
            _ => Failure::BAD_REQUEST,
        };
        let wait = error.retry_after.map(|seconds| format!("; try again in {seconds} s")).unwrap_or_default();
        Failure::new(code, format!("{}{wait}", error.detail))
    }

    /// The error object.
    pub(crate) fn object(&self) -> serde_json::Value {
        json!({"code": self.code, "message": self.message})
    }
}

/// Why reading gives no answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// With an error of the protocol.
    Said(Failure),
    /// By the limits or the index.
    Failed(ApiError),
    /// The work has this many entries, more than its class permits.
    Larger(u64),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::Said(failure)
    }
}

impl<E: Into<ApiError>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::Failed(error.into())
    }
}
