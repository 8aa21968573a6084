//! Escapes text for HTML and for paths.

use std::fmt;

use askama::filters::{Escaper, Safe};
use percent_encoding::utf8_percent_encode;

use crate::requests::parameters::KEPT;

/// Escapes text in templates, including attributes. Uses named entities; askama's own escaper uses numeric ones.
#[derive(Clone, Copy, Debug)]
pub struct Html;

impl Escaper for Html {
    fn write_escaped_str<W: fmt::Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => dest.write_str("&amp;"),
                '<' => dest.write_str("&lt;"),
                '>' => dest.write_str("&gt;"),
                '"' => dest.write_str("&quot;"),
                '\'' => dest.write_str("&#39;"),
                c => dest.write_char(c),
            }?;
        }
        Ok(())
    }
}

/// Text as HTML. Text between backticks becomes code.
pub(crate) fn prose(text: &str) -> Safe<String> {
    let escaped = |text: &str| {
        let mut html = String::with_capacity(text.len());
        // Writing to a String cannot fail.
        let _ = Html.write_escaped_str(&mut html, text);
        html
    };
    let parts: Vec<String> = text.split('`').map(escaped).collect();
    // An unpaired backtick stays as it is.
    if parts.len().is_multiple_of(2) {
        return Safe(escaped(text));
    }
    let marked = parts
        .iter()
        .enumerate()
        .map(|(at, part)| if at % 2 == 0 { part.clone() } else { format!("<code>{part}</code>") });
    Safe(marked.collect())
}

/// Encodes text as one segment of a path.
#[must_use]
pub fn segment(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_make_code() {
        assert_eq!(prose("a `b<` c `d`").0, "a <code>b&lt;</code> c <code>d</code>");
        assert_eq!((prose("a & b").0, prose("one ` alone").0), ("a &amp; b".to_owned(), "one ` alone".to_owned()));
    }
}
