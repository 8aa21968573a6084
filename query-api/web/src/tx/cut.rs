//! Bounds for texts from the chain: a page stays small, and says what it left out.

use crate::{format::Plain, visible::visible};

/// Characters of all texts of one part of the page.
const ALL: u64 = 24_000;

/// The first characters of a text, and how many follow.
pub(super) fn cut(text: &str, most: impl Plain<u64>) -> String {
    match text.char_indices().nth(usize::try_from(most.plain()).unwrap_or(usize::MAX)) {
        Some((at, _)) => format!("{}… ({} more characters)", &text[..at], text[at..].chars().count()),
        None => text.to_owned(),
    }
}

/// Characters of each of a number of texts.
pub(super) fn share(count: usize) -> u64 {
    (ALL / (count.max(1) as u64)).clamp(120, 4_096)
}

/// The first characters of a free text, the hidden ones as escapes.
pub(super) fn inert(text: &str, most: impl Plain<u64>) -> String {
    cut(&visible(text), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_say_what_is_left_out() {
        assert_eq!(cut("äbc", 3), "äbc");
        assert_eq!(cut("äbcd", 2), "äb… (2 more characters)");
        assert_eq!((share(0), share(10), share(10_000)), (4_096, 2_400, 120));
        assert_eq!(inert("a\u{202e}", 50), "a\\u{202e}");
    }
}
