//! Texts of clients in reports: checked, and stored without characters that control how they are shown.

use cairn_events::claim::plain;
use cairn_http::{FieldError, Location};

const CHAR_BYTES: usize = 4;

pub(super) fn field_error(name: impl Into<String>, message: impl Into<String>) -> FieldError {
    FieldError { location: Location::Body, name: name.into(), message: message.into(), allowed: None, example: None }
}

/// Returns a text of at most `most` characters without invisible characters and those that change the direction of
/// text. Line breaks stay. Control characters are an error.
pub(super) fn description(text: &str, most: usize) -> Result<String, &'static str> {
    if text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err("contains control characters other than line breaks and tabs");
    }
    let lines: Vec<_> = text.trim().lines().map(|line| plain(line, most * CHAR_BYTES)).collect();
    let text = lines.join("\n");
    let text = text.trim();
    if text.is_empty() {
        return Err("contains only white space and invisible characters");
    }
    Ok(text.to_owned())
}

/// Checks a URL that is shown and never fetched: https, with a host, without white space, user names and characters
/// that are not ASCII.
pub(super) fn web_page(url: &str) -> Result<(), &'static str> {
    let host = url.strip_prefix("https://").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let is_host = |host: &str| {
        host.split_once(':').map_or(host, |(host, _)| host).contains(|c: char| c.is_ascii_alphanumeric())
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
    };
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>`\\^{|}".contains(&byte));
    if is_plain && host.is_some_and(is_host) {
        return Ok(());
    }
    Err("is not an https URL in plain ASCII, for example https://example.com/report")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn texts_lose_what_controls_how_they_are_shown() {
        let shown = |text: &str| description(text, 2_000);
        assert_eq!(shown("  one\u{202e}two\u{200b}  three\r\n\tfour\u{2066} ").unwrap(), "onetwo three\nfour");
        assert_eq!(shown("<script>alert(1)</script>").unwrap(), "<script>alert(1)</script>");
        let emoji = "\u{1f600}".repeat(2_000);
        assert_eq!(shown(&emoji).unwrap(), emoji);
        for bad in ["", " \n ", "\u{200b}\u{202e}", "a\0b", "a\u{1b}[31mb", "a\u{9b}b"] {
            assert!(shown(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_web_pages_are_urls() {
        for good in ["https://example.com", "https://example.com:8443/a?b=%20c#d", "https://[2001:db8::1]/x"] {
            web_page(good).unwrap();
        }
        for bad in [
            "http://example.com",
            "https://",
            "https:///x",
            "https://user@example.com/",
            "https://ex ample.com",
            "https://example.com/\u{202e}",
            "https://example.com/<script>",
            "javascript:alert(1)",
            "https://:80/",
        ] {
            assert!(web_page(bad).is_err(), "{bad}");
        }
    }
}
