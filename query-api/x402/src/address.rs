//! Addresses of EVM chains. They are read in any case, and written with the checksum of EIP-55.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::keccak::keccak256;

/// An address of an account or a contract.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Address([u8; 20]);

/// The text is not an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("this is not an address; expected 0x and 40 hex digits")]
pub struct AddressError;

impl Address {
    /// Returns the address with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Address(bytes)
    }

    /// Returns the address of an account by its public key, without the prefix of the key: the end of its hash.
    pub(crate) fn from_key(point: &[u8]) -> Self {
        let mut bytes = [0; 20];
        for (byte, hashed) in bytes.iter_mut().zip(keccak256(&[point]).into_iter().skip(12)) {
            *byte = hashed;
        }
        Address(bytes)
    }

    /// Returns its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

/// Returns the bytes of `0x` and exactly 2 × `N` hex digits.
pub(crate) fn hex_bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(text.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(bytes)
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        hex_bytes(text).map(Address).ok_or(AddressError)
    }
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(self.0);
        let hash = hex::encode(keccak256(&[digits.as_bytes()]));
        f.write_str("0x")?;
        for (digit, check) in digits.chars().zip(hash.chars()) {
            let digit = if check >= '8' { digit.to_ascii_uppercase() } else { digit };
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test cases of EIP-55 (eips.ethereum.org/EIPS/eip-55, "Test Cases").
    #[test]
    fn checksums() {
        for text in [
            "0x52908400098527886E0F7030069857D2E4169EE7",
            "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
            "0xde709f2102306220921060314715629080e2fb77",
            "0x27b1fdb04752bbc536007a920d24acb045561c26",
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
            "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
            "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        ] {
            let address: Address = text.to_ascii_lowercase().parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(text.parse(), Ok(address));
        }
        for text in ["", "0x", "52908400098527886E0F7030069857D2E4169EE7", "0x52908400098527886E0F7030069857D2E4169E"] {
            assert_eq!(text.parse::<Address>(), Err(AddressError), "{text}");
        }
    }
}
