//! Finds private keys, also mistyped ones.

use bitcoin::base58;

/// Words that a recovery phrase has at least.
const PHRASE_WORDS: usize = 12;
/// First letters of extended private keys, before `prv`: BIP 32 and SLIP 132.
const EXTENDED: &str = "xyzYZtuvUV";

/// True if a text has a private key, or looks like a recovery phrase.
pub(crate) fn has_any(text: &str) -> bool {
    let is_word = |word: &str| (3..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let words = text.split_whitespace();
    words.clone().count() >= PHRASE_WORDS && words.into_iter().all(is_word)
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_key)
}

fn is_key(token: &str) -> bool {
    is_extended(token) || is_wif(token) || is_encrypted(token) || is_codex(token)
}

fn is_extended(token: &str) -> bool {
    let kind = token.get(..4).and_then(|kind| kind.strip_suffix("prv"));
    token.len() > 20 && kind.is_some_and(|kind| EXTENDED.contains(kind))
}

/// Wallet import format: 33 or 34 bytes and a checksum. Hexadecimal scripts can have the same length and first letter.
fn is_wif(token: &str) -> bool {
    if token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return false;
    }
    let in_form = matches!(token.len(), 51 | 52) && token.starts_with(['5', 'K', 'L', '9', 'c']);
    let decodes = || {
        let bytes = base58::decode_check(token).ok()?;
        Some(matches!(bytes.len(), 33 | 34) && matches!(bytes.first(), Some(0x80 | 0xef)))
    };
    in_form && token.bytes().all(is_base58) || (40..=60).contains(&token.len()) && decodes() == Some(true)
}

/// BIP 38.
fn is_encrypted(token: &str) -> bool {
    token.len() == 58 && token.starts_with("6P") && token.bytes().all(is_base58)
}

/// BIP 93: a seed in shares.
fn is_codex(token: &str) -> bool {
    token.len() >= 48 && token.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("ms1"))
}

const fn is_base58(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() && !matches!(byte, b'0' | b'O' | b'I' | b'l')
}
