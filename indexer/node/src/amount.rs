//! Amounts, hashes and bytes as the node writes them in JSON.

use std::{fmt, marker::PhantomData, str::FromStr};

use cairn_model::{BlockHash, Sats, Txid, parse_btc};
use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

/// Bitcoin in decimals → satoshis, without a floating-point number in between.
pub(crate) fn sats<'de, D: Deserializer<'de>>(from: D) -> Result<Sats, D::Error> {
    let raw = <Box<RawValue>>::deserialize(from)?;
    parse_btc(raw.get()).map_err(|bad| de::Error::custom(format_args!("{} as an amount of bitcoin {bad}", raw.get())))
}

/// The same, where the field may be missing.
pub(crate) fn optional_sats<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Sats>, D::Error> {
    sats(from).map(Some)
}

/// A hash of 64 hexadecimal digits.
pub(crate) struct Hash<T>(pub(crate) T);

impl<'de, T: FromStr> Deserialize<'de> for Hash<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<T: FromStr> de::Visitor<'_> for Visitor<T> {
            type Value = Hash<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a hash")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                text.parse().map(Hash).map_err(|_| E::custom("expected 64 hexadecimal digits"))
            }
        }
        from.deserialize_str(Visitor(PhantomData))
    }
}

pub(crate) fn block_hash<'de, D: Deserializer<'de>>(from: D) -> Result<BlockHash, D::Error> {
    Hash::deserialize(from).map(|hash| hash.0)
}

pub(crate) fn txids<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Txid>, D::Error> {
    let list = <Vec<Hash<Txid>>>::deserialize(from)?;
    Ok(list.into_iter().map(|hash| hash.0).collect())
}

/// Bytes in hexadecimal digits.
pub(crate) fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    struct Visitor;
    impl de::Visitor<'_> for Visitor {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes in hexadecimal digits")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<u8>, E> {
            hex::decode(text).map_err(E::custom)
        }
    }
    from.deserialize_str(Visitor)
}

/// Bytes as the whole answer.
#[derive(Deserialize)]
pub(crate) struct Bytes(#[serde(deserialize_with = "bytes")] pub(crate) Vec<u8>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        for (text, expected) in [
            ("0.00000001", Some(1)),
            ("1e-8", Some(1)),
            ("1.5E-7", Some(15)),
            ("0", Some(0)),
            ("0e99", Some(0)),
            ("0.00000000", Some(0)),
            ("20999999.97690000", Some(2_099_999_997_690_000)),
            ("21000000", Some(2_100_000_000_000_000)),
            ("1.0", Some(100_000_000)),
            ("5e1", Some(5_000_000_000)),
            ("0.1000000000", Some(10_000_000)),
            ("0.000000001", None),
            ("-0.1", None),
            ("1e30", None),
            ("1e-2147483648", None),
            ("1e2147483647", None),
            ("\"1\"", None),
            ("null", None),
            ("184467440737.09551616", None),
        ] {
            assert_eq!(parse_btc(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn hashes() {
        let text = "00000000000000000000000000000000000000000000000000000000000000ff";
        let hash: Hash<Txid> = serde_json::from_str(&format!("\"{text}\"")).unwrap();
        assert_eq!((hash.0.0[0], hash.0.to_string().as_str()), (0xff, text));
        assert!(serde_json::from_str::<Hash<Txid>>("\"ff\"").is_err());
        assert!(serde_json::from_str::<Hash<Txid>>("7").is_err());
    }
}
