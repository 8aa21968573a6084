//! Addresses, txids and blocks as parameters. Each has its own error code for malformed values.

use std::borrow::Cow;

use cairn_domain::{AddressError, Subject, parse_address};
use cairn_http::{BadText, ErrorCode, TextFormat};
use cairn_model::{BlockHash, Height, Network, Txid};

use crate::parsed::{parsed, schema};

pub(crate) const ADDRESS: TextFormat = TextFormat {
    name: "bitcoin-address",
    codes: &[ErrorCode::InvalidAddress, ErrorCode::WrongNetwork],
    takes_numbers: false,
    canonical: canonical_address,
    example: Some(|network| example_address(network).into()),
    look: |_, text, network| {
        let network = network.and_then(|name| Network::ALL.into_iter().find(|network| network.name() == name));
        parse_address(&canonical_address(text), network).map(drop).map_err(|error| {
            let code = match error {
                AddressError::Invalid(_) => ErrorCode::InvalidAddress,
                AddressError::WrongNetwork(_) => ErrorCode::WrongNetwork,
            };
            let hint = if is_of_a_wallet(text) { WHOLE_WALLET } else { "" };
            BadText::with_code(code, format!("{error}{hint}"))
        })
    },
};

/// Returns the address of a `bitcoin:` URI (BIP 21), or the text without spaces around it. Forms that are valid in
/// capital letters become small letters.
pub(crate) fn canonical_address(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let text = match text.split_at_checked(URI_SCHEME.len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(URI_SCHEME) => {
            rest.split(['?', '#']).next().unwrap_or_default().trim()
        }
        _ => text,
    };
    let has_head = |head: &str| text.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head));
    let is_upper = !text.bytes().any(|b| b.is_ascii_lowercase()) && ["bc1", "tb1", "bcrt1"].into_iter().any(has_head);
    if is_upper || has_head("scripthash:") { text.to_ascii_lowercase().into() } else { text.into() }
}

const URI_SCHEME: &str = "bitcoin:";

/// Hexadecimal digits in small letters, without spaces around them.
fn lower_case(text: &str) -> Cow<'_, str> {
    text.trim().to_ascii_lowercase().into()
}

/// A height without zeros in front, or a hash in small letters.
fn canonical_block(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    match parse_block(text) {
        Some(BlockParam::Height(_)) => match text.trim_start_matches('0') {
            "" => "0".into(),
            digits => digits.into(),
        },
        _ => lower_case(text),
    }
}

/// Advice for a descriptor or an extended key in place of an address.
const WHOLE_WALLET: &str = "; a descriptor or an extended public key shows a whole wallet: send it in the body of POST /v1/wallets/lookup, \
                            never in a URL";

/// True if a text looks like a descriptor or an extended key.
fn is_of_a_wallet(text: &str) -> bool {
    let key = text.rsplit_once(']').map_or(text, |(_, key)| key);
    key.get(1..4).is_some_and(|kind| matches!(kind, "pub" | "prv")) || text.contains('(') && text.contains(')')
}

/// An address of the network: that of the genesis block's key. While the network is unknown, the hash of its script,
/// which is valid on each.
pub(crate) fn example_address(network: Option<&'static str>) -> &'static str {
    match network {
        None => "scripthash:6191c3b590bfcfa0475e877c302da1e323497acf3b42c08d8fa28e364edf018b",
        Some("main") => "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        // All test networks have the same addresses of this kind.
        Some(_) => "mpXwg4jMtRhuSpVq4xS3HFHmCmWp9NyGKt",
    }
}

pub(crate) const TXID: TextFormat = TextFormat {
    name: "bitcoin-txid",
    codes: &[ErrorCode::InvalidTxid],
    takes_numbers: false,
    canonical: lower_case,
    example: None,
    look: |_, text, _| {
        text.parse::<Txid>().map(drop).map_err(|e| BadText::with_code(ErrorCode::InvalidTxid, e.to_string()))
    },
};
pub(crate) const BLOCK: TextFormat = TextFormat {
    name: "bitcoin-block",
    codes: &[ErrorCode::InvalidHash],
    takes_numbers: false,
    canonical: canonical_block,
    example: None,
    look: |_, text, _| match parse_block(text) {
        Some(_) => Ok(()),
        None => {
            let message = "expected a height (decimal) or a block hash (64 hexadecimal digits)";
            Err(BadText::with_code(ErrorCode::InvalidHash, message))
        }
    },
};

/// An address, or `scripthash:<hex>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AddressParam {
    /// Its canonical form.
    pub(crate) text: String,
    pub(crate) subject: Subject,
}

impl AddressParam {
    /// Reads one. Whether the network is right is checked together with the other fields.
    pub(crate) fn read(text: &str) -> Result<Self, AddressError> {
        let text = canonical_address(text);
        Ok(AddressParam { subject: parse_address(&text, None)?, text: text.into_owned() })
    }
}

parsed!(AddressParam, AddressParam::read);

