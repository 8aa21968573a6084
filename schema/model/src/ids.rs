//! Identifiers. A prefix is a hint: after a look-up by prefix, the full key is compared.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Height of a block on the active chain; genesis is 0.
pub type Height = u32;

/// Satoshis. Never negative; sums of coins fit in 51 bits.
pub type Sats = u64;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// A 32-byte hash in the byte order of the protocol (the reverse of the display order).
macro_rules! hash32 {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub [u8; 32]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // In one piece: answers write many of them.
                let mut text = [0u8; 64];
                for (pair, byte) in text.chunks_exact_mut(2).zip(self.0.iter().rev()) {
                    pair[0] = DIGITS[usize::from(byte >> 4)];
                    pair[1] = DIGITS[usize::from(byte & 15)];
                }
                f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadHash;

            /// Parses 64 hexadecimal digits in display order.
            fn from_str(s: &str) -> Result<Self, BadHash> {
                let mut bytes = [0u8; 32];
                let digits = s.as_bytes();
                if digits.len() != 64 {
                    return Err(BadHash);
                }
                for (i, pair) in digits.chunks_exact(2).enumerate() {
                    let nibble = |c: u8| (c as char).to_digit(16).ok_or(BadHash);
                    bytes[31 - i] = (nibble(pair[0])? * 16 + nibble(pair[1])?) as u8;
                }
                Ok($name(bytes))
            }
        }
    };
}

/// The text is not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 hexadecimal digits")]
pub struct BadHash;

hash32!(
    /// Transaction id (double SHA-256 without witness), protocol byte order.
    Txid
);
hash32!(
    /// Block hash, protocol byte order.
    BlockHash
);

/// Index of a transaction in the active chain, without gaps; 0 is the coinbase of genesis.
/// Tables store it as 5 bytes, big-endian.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub struct TxNum(pub u64);

impl TxNum {
    /// One past the largest number that fits into the tables' 5 bytes.
    pub const LIMIT: u64 = 1 << 40;

    /// The 5 big-endian bytes of table keys.
    #[must_use]
    #[inline]
    pub fn to_be5(self) -> [u8; 5] {
        let b = self.0.to_be_bytes();
        debug_assert!(self.0 < Self::LIMIT);
        [b[3], b[4], b[5], b[6], b[7]]
    }

    /// The number in 5 big-endian bytes.
    #[must_use]
    #[inline]
    pub fn from_be5(b: [u8; 5]) -> Self {
        TxNum(u64::from_be_bytes([0, 0, 0, b[0], b[1], b[2], b[3], b[4]]))
    }
}

/// An outpoint by position: the funding transaction's number and the output's index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Outpoint {
    /// Number of the funding transaction.
    pub tx_num: TxNum,
    /// Index of the output in it.
    pub vout: u32,
}

/// First 8 bytes of SHA-256(scriptPubKey).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ScriptPrefix(pub [u8; 8]);

impl ScriptPrefix {
    /// The prefix of a script. `significant` is how many of its bytes are used (the others are zero): 8 always,
    /// but for tests that want collisions.
    #[must_use]
    pub fn of(script_pubkey: &[u8], significant: usize) -> Self {
        let digest = Sha256::digest(script_pubkey);
        let mut prefix = [0u8; 8];
        let n = significant.min(8);
        prefix[..n].copy_from_slice(&digest[..n]);
        ScriptPrefix(prefix)
    }
}

/// A scriptPubKey by its prefix and an ordinal. The ordinal (almost always 0) counts the other scripts of the same
/// prefix that appeared earlier in the chain, so it is the same on every machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ScriptId {
    /// First 8 bytes of SHA-256(scriptPubKey).
    pub prefix: ScriptPrefix,
    /// How many other scripts of this prefix appeared earlier. 256 scripts of one prefix would cost about
    /// 2^63 hashes to make; a chain that holds more is refused with an error.
    pub ordinal: u8,
}

impl ScriptId {
    /// Bytes of the key form.
    pub const LEN: usize = 9;

    /// Key form: prefix ‖ ordinal.
    #[must_use]
    #[inline]
    pub fn to_bytes(self) -> [u8; 9] {
        let mut out = [0u8; 9];
        out[..8].copy_from_slice(&self.prefix.0);
        out[8] = self.ordinal;
        out
    }

    /// Converts from the key form.
    #[must_use]
    #[inline]
    pub fn from_bytes(b: [u8; 9]) -> Self {
        let mut prefix = [0u8; 8];
        prefix.copy_from_slice(&b[..8]);
        ScriptId { prefix: ScriptPrefix(prefix), ordinal: b[8] }
    }
}

/// Largest script that Bitcoin Core's interpreter runs; a longer scriptPubKey can never be spent.
const MAX_SCRIPT_SIZE: usize = 10_000;

/// Bitcoin Core's `CScript::IsUnspendable`: starts with OP_RETURN, or is longer than 10 000 bytes. Such outputs
/// never enter the coin set.
#[must_use]
pub fn is_unspendable(script_pubkey: &[u8]) -> bool {
    script_pubkey.first() == Some(&0x6a) || script_pubkey.len() > MAX_SCRIPT_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_read_back_what_they_print() {
        let text = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
        let hash: BlockHash = text.parse().unwrap();
        assert_eq!(hash.to_string(), text);
        assert_eq!(hash.0[0], 0x6f);
        assert!("00".parse::<Txid>().is_err());
        assert!("g".repeat(64).parse::<Txid>().is_err());
        assert!("é".repeat(32).parse::<Txid>().is_err());
    }

    #[test]
    fn keys_sort_as_numbers_do() {
        let mut last = TxNum(0).to_be5();
        for n in [1u64, 255, 256, 65_535, 1 << 24, (1 << 40) - 1] {
            let next = TxNum(n).to_be5();
            assert!(last < next);
            assert_eq!(TxNum::from_be5(next), TxNum(n));
            last = next;
        }
    }

    #[test]
    fn short_prefixes_are_for_collisions() {
        assert_eq!(ScriptPrefix::of(b"abc", 8).0, [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]);
        assert_eq!(ScriptPrefix::of(b"abc", 1).0, [0xba, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn unspendable_as_in_core() {
        assert!(is_unspendable(&[0x6a]));
        assert!(!is_unspendable(&[]));
        assert!(!is_unspendable(&[0x51; 10_000]));
        assert!(is_unspendable(&[0x51; 10_001]));
    }
}
