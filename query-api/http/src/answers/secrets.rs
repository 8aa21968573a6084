//! Keeps private keys out of answers. A client that sends one in a URL by mistake has shown it to every proxy on the
//! way; our errors and their logs must not repeat it.

use percent_encoding::percent_decode_str;

/// Stands in place of a private key.
pub const REDACTED: &str = "[redacted]";

/// Number of words of the shortest recovery phrase (BIP 39).
const MIN_PHRASE: usize = 12;

/// Replaces the values in `hidden` by the names of their parameters, and parts that look like a private key by a mark.
pub(super) fn shown_path(path: &str, hidden: &[(String, String)]) -> String {
    let shown = path.split('/').map(|segment| {
        let text = percent_decode_str(segment).decode_utf8_lossy();
        match hidden.iter().find(|(_, value)| *value == text) {
            Some((name, _)) => format!("{{{name}}}"),
            None if looks_secret(&text) => REDACTED.to_owned(),
            None => segment.to_owned(),
        }
    });
    shown.collect::<Vec<_>>().join("/")
}

/// True if a text contains something like a private key or a recovery phrase. Checksums are not verified: a key with a
/// mistake is nearly a key.
#[must_use]
pub fn looks_secret(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_key) || has_phrase(text)
}

fn is_key(token: &str) -> bool {
    let is_base58 = token.bytes().all(|b| b.is_ascii_alphanumeric() && !matches!(b, b'0' | b'O' | b'I' | b'l'));
    let is_extended = token.get(1..4).is_some_and(|kind| kind.eq_ignore_ascii_case("prv"));
    match token.len() {
        // Minikeys.
        22 | 26 | 30 => is_base58 && token.starts_with('S') && token.bytes().any(|b| b.is_ascii_digit()),
        // Wallet import format, on all networks.
        50..=53 => is_base58 && token.starts_with(['5', 'K', 'L', '9', 'c']),
        // Encrypted (BIP 38).
        57..=59 => is_base58 && token.starts_with("6P"),
        length => length > 20 && is_extended,
    }
}

/// True if a text has as many words in a row as a recovery phrase.
fn has_phrase(text: &str) -> bool {
    let mut row = 0;
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).any(|word| {
        let is_word = (3..=8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_alphabetic());
        row = if is_word { row + 1 } else { 0 };
        row >= MIN_PHRASE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIF: &str = "KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn";
    const PHRASE: &str =
        "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";

    #[test]
    fn keys_and_phrases_are_recognised() {
        for secret in [
            WIF,
            "5HpHagT65TZzG1PH3CSu63k8DbpvD8s5ip4nEB3kEsreAnchuDf",
            "cMahea7zqjxrtgAbB7LSGbcQUr1uX1ojuat9jZodMN87JcbXMTcA",
            "6PRVWUbkzzsbcVac2qwfssoUJAN1Xhrg6bNk8J7Nzm5H7kxEbn2Nh2ZoGg",
            "S6c56bnXQiBjk9mqSYE7ykVQ7NzrRy",
            "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi",
            "wpkh(TPRV8ZgxMBicQKsPdhSYVkvPrPCMYqRhwWJXTNiXWnLjqvGZ3MVZMUsXGJGQF6Jb1xbGL1RrGeRLVVGPGxUXuXRp4EyEMFvZRLxS8J/0)",
            PHRASE,
        ] {
            assert!(looks_secret(secret), "{secret}");
            assert!(looks_secret(&format!("bitcoin:{secret}?x=1")), "{secret}");
            // With a mistake in it.
            assert!(looks_secret(&secret.replace("ea", "eb")), "{secret}");
        }
    }

    #[test]
    fn public_values_are_no_secrets() {
        for public in [
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr",
            "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
            "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8",
            "the-quick-brown-fox",
            "dormant-movements",
        ] {
            assert!(!looks_secret(public), "{public}");
        }
    }

    #[test]
    fn paths_hide_keys_and_what_is_invalid() {
        assert_eq!(shown_path(&format!("/v1/wallet/{WIF}/x"), &[]), "/v1/wallet/[redacted]/x");
        assert_eq!(shown_path(&format!("/v1/{}", PHRASE.replace(' ', "%20")), &[]), "/v1/[redacted]");
        let hidden = [("address".to_owned(), "a b".to_owned())];
        assert_eq!(shown_path("/v1/a%20b/overview", &hidden), "/v1/{address}/overview");
        assert_eq!(shown_path("urn:uuid:2f1c", &[]), "urn:uuid:2f1c");
    }
}
