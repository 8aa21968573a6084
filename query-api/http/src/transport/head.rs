//! Limits on the request line and headers. The HTTP library has higher limits of its own, and refuses what it cannot
//! read.

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, Version, header, uri::Authority},
};

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

/// Checks the request line and headers. `is_sent`: the request came over a connection, not from inside the process.
///
/// # Errors
/// Returns 414 or 431, with the limit; 400 without exactly one `Host`.
pub(super) fn check(request: &Request, is_sent: bool) -> Result<(), ApiError> {
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
    if is_sent { check_host(request.version(), headers) } else { Ok(()) }
}

/// Checks that a request names its host once (RFC 9112, 3.2). Servers and proxies that choose a different one of two
/// hosts, or a different default, can be played off against each other.
fn check_host(version: Version, headers: &HeaderMap) -> Result<(), ApiError> {
    let refused = |detail: &str| Err(ApiError::new(ErrorCode::MalformedRequest, detail));
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if version < Version::HTTP_11 => Ok(()),
        (None, _) => refused("the Host header is missing; send one with the host of the URL"),
        (Some(_), Some(_)) => refused("the Host header is given more than once; send it once"),
        (Some(host), None) => {
            let is_host = host.to_str().is_ok_and(|host| host.is_empty() || host.parse::<Authority>().is_ok());
            if is_host { Ok(()) } else { refused("the Host header is not a host with an optional port") }
        }
    }
}

/// The error for bytes that the HTTP library could not read as a request, and refused with this status.
pub(super) fn unreadable(status: StatusCode) -> ApiError {
    match status {
        StatusCode::URI_TOO_LONG => ApiError::new(
            ErrorCode::UriTooLong,
            format!("the path and query string are longer than {MAX_TARGET} bytes"),
        ),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ApiError::new(
            ErrorCode::HeadersTooLarge,
            format!(
                "the request has more than {MAX_HEADERS} headers, or headers of more than {MAX_HEADER_BYTES} bytes \
                together"
            ),
        ),
        _ => ApiError::new(
            ErrorCode::MalformedRequest,
            "the bytes are not an HTTP/1.1 request: check the request line and the form of the headers",
        ),
    }
}

fn bytes_of(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn code(target: &str, headers: &[(&str, String)]) -> Option<&'static str> {
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        check(&request.body(Body::empty()).unwrap(), false).err().map(|error| error.code.name())
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

    #[test]
    fn a_request_names_one_host() {
        let check = |version: Version, hosts: &[&str]| {
            let mut request = Request::builder().uri("/").version(version);
            for host in hosts {
                request = request.header("host", *host);
            }
            super::check(&request.body(Body::empty()).unwrap(), true).is_ok()
        };
        for (hosts, old, new) in [
            (&["x"][..], true, true),
            (&["[::1]:80"], true, true),
            (&[""], true, true),
            (&[], true, false),
            (&["x", "x"], false, false),
            (&["x", "y"], false, false),
            (&["a b"], false, false),
            (&["\u{e9}"], false, false),
        ] {
            assert_eq!(check(Version::HTTP_10, hosts), old, "{hosts:?}");
            assert_eq!(check(Version::HTTP_11, hosts), new, "{hosts:?}");
        }
    }
}
