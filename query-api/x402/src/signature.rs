//! ECDSA signatures of transfers, and the account that they recover to.

use std::{fmt, sync::LazyLock};

use bitcoin::secp256k1::{
    Message, Secp256k1, VerifyOnly,
    ecdsa::{RecoverableSignature, RecoveryId},
};
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::{address::Address, keccak::Word};

/// Bytes of the signature of an account that has a key: r, s, v.
const KEY_SIGNATURE_BYTES: usize = 65;
/// Half of the order of the curve. Of the two values of s that are valid, tokens take the lower one only.
const HALF_ORDER: Word = [
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57, 0x6e,
    0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
];

static SECP: LazyLock<Secp256k1<VerifyOnly>> = LazyLock::new(Secp256k1::verification_only);

/// A signature as the client sends it. Anyone who has it can carry out the transfer, so Debug shows its length only.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Signature(Vec<u8>);

/// A signature of 65 bytes that proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SignatureError {
    /// Its last byte is wrong.
    #[error("the last byte of the signature is {0}; it must be 27 or 28")]
    RecoveryId(u8),
    /// It is the higher of two.
    #[error("s of the signature is above half of the curve's order; tokens refuse such signatures; use the lower s")]
    HighS,
    /// No key has made it.
    #[error("the signature is not valid: no key has made it; sign again")]
    Invalid,
}

impl TryFrom<String> for Signature {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = text.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
        let bytes = bytes.filter(|bytes| !bytes.is_empty());
        bytes.map(Signature).ok_or("this is not a signature; expected 0x and an even number of hex digits")
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({} bytes)", self.0.len())
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("0x{}", hex::encode(&self.0)))
    }
}

impl Signature {
    #[must_use]
    pub(crate) fn length(&self) -> usize {
        self.0.len()
    }

    /// Returns true if it has the form of a signature by a key; other forms are those of contract wallets.
    pub(crate) fn is_of_key(&self) -> bool {
        self.0.len() == KEY_SIGNATURE_BYTES
    }

    /// Returns the same signature with v as tokens take it (27 or 28), for v 0 or 1 as some hardware wallets send it.
    pub(crate) fn with_token_v(mut self) -> Self {
        if self.is_of_key()
            && let Some(v @ (0 | 1)) = self.0.last_mut()
        {
            *v += 27;
        }
        self
    }

    pub(crate) fn recover(&self, hash: Word) -> Result<Address, SignatureError> {
        let Some((numbers, [v])) = self.0.split_first_chunk::<64>() else {
            return Err(SignatureError::Invalid);
        };
        if !matches!(v, 27 | 28) {
            return Err(SignatureError::RecoveryId(*v));
        }
        let (_, s) = numbers.split_at(32);
        if s > HALF_ORDER.as_slice() {
            return Err(SignatureError::HighS);
        }
        let recover = || {
            let id = RecoveryId::from_i32(i32::from(*v) - 27)?;
            let signature = RecoverableSignature::from_compact(numbers, id)?;
            SECP.recover_ecdsa(&Message::from_digest(hash), &signature)
        };
        let key = recover().map_err(|_| SignatureError::Invalid)?.serialize_uncompressed();
        Ok(Address::from_key(key.get(1..).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature of EIP-712's example (github.com/ethereum/EIPs, assets/eip-712/Example.js) and its signer.
    #[test]
    fn example_of_eip712() {
        let hash = hex::decode("be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2").unwrap();
        let (r, s) = (
            "4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d",
            "07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562",
        );
        let signature = Signature::try_from(format!("0x{r}{s}1c")).unwrap();
        let signer = signature.recover(hash.try_into().unwrap()).unwrap();
        assert_eq!(signer.to_string(), "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826");
    }

    #[test]
    fn half_of_the_order_is_still_low() {
        let of = |s: &[u8]| Signature([&[1; 32], s, &[27]].concat()).recover([1; 32]);
        assert_ne!(of(&HALF_ORDER), Err(SignatureError::HighS));
        let mut above = HALF_ORDER;
        above[31] += 1;
        assert_eq!(of(&above), Err(SignatureError::HighS));
        for text in ["", "0x", "0x0", "0xzz", "00"] {
            assert!(Signature::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
