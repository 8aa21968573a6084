//! Addresses and their scriptPubKeys.

use std::str::FromStr;

use bitcoin::{Address, Script, address::NetworkUnchecked};
use cairn_model::Network;

/// The subject of a wallet request: one scriptPubKey.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The script itself, from an address.
    Script(Vec<u8>),
    /// SHA-256 of the script, in natural byte order.
    ScriptHash([u8; 32]),
}

/// The text is not an address of this network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// It is not an address.
    #[error("neither a Bitcoin address nor scripthash:<64 hexadecimal digits>: {0}")]
    Invalid(&'static str),
    /// It is an address of another network.
    #[error("the address does not belong to the network {0}")]
    WrongNetwork(Network),
}

/// Prefix of `scripthash:<hex>`.
const SCRIPT_HASH: &str = "scripthash:";
/// Longer than any address: a bech32m address has at most 90 characters.
const MAX_LEN: usize = 128;

/// Parses an address of `network` (of any network if none is given), or `scripthash:<hex>`.
pub fn parse_address(text: &str, network: Option<Network>) -> Result<Subject, AddressError> {
    if text.is_empty() {
        return Err(AddressError::Invalid("it is empty"));
    }
    if text.len() > MAX_LEN {
        return Err(AddressError::Invalid("it is too long"));
    }
    if text.get(..SCRIPT_HASH.len()).is_some_and(|head| head.eq_ignore_ascii_case(SCRIPT_HASH)) {
        let digest = parse_script_hash(&text[SCRIPT_HASH.len()..]);
        return digest
            .map(Subject::ScriptHash)
            .ok_or(AddressError::Invalid("a script hash must have 64 hexadecimal digits"));
    }
    let address = Address::<NetworkUnchecked>::from_str(text)
        .map_err(|_| AddressError::Invalid("invalid characters or checksum"))?;
    match network {
        Some(network) if !address.is_valid_for_network(network.to_bitcoin()) => {
            Err(AddressError::WrongNetwork(network))
        }
        _ => Ok(Subject::Script(address.assume_checked().script_pubkey().into_bytes())),
    }
}

/// Parses 64 hexadecimal digits in natural byte order.
#[must_use]
pub fn parse_script_hash(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    let mut bytes = [0u8; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let nibble = |c: u8| char::from(c).to_digit(16);
        *byte = (nibble(pair[0])? << 4 | nibble(pair[1])?) as u8;
    }
    Some(bytes)
}

/// The address of a scriptPubKey, if it has one: P2PK, bare multisig, OP_RETURN and non-standard scripts have none.
#[must_use]
pub fn address_of(script: &[u8], network: Network) -> Option<String> {
    Address::from_script(Script::from_bytes(script), network.to_bitcoin()).ok().map(|a| a.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENESIS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

    #[test]
    fn addresses_read_back() {
        for text in [
            GENESIS,
            "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
            "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3",
            "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
            "bc1pfeessrawgf",
        ] {
            let Subject::Script(script) = parse_address(text, Some(Network::Main)).unwrap() else { panic!("{text}") };
            assert_eq!(address_of(&script, Network::Main).as_deref(), Some(text));
        }
        let upper = "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4";
        assert!(parse_address(upper, Some(Network::Main)).is_ok());
    }

    #[test]
    fn networks_are_told_apart() {
        let wrong = AddressError::WrongNetwork(Network::Regtest);
        assert_eq!(parse_address(GENESIS, Some(Network::Regtest)), Err(wrong));
        assert!(parse_address("bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", Some(Network::Regtest)).is_ok());
        assert!(parse_address("bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", Some(Network::Main)).is_err());
        assert!(parse_address("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", Some(Network::Regtest)).is_ok());
        assert!(parse_address(GENESIS, None).is_ok());
    }

    #[test]
    fn what_is_no_address() {
        for text in
            ["", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", "hello", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", "é"]
        {
            assert!(matches!(parse_address(text, Some(Network::Main)), Err(AddressError::Invalid(_))), "{text}");
        }
        assert!(parse_address(&"1".repeat(5000), None).is_err());
        assert!(parse_address("scripthash:00", None).is_err());
        assert!(parse_address(&format!("scripthash:{}", "g".repeat(64)), None).is_err());
        assert!(parse_address(&format!("scripthash:{}", "é".repeat(32)), None).is_err());
    }

    #[test]
    fn script_hashes_keep_their_order() {
        let text = format!("ScriptHash:ab{}CD", "00".repeat(30));
        let Subject::ScriptHash(hash) = parse_address(&text, Some(Network::Main)).unwrap() else { panic!() };
        assert_eq!((hash[0], hash[31]), (0xab, 0xcd));
    }

    #[test]
    fn keys_and_data_have_no_address() {
        assert_eq!(address_of(&[&[0x21, 2][..], &[0x11; 32], &[0xac]].concat(), Network::Main), None);
        assert_eq!(address_of(&[0x6a, 1, 1], Network::Main), None);
        assert_eq!(address_of(&[], Network::Main), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,100}") {
            let _ = parse_address(&text, Some(Network::Main));
        }
    }
}
