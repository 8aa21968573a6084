//! Answers for pages of other sites (CORS): they may read every answer. Limits on their requests are elsewhere, see
//! [`super::hosts`].

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::names::{RATE_LIMIT, RATE_LIMIT_POLICY, REQUEST_ID};
use crate::{
    access::headers::{PAYMENT_REQUIRED, PAYMENT_RESPONSE},
    answers::error::ApiError,
    requests::http::{ROWS_READ, WARNING},
};

/// Methods of the server as a whole, for `OPTIONS *`.
const ALL: &str = "GET, HEAD, POST, OPTIONS";
/// How long a browser may keep the answer to a preflight: a day. Browsers shorten it to their own maximum.
const MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

/// The headers that pages may read besides the simple ones.
fn exposed() -> HeaderValue {
    let names: [&HeaderName; 12] = [
        &REQUEST_ID,
        &RATE_LIMIT,
        &RATE_LIMIT_POLICY,
        &ROWS_READ,
        &WARNING,
        &header::ETAG,
        &header::RETRY_AFTER,
        &header::ALLOW,
        &header::LINK,
        &header::WWW_AUTHENTICATE,
        &PAYMENT_REQUIRED,
        &PAYMENT_RESPONSE,
    ];
    let names = names.map(HeaderName::as_str).join(",");
    // Names of headers are ASCII.
    HeaderValue::from_str(&names).unwrap_or(HeaderValue::from_static("*"))
}

/// Lets the pages of all sites read an answer. The server knows no cookies, so nothing depends on who asks.
pub(super) fn open(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed());
}

/// The answer to `OPTIONS *`.
pub(super) fn of_server() -> Response {
    allowed(HeaderValue::from_static(ALL), None)
}

/// Makes the answer to OPTIONS from the path's own answer: a path that knows its methods refuses this one with `Allow`.
pub(super) fn preflight(response: Response, asked_headers: Option<HeaderValue>) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    let told = response.extensions().get::<ApiError>().and_then(|error| error.allow.clone());
    let allow = told.and_then(|allow| HeaderValue::from_str(&allow).ok());
    match allow.or_else(|| response.headers().get(header::ALLOW).cloned()) {
        Some(allow) => allowed(allow, asked_headers),
        None => response,
    }
}

fn allowed(methods: HeaderValue, asked_headers: Option<HeaderValue>) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, methods.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    headers.insert(header::VARY, HeaderValue::from_static("access-control-request-headers"));
    // A wildcard would not cover Authorization.
    if let Some(asked) = asked_headers {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked);
    }
    response
}
