//! Keccak-256, the hash of Ethereum.

use tiny_keccak::{Hasher, Keccak};

/// A hash, or a word of EIP-712.
pub(crate) type Word = [u8; 32];

/// Returns the hash of the parts, one after another.
pub(crate) fn keccak256(parts: &[&[u8]]) -> Word {
    let mut keccak = Keccak::v256();
    for part in parts {
        keccak.update(part);
    }
    let mut hash = [0; 32];
    keccak.finalize(&mut hash);
    hash
}
