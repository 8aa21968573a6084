//! Short names of sources and licences that a file names in words.

use cairn_events::Slug;

/// The short name for words of a file: `CC BY 4.0` is `cc-by-4.0`.
pub(super) fn from_words(words: &str) -> Option<Slug> {
    let letter = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c.to_ascii_lowercase() } else { ' ' };
    let clean: String = words.chars().take(200).map(letter).collect();
    let name: String = clean.split_whitespace().collect::<Vec<_>>().join("-").chars().take(32).collect();
    name.trim_end_matches('-').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_follow_from_words() {
        for (words, expected) in [
            ("CC BY 4.0", Some("cc-by-4.0")),
            ("CC-BY-SA-4.0", Some("cc-by-sa-4.0")),
            ("GraphSense Core Team", Some("graphsense-core-team")),
            ("  Iknaio (AIT) ", Some("iknaio-ait")),
            ("a very long name of somebody who says something", Some("a-very-long-name-of-somebody-who")),
            ("", None),
            ("\u{4e2d}\u{672c}", None),
        ] {
            assert_eq!(from_words(words).as_ref().map(Slug::as_str), expected, "{words}");
        }
    }
}
