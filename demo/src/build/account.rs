//! Derives keys from the seed of a keyring: by index, or as a wallet does (BIP 32, BIP 84).

use bitcoin::NetworkKind;
use bitcoin::bip32::{ChildNumber, Xpriv, Xpub};
use bitcoin::hashes::{Hash, HashEngine, sha256};
use bitcoin::key::Keypair;
use bitcoin::secp256k1::{All, Secp256k1};

use crate::error::Error;

/// Purpose of BIP 84, the first step of its paths.
const PURPOSE: u32 = 84;
/// Coin type of test networks (SLIP 44).
const TEST_COIN: u32 = 1;

/// A key of a wallet of test networks: `m/84'/1'/account'/branch/index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bip84Key {
    /// Number of the account.
    pub account: u32,
    /// 0 for addresses to receive at, 1 for change.
    pub branch: u32,
    /// Number of the address in its branch.
    pub index: u32,
}

/// Identifies a key of a keyring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum KeyId {
    Index(u32),
    Bip84(Bip84Key),
}

impl From<u32> for KeyId {
    fn from(index: u32) -> Self {
        KeyId::Index(index)
    }
}

impl From<Bip84Key> for KeyId {
    fn from(key: Bip84Key) -> Self {
        KeyId::Bip84(key)
    }
}

/// Derives a key.
pub(super) fn pair(secp: &Secp256k1<All>, seed: u64, key: KeyId) -> Result<Keypair, Error> {
    match key {
        KeyId::Index(index) => {
            let bytes = hashed(&[b"cairn chaingen key", &seed.to_le_bytes(), &index.to_le_bytes()]);
            Ok(Keypair::from_seckey_slice(secp, &bytes)?)
        }
        KeyId::Bip84(Bip84Key { account, branch, index }) => {
            let path = [ChildNumber::from_normal_idx(branch)?, ChildNumber::from_normal_idx(index)?];
            Ok(secret_key(secp, seed, account)?.derive_priv(secp, &path)?.to_keypair(secp))
        }
    }
}

/// Derives the extended public key of an account.
pub(super) fn public_key(secp: &Secp256k1<All>, seed: u64, account: u32) -> Result<Xpub, Error> {
    Ok(Xpub::from_priv(secp, &secret_key(secp, seed, account)?))
}

fn secret_key(secp: &Secp256k1<All>, seed: u64, account: u32) -> Result<Xpriv, Error> {
    let master = Xpriv::new_master(NetworkKind::Test, &hashed(&[b"cairn chaingen wallet", &seed.to_le_bytes()]))?;
    let mut path = [ChildNumber::from_hardened_idx(PURPOSE)?; 3];
    path[1] = ChildNumber::from_hardened_idx(TEST_COIN)?;
    path[2] = ChildNumber::from_hardened_idx(account)?;
    Ok(master.derive_priv(secp, &path)?)
}

fn hashed(parts: &[&[u8]]) -> [u8; 32] {
    let mut engine = sha256::Hash::engine();
    for part in parts {
        engine.input(part);
    }
    sha256::Hash::from_engine(engine).to_byte_array()
}

#[cfg(test)]
mod tests {
    use bitcoin::{CompressedPublicKey, Network};

    use super::*;
    use crate::build::{Keyring, Lock};

    /// The account's public key alone derives the addresses, as a watch-only wallet does.
    #[test]
    fn the_account_key_derives_the_addresses() {
        let mut ring = Keyring::new(3);
        let account = ring.account_key(7).unwrap();
        assert_eq!((account.depth, account.child_number), (3, ChildNumber::from_hardened_idx(7).unwrap()));
        assert!(account.to_string().starts_with("tpub"));
        let secp = Secp256k1::new();
        for (branch, index) in [(0, 0), (0, 19), (1, 3)] {
            let path = [branch, index].map(|step| ChildNumber::from_normal_idx(step).unwrap());
            let key = CompressedPublicKey(account.derive_pub(&secp, &path).unwrap().public_key);
            let expected = bitcoin::Address::p2wpkh(&key, Network::Regtest);
            let found = ring.address(&Lock::Bip84(Bip84Key { account: 7, branch, index })).unwrap();
            assert_eq!(found, Some(expected));
        }
        assert_ne!(Keyring::new(4).account_key(7).unwrap(), account);
        assert!(ring.account_key(1 << 31).is_err());
    }
}
