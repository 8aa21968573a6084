//! Names of headers that every answer has.

use axum::http::HeaderName;

/// The request id's header.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Remaining rate limit of the client (IETF draft `ratelimit-headers`).
pub(crate) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(crate) const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
