//! Keys on the curve for P2PK scripts.

use bitcoin::secp256k1::{Error, PublicKey, Secp256k1, SecretKey, SignOnly};

use super::random::spread;

/// Makes keys from numbers.
#[derive(Debug)]
pub(super) struct Keys {
    secp: Secp256k1<SignOnly>,
    seed: u64,
    known: Vec<PublicKey>,
}

impl Keys {
    /// Makes the first `count` keys at once.
    pub(super) fn new(seed: u64, count: usize) -> Result<Self, Error> {
        let mut keys = Self { secp: Secp256k1::signing_only(), seed: seed ^ 0x6b65_7973, known: Vec::new() };
        keys.known = (0..count as u64).map(|number| keys.make(number)).collect::<Result<_, _>>()?;
        Ok(keys)
    }

    fn make(&self, number: u64) -> Result<PublicKey, Error> {
        Ok(PublicKey::from_secret_key(&self.secp, &SecretKey::from_slice(&spread(self.seed, number))?))
    }

    /// Returns one of the first keys.
    pub(super) fn known(&self, index: usize) -> Option<PublicKey> {
        self.known.get(index).copied()
    }

    /// Makes the key of a number; `None` for the one number of about 2^128 that has none.
    pub(super) fn of(&self, number: u64) -> Option<PublicKey> {
        self.make(number).ok()
    }
}
