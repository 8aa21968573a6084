//! Words in the form in which they are compared.

use unicode_normalization::{UnicodeNormalization, char::canonical_combining_class};

/// Most bytes of a word. Of a longer one its beginning counts.
pub const MAX_WORD: usize = 40;
/// Most words of a text. Of more the first count.
pub const MAX_WORDS: usize = 12;

/// The words of a text: letters and digits between other characters, in small letters, without accents, in
/// compatibility form. In the order of the text; a word that comes again is left out.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let (mut word, mut is_full) = (String::new(), false);
    let letters = text.nfkd().flat_map(char::to_lowercase).filter(|letter| canonical_combining_class(*letter) == 0);
    for letter in letters.chain([' ']) {
        if letter.is_alphanumeric() {
            // Drop all letters after the first one that does not fit.
            is_full |= word.len() + letter.len_utf8() > MAX_WORD;
            if !is_full {
                word.push(letter);
            }
            continue;
        }
        if !word.is_empty() && !all.contains(&word) {
            all.push(std::mem::take(&mut word));
            if all.len() == MAX_WORDS {
                break;
            }
        }
        word.clear();
        is_full = false;
    }
    all
}

/// Several words as one, if it is not too long: what some write apart.
#[must_use]
pub fn joined(words: &[String]) -> Option<String> {
    let one = words.concat();
    (words.len() > 1 && one.len() <= MAX_WORD).then_some(one)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_have_one_form() {
        for (text, expected) in [
            ("Binance Hot-Wallet 3", &["binance", "hot", "wallet", "3"][..]),
            ("  ", &[]),
            ("a.b_c a", &["a", "b", "c"]),
            ("ZÜRICH Zu\u{308}rich zurich", &["zurich"]),
            ("Ｂｉｔｆｉｎｅｘ №５", &["bitfinex", "no5"]),
            ("İstanbul ﬁat", &["istanbul", "fiat"]),
            ("币安 交易所", &["币安", "交易所"]),
            ("<b>x</b>\u{202e}\0y 😀", &["b", "x", "y"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(words(&"é".repeat(100)), ["e".repeat(MAX_WORD)]);
        assert_eq!(joined(&words("bit finex")).as_deref(), Some("bitfinex"));
        assert_eq!(joined(&words("bitfinex")), None);
    }

    proptest! {
        #[test]
        fn any_text_has_few_short_words_that_are_their_own(text in "\\PC{0,200}|[a-zA-Z0-9 .-]{0,200}") {
            let found = words(&text);
            prop_assert!(found.len() <= MAX_WORDS);
            for word in &found {
                prop_assert!((1..=MAX_WORD).contains(&word.len()) && !word.contains('\0'), "{word:?}");
                prop_assert_eq!(&words(word), std::slice::from_ref(word));
            }
        }
    }
}