schema!(inline AddressParam, "Address", {
    "type": "string",
    "format": ADDRESS.name,
    "minLength": 1,
    "maxLength": 128,
    "description": "Address on the network of the index, or scripthash:<hex>. The hash is SHA-256(scriptPubKey) in \
        natural byte order; Electrum shows it reversed. A bitcoin: URI stands for its address.",
    "examples": ["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"],
});

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TxidParam(pub(crate) Txid);

parsed!(TxidParam, |text: &str| text.parse().map(TxidParam));

schema!(inline TxidParam, "Txid", {
    "type": "string",
    "format": TXID.name,
    "pattern": "^[0-9a-fA-F]{64}$",
    "description": "Transaction id: 64 hexadecimal digits.",
    "examples": ["4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"],
});

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockParam {
    /// By height. Heights above the range of u32 are beyond any tip and become its largest value.
    Height(Height),
    Hash(BlockHash),
}

fn parse_block(text: &str) -> Option<BlockParam> {
    if text.len() == 64 {
        return text.parse().ok().map(BlockParam::Hash);
    }
    let digits = (1..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| BlockParam::Height(text.parse().unwrap_or(Height::MAX)))
}

parsed!(BlockParam, |text| parse_block(text).ok_or("neither height nor hash"));

schema!(inline BlockParam, "Block", {
    "type": "string",
    "format": BLOCK.name,
    "pattern": "^([0-9]{1,20}|[0-9a-fA-F]{64})$",
    "description": "Height, or block hash (64 hexadecimal digits).",
    "examples": ["0"],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_malformed_identifiers() {
        let code = |format: TextFormat, text: &str| {
            let bad = (format.look)(&serde_json::Value::Null, text, Some("regtest")).err();
            bad.and_then(|bad| bad.code).map(ErrorCode::name)
        };
        assert_eq!(code(ADDRESS, "x"), Some("invalid_address"));
        assert_eq!(code(ADDRESS, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"), Some("wrong_network"));
        assert_eq!(code(TXID, "00"), Some("invalid_txid"));
        assert_eq!(code(TXID, &"0f".repeat(32)), None);
        assert_eq!(code(BLOCK, "-1"), Some("invalid_hash"));
        assert_eq!(code(BLOCK, ""), Some("invalid_hash"));
        assert_eq!(code(BLOCK, &"1".repeat(64)), None);
    }

    #[test]
    fn addresses_have_one_canonical_form() {
        const ADDRESS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        const SEGWIT: &str = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
        let upper = ADDRESS.to_uppercase();
        for (text, expected) in [
            (format!(" {ADDRESS}\t\n"), ADDRESS),
            (format!("bitcoin:{ADDRESS}"), ADDRESS),
            (format!("BitCoin: {ADDRESS}?amount=20.3&label=Luke-Jr"), ADDRESS),
            (format!("bitcoin:{ADDRESS}#x"), ADDRESS),
            (format!("BITCOIN:{}?AMOUNT=1", SEGWIT.to_uppercase()), SEGWIT),
            (SEGWIT.to_uppercase(), SEGWIT),
            ("ScriptHash:0F".to_owned(), "scripthash:0f"),
            // Invalid texts stay invalid.
            (upper.clone(), upper.as_str()),
            ("bc1QW508D6".to_owned(), "bc1QW508D6"),
            ("bitcoin:".to_owned(), ""),
            ("litecoin:x".to_owned(), "litecoin:x"),
        ] {
            assert_eq!(canonical_address(&text), expected, "{text}");
        }
    }

    #[test]
    fn blocks_and_txids_have_one_canonical_form() {
        for (text, expected) in [("007", "7"), ("0", "0"), ("000", "0"), (" 12 ", "12"), ("0x7", "0x7"), ("", "")] {
            assert_eq!(canonical_block(text), expected, "{text}");
        }
        // Digits alone may be a hash.
        assert_eq!(canonical_block(&"0".repeat(64)), "0".repeat(64));
        assert_eq!(canonical_block(&"0F".repeat(32)), "0f".repeat(32));
        assert_eq!(lower_case(&format!(" {} ", "0F".repeat(32))), "0f".repeat(32));
    }

    #[test]
    fn example_addresses_are_valid_where_they_are_shown() {
        for network in Network::ALL.map(Network::name).into_iter().map(Some).chain([None]) {
            assert_eq!(
                (ADDRESS.look)(&serde_json::Value::Null, example_address(network), network),
                Ok(()),
                "{network:?}"
            );
        }
    }

    #[test]
    fn heights_and_hashes() {
        assert_eq!(parse_block("0170"), Some(BlockParam::Height(170)));
        assert_eq!(parse_block("99999999999999999999"), Some(BlockParam::Height(u32::MAX)));
        assert!(matches!(parse_block(&"0".repeat(64)), Some(BlockParam::Hash(_))));
        assert_eq!(parse_block("1e5"), None);
    }
}
