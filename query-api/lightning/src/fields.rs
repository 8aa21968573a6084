//! Fields of the daemons' JSON: whole numbers that may be texts, and 32 bytes in hex or base64.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, de::Error};

const MAX_NUMBER_CHARS: usize = 24;

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

/// A whole number that is not negative. LND writes int64 and uint64 as texts, as all JSON of protocol buffers does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Whole(pub(crate) u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match NumberOrText::deserialize(deserializer) {
            Ok(NumberOrText::Number(number)) => Ok(Whole(number)),
            Ok(NumberOrText::Text(text)) if is_digits(&text) => text.parse().map(Whole).map_err(D::Error::custom),
            _ => Err(D::Error::custom("expected a whole number")),
        }
    }
}

/// Thousandths of a satoshi: a number, or before Core Lightning 23.05 a text that ends with `msat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Msat(pub(crate) u64);

impl<'de> Deserialize<'de> for Msat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match NumberOrText::deserialize(deserializer) {
            Ok(NumberOrText::Number(number)) => Ok(Msat(number)),
            Ok(NumberOrText::Text(text)) => match text.strip_suffix("msat") {
                Some(digits) if is_digits(digits) => digits.parse().map(Msat).map_err(D::Error::custom),
                _ => Err(D::Error::custom("expected a whole number of msat")),
            },
            Err(_) => Err(D::Error::custom("expected a whole number of msat")),
        }
    }
}

fn is_digits(text: &str) -> bool {
    (1..=MAX_NUMBER_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// 32 bytes in hex. Errors do not repeat them: they may be a preimage.
#[derive(Clone, Copy)]
pub(crate) struct Hex32(pub(crate) [u8; 32]);

impl<'de> Deserialize<'de> for Hex32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || D::Error::custom("expected 32 bytes in hex");
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(&text, &mut bytes).map_err(|_| wrong())?;
        Ok(Hex32(bytes))
    }
}

/// 32 bytes in base64, as LND writes bytes. Errors do not repeat them.
#[derive(Clone, Copy)]
pub(crate) struct Base64Of32(pub(crate) [u8; 32]);

impl<'de> Deserialize<'de> for Base64Of32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || D::Error::custom("expected 32 bytes in base64");
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(|_| wrong())?;
        bytes.try_into().map(Base64Of32).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(json: &str) -> Option<T> {
        serde_json::from_str(json).ok()
    }

    #[test]
    fn forms() {
        assert_eq!(read("\"18446744073709551615\""), Some(Whole(u64::MAX)));
        assert_eq!(read("7"), Some(Whole(7)));
        for json in ["\"\"", "\"-1\"", "-1", "1.5", "\"+1\"", "\"18446744073709551616\"", "null", "[1]"] {
            assert_eq!(read::<Whole>(json), None, "{json}");
        }
        assert_eq!((read("5000"), read("\"5000msat\"")), (Some(Msat(5_000)), Some(Msat(5_000))));
        for json in ["\"5000\"", "\"5sat\"", "\"msat\"", "\"-5msat\"", "\"5000 msat\""] {
            assert_eq!(read::<Msat>(json), None, "{json}");
        }
        assert!(read::<Hex32>(&format!("\"{}\"", "0f".repeat(32))).is_some_and(|bytes| bytes.0 == [15; 32]));
        assert!(read::<Hex32>(&format!("\"{}\"", "0f".repeat(31))).is_none());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number: u64, bytes: [u8; 32]) {
            prop_assert_eq!(read(&format!("\"{number}\"")), Some(Whole(number)));
            prop_assert_eq!(read(&format!("\"{number}msat\"")), Some(Msat(number)));
            let (hex, base64) = (format!("\"{}\"", hex::encode(bytes)), format!("\"{}\"", STANDARD.encode(bytes)));
            prop_assert!(read::<Hex32>(&hex).is_some_and(|read| read.0 == bytes));
            prop_assert!(read::<Base64Of32>(&base64).is_some_and(|read| read.0 == bytes));
        }

        #[test]
        fn no_text_panics_and_no_error_repeats_bytes(text in "[ -~]{0,50}", half in "[0-9a-f]{62}") {
            let json = serde_json::to_string(&text).unwrap();
            let _ = (read::<Whole>(&json), read::<Msat>(&json), read::<Hex32>(&json), read::<Base64Of32>(&json));
            let error = serde_json::from_str::<Hex32>(&format!("\"{half}\"")).err().unwrap();
            prop_assert!(!error.to_string().contains(&half));
        }
    }
}
