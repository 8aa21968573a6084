//! Parts of paths, and what a wrong one is answered with.

use bitcoin::{Address, address::NetworkUnchecked};
use cairn_domain::{mempool::ScriptHash, script_sha256};
use cairn_model::{BlockHash, Network, Txid};

use crate::answer::Refusal;

/// A txid as people write it: 64 hexadecimal digits, last byte first.
pub(crate) fn txid(text: &str) -> Result<Txid, Refusal> {
    text.parse().map_err(|_| Refusal::bad("Invalid hex string"))
}

/// A block hash as people write it.
pub(crate) fn block_hash(text: &str) -> Result<BlockHash, Refusal> {
    text.parse().map_err(|_| Refusal::bad("Invalid hex string"))
}

/// A number of decimal digits.
pub(crate) fn number(text: &str) -> Result<u64, Refusal> {
    digits(text).ok_or_else(|| Refusal::bad("Invalid number"))
}

/// A number of decimal digits; `None` for anything else.
pub(crate) fn digits(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Longer than any address: a bech32m address has at most 90 characters.
const MAX_ADDRESS: usize = 128;

/// The script of an address of this network.
pub(crate) fn address(text: &str, network: Network) -> Result<Vec<u8>, Refusal> {
    let parsed = (text.len() <= MAX_ADDRESS).then(|| text.parse::<Address<NetworkUnchecked>>().ok()).flatten();
    let parsed = parsed.ok_or_else(|| Refusal::bad("Invalid Bitcoin address"))?;
    let checked = parsed.require_network(network.to_bitcoin());
    let checked = checked.map_err(|_| Refusal::bad("Address on invalid network"))?;
    Ok(checked.script_pubkey().into_bytes())
}

/// How a path names a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScriptName {
    /// By its address.
    Address,
    /// By the SHA-256 of its bytes, first byte first.
    Hash,
}

impl ScriptName {
    /// The word of the path, which is also the name of the field in answers.
    pub(crate) fn word(self) -> &'static str {
        match self {
            ScriptName::Address => "address",
            ScriptName::Hash => "scripthash",
        }
    }

    /// The hash of the script.
    pub(crate) fn parse(self, text: &str, network: Network) -> Result<ScriptHash, Refusal> {
        match self {
            ScriptName::Address => address(text, network).map(|script| script_sha256(&script)),
            ScriptName::Hash => {
                let bytes = hex::decode(text).ok().and_then(|bytes| bytes.try_into().ok());
                bytes.ok_or_else(|| Refusal::bad("Invalid scripthash"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use proptest::prelude::*;

    use super::*;

    fn text_of<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
        match result.unwrap_err() {
            Refusal::Said(StatusCode::BAD_REQUEST, text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_are_those_of_electrs() {
        for wrong in ["", "zz", "0", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64)] {
            assert_eq!(text_of(txid(wrong)), "Invalid hex string");
            assert_eq!(text_of(block_hash(wrong)), "Invalid hex string");
        }
        for wrong in ["", "-1", "+1", "1.0", "0x1", " 1", "99999999999999999999"] {
            assert_eq!(text_of(number(wrong)), "Invalid number", "{wrong}");
        }
        assert_eq!(number("00012").unwrap(), 12);
        let of_main = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        assert_eq!(text_of(address(of_main, Network::Regtest)), "Address on invalid network");
        assert!(address(of_main, Network::Main).is_ok());
        // Test networks share the form of old addresses.
        assert!(address("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", Network::Regtest).is_ok());
        let hash = "00".repeat(32);
        for wrong in ["", "1", "bc1q", &format!("scripthash:{hash}"), &"1".repeat(500)] {
            assert_eq!(text_of(address(wrong, Network::Main)), "Invalid Bitcoin address");
        }
        let parse = |text: &str| ScriptName::Hash.parse(text, Network::Main);
        for wrong in ["", "00", "0", "0g", &"zz".repeat(32), &"00".repeat(33)] {
            assert_eq!(text_of(parse(wrong)), "Invalid scripthash");
        }
        let hash = parse(&format!("ab{}", "00".repeat(31))).unwrap();
        assert_eq!((hash[0], hash[31]), (0xab, 0));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,140}") {
            let _ = (txid(&text), block_hash(&text), number(&text));
            for name in [ScriptName::Address, ScriptName::Hash] {
                let _ = name.parse(&text, Network::Regtest);
            }
        }
    }
}
