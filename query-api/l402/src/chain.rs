//! The hashes of macaroons: a chain of HMAC-SHA256, each result being the key of the next one.

use hmac::{
    Hmac, Mac,
    digest::{KeyInit, generic_array::GenericArray},
};
use sha2::{Digest, Sha256};

pub(crate) type Hash = [u8; 32];

/// Bytes of a block of SHA-256: HMAC pads shorter keys to it with zeros.
const BLOCK_BYTES: usize = 64;

/// The key from which libmacaroons, go-macaroon and pymacaroons derive the first key of the chain.
const KEY_GENERATOR: &[u8] = b"macaroons-key-generator";

/// Derives the first key of the chain from a root key of any length.
pub(crate) fn derived_key(secret: &[u8]) -> Hash {
    hmac(KEY_GENERATOR, secret)
}

pub(crate) fn next_link(link: &Hash, message: &[u8]) -> Hash {
    hmac(link, message)
}

/// Computes SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// Computes HMAC-SHA256. The key has at most one block.
fn hmac(key: &[u8], message: &[u8]) -> Hash {
    let mut block = [0u8; BLOCK_BYTES];
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut hmac = <Hmac<Sha256> as KeyInit>::new(&GenericArray::from(block));
    hmac.update(message);
    hmac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test cases 1 and 2: keys of 20 and of 4 bytes.
    #[test]
    fn hmacs_are_those_of_rfc_4231() {
        let hex_of = |key: &[u8], message: &[u8]| hex::encode(hmac(key, message));
        assert_eq!(
            hex_of(&[0x0b; 20], b"Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            hex_of(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
