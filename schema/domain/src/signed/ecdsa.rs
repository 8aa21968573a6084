//! The rules for ECDSA signatures and their keys.

use std::sync::LazyLock;

use bitcoin::secp256k1::{Message, PublicKey, Secp256k1, VerifyOnly, ecdsa::Signature};

use super::verdict::{Failure, InvalidReason};

pub(super) static SECP: LazyLock<Secp256k1<VerifyOnly>> = LazyLock::new(Secp256k1::verification_only);

/// SIGHASH_ALL, the only hash type that BIP 322 lets a signature have (taproot has its default too).
pub(super) const SIGHASH_ALL: u8 = 1;

/// A signature in a script by the required rules of BIP 322: strict DER, a low S, and SIGHASH_ALL.
pub(super) fn signature(bytes: &[u8]) -> Result<Signature, Failure> {
    // An empty signature is a way to say "not signed" (NULLFAIL).
    let (&hash_type, der) = bytes.split_last().ok_or(InvalidReason::Signature)?;
    if hash_type != SIGHASH_ALL {
        return Err(InvalidReason::HashType.into());
    }
    let signature = Signature::from_der(der).map_err(|_| InvalidReason::Encoding)?;
    let mut low = signature;
    low.normalize_s();
    // A signature has one strict encoding, so writing it again must give the bytes that were read.
    if low != signature || *signature.serialize_der() != *der {
        return Err(InvalidReason::Encoding.into());
    }
    Ok(signature)
}

/// True if bytes are encoded like a public key, compressed or not (STRICTENC, which excludes hybrid keys).
pub(super) fn is_encoded_key(bytes: &[u8]) -> bool {
    matches!((bytes.first(), bytes.len()), (Some(2 | 3), 33) | (Some(4), 65))
}

/// True if the key signed the message with this signature. False for keys that are not a point of the curve.
pub(super) fn signed(message: &Message, signature: &Signature, key: &[u8]) -> bool {
    PublicKey::from_slice(key).is_ok_and(|key| SECP.verify_ecdsa(message, signature, &key).is_ok())
}
