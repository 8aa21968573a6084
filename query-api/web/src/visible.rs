//! Free text from the chain: characters that would change how other text reads are shown as escapes.

use std::fmt::Write;

/// True for characters that are not shown themselves but change what is around them.
fn is_hidden(character: char) -> bool {
    let direction = matches!(character, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}');
    let isolate = matches!(character, '\u{2066}'..='\u{2069}');
    let empty =
        matches!(character, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{00ad}' | '\u{2028}' | '\u{2029}');
    character.is_control() || direction || isolate || empty
}

/// The text with such characters as `\u{202e}`.
pub(crate) fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, character| {
        if is_hidden(character) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escapes() {
        assert_eq!(visible("a\u{202e}b\u{0}\u{2066}é <x>"), "a\\u{202e}b\\u{0}\\u{2066}é <x>");
    }
}
