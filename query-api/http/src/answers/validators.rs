//! ETags and conditional requests.

use axum::http::{HeaderMap, HeaderValue, header};

/// Sets the headers for conditional requests.
pub(crate) fn set_validators(headers: &mut HeaderMap, etag: &str) {
    if let Ok(etag) = HeaderValue::from_str(etag) {
        headers.insert(header::ETAG, etag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
}

/// True if an `If-None-Match` contains the tag.
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
