//! Addresses, txids and blocks as people write them. Their schemas carry a `format`, by which the one validation of
//! inputs recognizes them and gives malformed ones their own error codes.

use std::borrow::Cow;

use cairn_domain::{AddressError, Subject, parse_address};
use cairn_model::{BlockHash, Height, Network, Txid};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};

const ADDRESS: &str = "bitcoin-address";
const TXID: &str = "bitcoin-txid";
const BLOCK: &str = "bitcoin-block";

/// What is wrong with an identifier: error code and sentence. `None` if nothing is, or if `format` names no identifier.
pub(crate) fn check(format: &str, text: &str, network: Option<Network>) -> Option<(&'static str, String)> {
    match format {
        ADDRESS => parse_address(text, network).err().map(|error| {
            let code = match error {
                AddressError::Invalid(_) => "invalid_address",
                AddressError::WrongNetwork(_) => "wrong_network",
            };
            (code, error.to_string())
        }),
        TXID => text.parse::<Txid>().err().map(|e| ("invalid_txid", e.to_string())),
        BLOCK => parse_block(text).is_none().then(|| {
            ("invalid_hash", "expected a height (decimal) or a block hash (64 hexadecimal digits)".to_owned())
        }),
        _ => None,
    }
}

/// Whether `format` is one of the identifiers' formats.
pub(crate) fn is_identifier(format: &str) -> bool {
    [ADDRESS, TXID, BLOCK].contains(&format)
}

/// An address, or `scripthash:<hex>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AddressParam {
    /// As given.
    pub(crate) text: String,
    /// The script that it stands for.
    pub(crate) subject: Subject,
}

impl<'de> Deserialize<'de> for AddressParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The network was checked together with the other fields.
        let subject = parse_address(&text, None).map_err(D::Error::custom)?;
        Ok(AddressParam { text, subject })
    }
}

impl JsonSchema for AddressParam {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": ADDRESS,
            "minLength": 1,
            "maxLength": 128,
            "description": "Address on the network of the index, or scripthash:<hex> with SHA-256(scriptPubKey), \
                first byte first (the Electrum protocol shows it reversed).",
            "examples": ["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"],
        })
    }
}

/// A transaction id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TxidParam(pub(crate) Txid);

impl<'de> Deserialize<'de> for TxidParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(TxidParam).map_err(D::Error::custom)
    }
}

impl JsonSchema for TxidParam {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Txid".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": TXID,
            "pattern": "^[0-9a-fA-F]{64}$",
            "description": "Transaction id: 64 hexadecimal digits.",
            "examples": ["4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"],
        })
    }
}

/// A block, by height or hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockParam {
    /// By height. Heights that no u32 holds are beyond any tip and stand as its largest value.
    Height(Height),
    /// By hash.
    Hash(BlockHash),
}

fn parse_block(text: &str) -> Option<BlockParam> {
    if text.len() == 64 {
        return text.parse().ok().map(BlockParam::Hash);
    }
    let digits = (1..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| BlockParam::Height(text.parse().unwrap_or(Height::MAX)))
}

impl<'de> Deserialize<'de> for BlockParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_block(&text).ok_or_else(|| D::Error::custom("neither height nor hash"))
    }
}

impl JsonSchema for BlockParam {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Block".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": BLOCK,
            "pattern": "^([0-9]{1,20}|[0-9a-fA-F]{64})$",
            "description": "Height, or block hash (64 hexadecimal digits).",
            "examples": ["0"],
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn codes_of_malformed_identifiers() {
        let code = |format: &str, text: &str| check(format, text, Some(Network::Regtest)).map(|(code, _)| code);
        assert_eq!(code(ADDRESS, "x"), Some("invalid_address"));
        assert_eq!(code(ADDRESS, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"), Some("wrong_network"));
        assert_eq!(code(TXID, "00"), Some("invalid_txid"));
        assert_eq!(code(TXID, &"0f".repeat(32)), None);
        assert_eq!(code(BLOCK, "-1"), Some("invalid_hash"));
        assert_eq!(code(BLOCK, ""), Some("invalid_hash"));
        assert_eq!(code(BLOCK, &"1".repeat(64)), None);
        assert_eq!(code("uuid", "x"), None);
    }

    #[test]
    fn heights_and_hashes() {
        assert_eq!(parse_block("0170"), Some(BlockParam::Height(170)));
        assert_eq!(parse_block("99999999999999999999"), Some(BlockParam::Height(u32::MAX)));
        assert!(matches!(parse_block(&"0".repeat(64)), Some(BlockParam::Hash(_))));
        assert_eq!(parse_block("1e5"), None);
    }
}
