//! Escapes text for HTML and for paths.

use percent_encoding::utf8_percent_encode;

use crate::requests::parameters::KEPT;

/// Escapes text for HTML, including attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Encodes text as one segment of a path.
#[must_use]
pub fn segment(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}
