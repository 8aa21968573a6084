//! The operations of a proof.

use bitcoin::hashes::{Hash, ripemd160, sha1, sha256};

use crate::keccak::keccak256;

/// A hash function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HashFunction {
    /// SHA-1. Collisions are known; two files of one's own making may have the same hash.
    Sha1,
    /// RIPEMD-160.
    Ripemd160,
    /// SHA-256.
    Sha256,
    /// Keccak-256, as Ethereum has it.
    Keccak256,
}

impl HashFunction {
    /// All of them, in the order of their bytes.
    pub const ALL: [HashFunction; 4] =
        [HashFunction::Sha1, HashFunction::Ripemd160, HashFunction::Sha256, HashFunction::Keccak256];

    /// The byte of the format.
    #[must_use]
    pub const fn byte(self) -> u8 {
        match self {
            HashFunction::Sha1 => 0x02,
            HashFunction::Ripemd160 => 0x03,
            HashFunction::Sha256 => 0x08,
            HashFunction::Keccak256 => 0x67,
        }
    }

    /// The function with this byte.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.byte() == byte)
    }

    /// Its name in small letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            HashFunction::Sha1 => "sha1",
            HashFunction::Ripemd160 => "ripemd160",
            HashFunction::Sha256 => "sha256",
            HashFunction::Keccak256 => "keccak256",
        }
    }

    /// Length of a hash in bytes.
    #[must_use]
    pub const fn length(self) -> usize {
        match self {
            HashFunction::Sha1 | HashFunction::Ripemd160 => 20,
            HashFunction::Sha256 | HashFunction::Keccak256 => 32,
        }
    }

    /// The hash of `message`.
    #[must_use]
    pub fn hash(self, message: &[u8]) -> Vec<u8> {
        match self {
            HashFunction::Sha1 => sha1::Hash::hash(message).as_byte_array().to_vec(),
            HashFunction::Ripemd160 => ripemd160::Hash::hash(message).as_byte_array().to_vec(),
            HashFunction::Sha256 => sha256::Hash::hash(message).as_byte_array().to_vec(),
            HashFunction::Keccak256 => keccak256(message).to_vec(),
        }
    }
}

/// An operation. Their order is that of the format: by byte, then by argument.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// Hashes the message.
    Hash(HashFunction),
    /// Puts bytes behind the message.
    Append(Vec<u8>),
    /// Puts bytes before the message.
    Prepend(Vec<u8>),
    /// Reverses the bytes of the message.
    Reverse,
    /// Writes the message as hexadecimal digits in small letters.
    Hexlify,
}

/// The bytes of the operations that do not hash.
pub(crate) const APPEND: u8 = 0xf0;
pub(crate) const PREPEND: u8 = 0xf1;
pub(crate) const REVERSE: u8 = 0xf2;
pub(crate) const HEXLIFY: u8 = 0xf3;

impl Operation {
    /// The byte of the format.
    #[must_use]
    pub const fn byte(&self) -> u8 {
        match self {
            Operation::Hash(function) => function.byte(),
            Operation::Append(_) => APPEND,
            Operation::Prepend(_) => PREPEND,
            Operation::Reverse => REVERSE,
            Operation::Hexlify => HEXLIFY,
        }
    }

    /// Length of the result for a message of this length.
    #[must_use]
    pub fn result_length(&self, message: usize) -> usize {
        match self {
            Operation::Hash(function) => function.length(),
            Operation::Append(argument) | Operation::Prepend(argument) => message.saturating_add(argument.len()),
            Operation::Reverse => message,
            Operation::Hexlify => message.saturating_mul(2),
        }
    }

    /// The result for a message.
    #[must_use]
    pub fn apply(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Operation::Hash(function) => function.hash(message),
            Operation::Append(argument) => [message, argument].concat(),
            Operation::Prepend(argument) => [argument, message].concat(),
            Operation::Reverse => message.iter().rev().copied().collect(),
            Operation::Hexlify => message.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)]).collect(),
        }
    }
}

fn digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'a' + nibble - 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(operation: &Operation, message: &[u8]) -> String {
        String::from_utf8_lossy(&Operation::Hexlify.apply(&operation.apply(message))).into_owned()
    }

    #[test]
    fn hashes_are_those_of_the_standards() {
        for (function, hash) in [
            (HashFunction::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (HashFunction::Ripemd160, "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"),
            (HashFunction::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (HashFunction::Keccak256, "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
        ] {
            assert_eq!(text(&Operation::Hash(function), b"abc"), hash, "{}", function.name());
            assert_eq!(hash.len(), function.length() * 2);
            assert_eq!(HashFunction::from_byte(function.byte()), Some(function));
        }
    }

    #[test]
    fn others_move_bytes() {
        for (operation, result) in [
            (Operation::Append(vec![9]), "0a0bff09"),
            (Operation::Prepend(vec![9, 8]), "09080a0bff"),
            (Operation::Reverse, "ff0b0a"),
            (Operation::Hexlify, "306130626666"),
        ] {
            assert_eq!(text(&operation, &[0x0a, 0x0b, 0xff]), result);
            assert_eq!(operation.result_length(3) * 2, result.len());
        }
    }

    #[test]
    fn their_order_is_that_of_their_bytes() {
        let mut all: Vec<Operation> = HashFunction::ALL.into_iter().map(Operation::Hash).collect();
        all.extend([Operation::Append(vec![2]), Operation::Append(vec![2, 0]), Operation::Append(vec![3])]);
        all.extend([Operation::Prepend(vec![1]), Operation::Reverse, Operation::Hexlify]);
        assert!(all.is_sorted() && all.is_sorted_by_key(Operation::byte));
    }
}
