//! Limits on the request line and headers. The HTTP library has higher limits of its own; requests that it refuses get
//! a status without a body.

use axum::{extract::Request, http::HeaderMap};

use crate::answers::{code::ErrorCode, error::ApiError};

/// Maximum length of path and query string in bytes.
const MAX_TARGET: usize = 60 << 10;
/// Maximum number of headers.
const MAX_HEADERS: usize = 100;
/// Maximum size of all headers as sent: names, values, and four bytes of punctuation for each.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// Maximum number of headers that the HTTP library reads.
pub(super) const READ_HEADERS: usize = 2 * MAX_HEADERS + 56;
/// Maximum size of request line and headers that the HTTP library reads. Its last read may exceed it.
pub(super) const READ_BYTES: usize = MAX_HEADER_BYTES + (32 << 10);

/// Checks the request line and headers.
///
/// # Errors
/// 414 or 431, with the limit.
pub(super) fn check(request: &Request) -> Result<(), ApiError> {
    if request.uri().path_and_query().is_some_and(|target| target.as_str().len() > MAX_TARGET) {
        let detail = format!("the path and query string are longer than {MAX_TARGET} bytes");
        return Err(ApiError::new(ErrorCode::UriTooLong, detail));
    }
    let headers = request.headers();
    if headers.len() > MAX_HEADERS || bytes_of(headers) > MAX_HEADER_BYTES {
        let detail = format!(
            "the request has more than {MAX_HEADERS} headers, or headers of more than {MAX_HEADER_BYTES} bytes together"
        );
        return Err(ApiError::new(ErrorCode::HeadersTooLarge, detail));
    }
    Ok(())
}

fn bytes_of(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::body::Body;

    use super::*;

    fn code(target: &str, headers: &[(&str, String)]) -> Option<&'static str> {
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        check(&request.body(Body::empty()).unwrap()).err().map(|error| error.code.name())
    }

    #[test]
    fn long_heads_are_refused() {
        let target = |length: usize| format!("/{}", "a".repeat(length - 1));
        assert_eq!(code(&target(MAX_TARGET), &[]), None);
        assert_eq!(code(&target(MAX_TARGET + 1), &[]), Some("uri_too_long"));
        let some = |count: usize, value: usize| vec![("x", "a".repeat(value)); count];
        assert_eq!(code("/", &some(MAX_HEADERS, 1)), None);
        assert_eq!(code("/", &some(MAX_HEADERS + 1, 1)), Some("headers_too_large"));
        assert_eq!(code("/", &some(1, MAX_HEADER_BYTES - 5)), None);
        assert_eq!(code("/", &some(1, MAX_HEADER_BYTES - 4)), Some("headers_too_large"));
    }
}
