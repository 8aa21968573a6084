//! What is no HTTP request never reaches the router: the HTTP library answers it by itself, with a status and nothing
//! more. Here it gets the body that every failure has.

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

use crate::{
    answers::{code::ErrorCode, error::ApiError},
    server::Server,
};

/// An answer of the library is shorter than this.
const SHORT: usize = 200;

/// Writes the answers to what is no request.
pub(super) struct Refusals(pub(super) Arc<Server>);

impl Refusals {
    /// What is to be sent instead of these bytes, if they are an answer of the library's own. Answers of the router all
    /// have an id.
    pub(super) fn instead_of(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let error = refusal(bytes)?;
        let id = Uuid::now_v7().to_string();
        self.0.metrics.count(None, error.status, Duration::ZERO, 0);
        tracing::debug!(id, status = error.status.as_u16(), "no request");
        let (status, reason) = (error.status.as_u16(), error.status.canonical_reason().unwrap_or_default());
        let body = error.body(&self.0.config.base_url, &id, "");
        let head = format!(
            "HTTP/1.1 {status} {reason}\r\ncontent-type: application/problem+json\r\ncache-control: no-store\r\n\
             access-control-allow-origin: *\r\nx-request-id: {id}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        Some([head.into_bytes(), body].concat())
    }
}

/// The failure that an answer of the library stands for.
fn refusal(bytes: &[u8]) -> Option<ApiError> {
    let head = std::str::from_utf8(bytes.get(..bytes.len().min(SHORT))?).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?;
    let head = head.strip_suffix("\r\n\r\n")?;
    if bytes.len() >= SHORT || head.contains("\r\nx-request-id: ") || !head.contains("\r\ncontent-length: 0") {
        return None;
    }
    let (code, detail) = match status {
        "400" => (ErrorCode::MalformedRequest, "the bytes sent are not an HTTP request"),
        "414" => (ErrorCode::UriTooLong, "the request address is longer than the server accepts"),
        "431" => (
            ErrorCode::HeadersTooLarge,
            "the request has more than 100 headers, or longer ones than the server accepts",
        ),
        _ => return None,
    };
    Some(ApiError::new(code, detail))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const BARE: &str = "\r\nconnection: close\r\ncontent-length: 0\r\ndate: Sat, 21 Nov 2026 18:00:00 GMT\r\n\r\n";

    #[test]
    fn only_answers_of_the_library_are_replaced() {
        for (line, code) in [
            ("HTTP/1.1 400 Bad Request", "malformed_request"),
            ("HTTP/1.1 414 URI Too Long", "uri_too_long"),
            ("HTTP/1.1 431 Request Header Fields Too Large", "headers_too_large"),
        ] {
            let error = refusal(format!("{line}{BARE}").as_bytes()).unwrap();
            assert_eq!(error.code, code);
        }
        for kept in [
            format!("HTTP/1.1 200 OK{BARE}"),
            format!("HTTP/1.1 400 Bad Request\r\nx-request-id: 1{BARE}"),
            format!("HTTP/1.1 400 Bad Request{BARE}more"),
            format!("HTTP/1.1 400 Bad Request{}{BARE}", "\r\na: b".repeat(50)),
            "HTTP/1.1 100 Continue\r\n\r\n".to_owned(),
            "HTTP/1.1 4".to_owned(),
            String::new(),
        ] {
            assert!(refusal(kept.as_bytes()).is_none(), "{kept}");
        }
    }
}
