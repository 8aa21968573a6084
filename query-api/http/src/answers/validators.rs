//! Whether an answer has changed since a client had it.

use axum::http::{HeaderMap, HeaderValue, header};

/// Headers by which a client can ask whether an answer has changed.
pub(crate) fn set_validators(headers: &mut HeaderMap, etag: &str) {
    if let Ok(etag) = HeaderValue::from_str(etag) {
        headers.insert(header::ETAG, etag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
}

/// Whether an `If-None-Match` names the tag.
pub(crate) fn matches(if_none_match: &str, etag: &str) -> bool {
    let listed = if_none_match.split(',').map(|tag| tag.trim().trim_start_matches("W/"));
    let etag = etag.trim_start_matches("W/");
    listed.into_iter().any(|tag| tag == "*" || tag == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_match_as_lists() {
        assert!(matches("\"a\", \"b\"", "\"b\""));
        assert!(matches("W/\"b\"", "\"b\""));
        assert!(matches("*", "\"b\""));
        assert!(!matches("\"c\"", "\"b\""));
        assert!(!matches("", "\"b\""));
    }
}
