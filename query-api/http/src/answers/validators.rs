//! ETags and conditional requests.

use axum::http::{HeaderMap, HeaderValue, header};

/// Sets the headers for conditional requests.
pub(crate) fn set_validators(headers: &mut HeaderMap, etag: &str) {
    if let Ok(etag) = HeaderValue::from_str(etag) {
        headers.insert(header::ETAG, etag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
}

fn tags(if_none_match: &str) -> impl Iterator<Item = &str> {
    if_none_match.split(',').map(|tag| tag.trim().trim_start_matches("W/"))
}

/// True if an `If-None-Match` lists the tag. A `*` does not: see [`matches_any`].
pub(crate) fn matches(if_none_match: &str, etag: &str) -> bool {
    let etag = etag.trim_start_matches("W/");
    tags(if_none_match).any(|tag| tag == etag)
}

/// True if an `If-None-Match` is `*`: it matches any version, but only of an answer that there is (RFC 9110, 13.1.2).
/// So it must not be asked before there is one, and never of an error.
pub(crate) fn matches_any(if_none_match: &str) -> bool {
    tags(if_none_match).any(|tag| tag == "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_match_as_lists() {
        assert!(matches("\"a\", \"b\"", "\"b\""));
        assert!(matches("W/\"b\"", "\"b\""));
        assert!(!matches("*", "\"b\"") && matches_any("*") && matches_any("\"a\", *"));
        assert!(!matches_any("\"*\"") && !matches_any(""));
        assert!(!matches("\"c\"", "\"b\""));
        assert!(!matches("", "\"b\""));
    }
}
