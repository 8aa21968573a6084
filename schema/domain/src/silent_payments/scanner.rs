//! Searches tweaks with a scan key.

use std::{fmt, str::FromStr};

use bitcoin::{
    Network,
    hashes::{Hash, HashEngine, sha256t_hash_newtype},
    secp256k1::{PublicKey, Scalar, SecretKey, ecdh::shared_secret_point},
};

use super::{address::address, curve::SECP, output::OutputPrefix};

sha256t_hash_newtype! {
    struct SharedSecretTag = hash_str("BIP0352/SharedSecret");
    struct SharedSecretHash(_);
    struct LabelTag = hash_str("BIP0352/Label");
    struct LabelHash(_);
}

/// Labels of a scanner besides the one of change. Each adds a point addition to each tweak.
pub const MAX_LABELS: usize = 10;

/// A scanner cannot be made of these keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScannerError {
    /// The text does not have the form of a private key. It is not repeated.
    #[error("the scan key is not a private key of 64 hexadecimal digits")]
    NoScanKey,
    /// The text does not have the form of a public key.
    #[error("the spend key is not a compressed public key of 66 hexadecimal digits")]
    NoSpendKey,
    /// More labels than allowed.
    #[error("at most {MAX_LABELS} labels besides 0, which is that of change")]
    TooManyLabels,
    /// The sum of keys is the point at infinity. That happens only if somebody makes the keys for it.
    #[error("these keys have no silent payment address")]
    NoPoint,
}

/// A receiver's scan key, spend key and labels.
#[derive(Clone)]
pub struct Scanner {
    scan: SecretKey,
    spend: PublicKey,
    /// The label's number and its point, with that of change first.
    labels: Vec<(u32, PublicKey)>,
}

/// Shows no secret.
impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner").finish_non_exhaustive()
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        self.scan.non_secure_erase();
    }
}

impl Scanner {
    /// A scanner of keys in hexadecimal digits. `labels` as in [`Scanner::new`].
    pub fn read(scan: &str, spend: &str, labels: impl IntoIterator<Item = u32>) -> Result<Self, ScannerError> {
        let scan = SecretKey::from_str(scan).map_err(|_| ScannerError::NoScanKey)?;
        let spend = Some(spend).filter(|spend| spend.len() == 66).and_then(|spend| PublicKey::from_str(spend).ok());
        Scanner::new(scan, spend.ok_or(ScannerError::NoSpendKey)?, labels)
    }

    /// A scanner of these keys. `labels`: numbers of labels; 0, that of change, is always among them.
    pub fn new(scan: SecretKey, spend: PublicKey, labels: impl IntoIterator<Item = u32>) -> Result<Self, ScannerError> {
        let mut numbers: Vec<u32> = labels.into_iter().take(MAX_LABELS + 2).chain([0]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() > MAX_LABELS + 1 {
            return Err(ScannerError::TooManyLabels);
        }
        let point = |number: u32| {
            let mut engine = LabelHash::engine();
            engine.input(&scan.secret_bytes());
            engine.input(&number.to_be_bytes());
            let label = SecretKey::from_slice(&LabelHash::from_engine(engine).to_byte_array());
            label.map(|label| (number, label.public_key(&SECP))).map_err(|_| ScannerError::NoPoint)
        };
        let labels = numbers.into_iter().map(point).collect::<Result<_, _>>()?;
        Ok(Scanner { scan, spend, labels })
    }

    /// The address that senders pay to.
    #[must_use]
    pub fn address(&self, network: Network) -> String {
        address(network, &self.scan.public_key(&SECP), &self.spend)
    }

    /// Numbers of its labels, ascending.
    pub fn labels(&self) -> impl Iterator<Item = u32> {
        self.labels.iter().map(|(number, _)| *number)
    }

    /// Whether a transaction with this tweak pays the receiver with one of these P2TR outputs: the first of the outputs
    /// that it pays, whichever label it pays to, follows from the tweak alone. The multiplication by the scan key takes
    /// the same time for each key.
    #[must_use]
    pub fn finds(&self, tweak: &[u8; 33], outputs: &[OutputPrefix]) -> bool {
        let Ok(tweak) = PublicKey::from_slice(tweak) else { return false };
        let point = shared_secret_point(&tweak, &self.scan);
        let mut compressed = [0u8; 33];
        compressed[0] = 2 | (point[63] & 1);
        compressed[1..].copy_from_slice(&point[..32]);
        let mut engine = SharedSecretHash::engine();
        engine.input(&compressed);
        engine.input(&0u32.to_be_bytes());
        let hash = Scalar::from_be_bytes(SharedSecretHash::from_engine(engine).to_byte_array());
        let Some(first) = hash.ok().and_then(|hash| self.spend.add_exp_tweak(&SECP, &hash).ok()) else { return false };
        let is_paid =
            |key: &PublicKey| key.serialize()[1..].first_chunk().is_some_and(|prefix| outputs.contains(prefix));
        let with_label = |(_, label): &(u32, PublicKey)| first.combine(label).is_ok_and(|key| is_paid(&key));
        is_paid(&first) || self.labels.iter().any(with_label)
    }
}
