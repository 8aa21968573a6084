//! Answers of methods: JSON, or an error.

use cairn_http::ApiError;
use serde::Serialize;

use crate::failure::Failure;

/// JSON.
pub(crate) type Answer = Result<String, Failure>;

/// Serializes an answer.
pub(crate) fn write<T: Serialize>(value: &T) -> Answer {
    serde_json::to_string(value).map_err(|_| Failure::of_api(&ApiError::internal()))
}
