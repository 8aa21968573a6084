//! Keys derived from a seed, the scripts they lock, and signing.

use std::collections::HashMap;

use bitcoin::bip32::Xpub;
use bitcoin::hashes::Hash;
use bitcoin::key::{Keypair, TapTweak, UntweakedPublicKey};
use bitcoin::script::{Builder, ScriptBuf};
use bitcoin::secp256k1::{self, All, Message, Secp256k1};
use bitcoin::sighash::{EcdsaSighashType, Prevouts, SighashCache, TapSighashType};
use bitcoin::taproot::{LeafVersion, TapLeafHash, TaprootBuilder, TaprootSpendInfo};
use bitcoin::{Amount, Network, Script, Transaction, TxOut, Witness};

use super::account::{self, KeyId};
use super::lock::{KeyForm, Lock, checksig_script, multisig_script, push_bytes};
use crate::error::Error;

/// Keys derived from a seed, by index or by their path in a wallet, and every lock that was made with them.
///
/// Signing looks the spent script up here, so a coin needs no further bookkeeping to be spent.
#[derive(Debug)]
pub struct Keyring {
    secp: Secp256k1<All>,
    seed: u64,
    keys: HashMap<KeyId, Keypair>,
    locks: HashMap<ScriptBuf, Lock>,
}

/// The data that unlocks one input.
struct Unlock {
    script_sig: ScriptBuf,
    witness: Witness,
}

impl Keyring {
    /// A keyring whose keys depend only on the seed.
    pub fn new(seed: u64) -> Self {
        Self { secp: Secp256k1::new(), seed, keys: HashMap::new(), locks: HashMap::new() }
    }

    /// Makes the scriptPubKey of a lock and remembers how to spend it.
    pub fn script(&mut self, lock: &Lock) -> Result<ScriptBuf, Error> {
        for key in keys_of(lock) {
            self.derive(key)?;
        }
        let script = match lock {
            Lock::P2pk { key, form } => checksig_script(&self.public(*key, *form)?),
            Lock::P2pkh { key, form } => ScriptBuf::new_p2pkh(&bitcoin::PubkeyHash::hash(&self.public(*key, *form)?)),
            Lock::BareMultisig { needed, keys, form } => self.multisig(*needed, keys, *form)?,
            Lock::P2shMultisig { needed, keys, form } => {
                ScriptBuf::new_p2sh(&self.multisig(*needed, keys, *form)?.script_hash())
            }
            Lock::P2shP2wpkh { key } => ScriptBuf::new_p2sh(&self.p2wpkh(*key)?.script_hash()),
            Lock::P2shP2wsh { needed, keys } => {
                ScriptBuf::new_p2sh(&self.multisig(*needed, keys, KeyForm::Compressed)?.to_p2wsh().script_hash())
            }
            Lock::P2wpkh { key } => self.p2wpkh(*key)?,
            Lock::Bip84(key) => self.p2wpkh(*key)?,
            Lock::P2wsh { needed, keys } => self.multisig(*needed, keys, KeyForm::Compressed)?.to_p2wsh(),
            Lock::P2trKey { key } => ScriptBuf::new_p2tr(&self.secp, self.xonly(*key)?, None),
            Lock::P2trScript { internal, leaves } => {
                let info = self.taproot(*internal, leaves)?;
                ScriptBuf::new_p2tr_tweaked(info.output_key())
            }
            Lock::Open { script, .. } => script.clone(),
        };
        if !self.locks.contains_key(&script) {
            self.locks.insert(script.clone(), lock.clone());
        }
        Ok(script)
    }

    /// Makes the regtest address of a lock and remembers how to spend it; none if the script has no address form.
    pub fn address(&mut self, lock: &Lock) -> Result<Option<bitcoin::Address>, Error> {
        let script = self.script(lock)?;
        Ok(bitcoin::Address::from_script(&script, Network::Regtest).ok())
    }

    /// Whether this keyring can spend outputs with this script.
    pub fn knows(&self, script: &Script) -> bool {
        self.locks.contains_key(script)
    }

    /// How outputs with this script are locked, if this keyring can spend them.
    pub fn lock(&self, script: &Script) -> Option<&Lock> {
        self.locks.get(script)
    }

    /// Signs every input. `spent` are the outputs being spent, in input order; `sighash` chooses the type of each
    /// input's signatures. SIGHASH_SINGLE on an input without its own output falls back to SIGHASH_ALL.
    ///
    /// # Errors
    /// Returns [`Error::UnknownScript`] for a script not made here; [`Error::Sighash`] if `spent` does not match the
    /// inputs.
    pub fn sign(
        &self,
        tx: &mut Transaction,
        spent: &[TxOut],
        sighash: impl Fn(usize) -> EcdsaSighashType,
    ) -> Result<(), Error> {
        if spent.len() != tx.input.len() {
            return Err(Error::Sighash("count of spent outputs".to_owned()));
        }
        let mut unlocks = Vec::with_capacity(spent.len());
        {
            let mut cache = SighashCache::new(&*tx);
            for (index, txout) in spent.iter().enumerate() {
                let mut kind = sighash(index);
                if kind.is_single() && index >= tx.output.len() {
                    kind = EcdsaSighashType::All;
                }
                let lock = self
                    .locks
                    .get(&txout.script_pubkey)
                    .ok_or_else(|| Error::UnknownScript(txout.script_pubkey.clone()))?;
                let mut signer = Signer { ring: self, cache: &mut cache, spent, index, kind };
                unlocks.push(signer.unlock(lock, txout.value)?);
            }
        }
        for (input, unlock) in tx.input.iter_mut().zip(unlocks) {
            input.script_sig = unlock.script_sig;
            input.witness = unlock.witness;
        }
        Ok(())
    }

    /// Returns the extended public key of a BIP 84 account of test networks, `m/84'/1'/account'`. It derives the keys
    /// of all locks [`Lock::Bip84`] of this account.
    ///
    /// # Errors
    /// Fails if the number of the account is 2^31 or higher.
    pub fn account_key(&self, account: u32) -> Result<Xpub, Error> {
        account::public_key(&self.secp, self.seed, account)
    }

    fn derive(&mut self, key: KeyId) -> Result<(), Error> {
        if !self.keys.contains_key(&key) {
            self.keys.insert(key, account::pair(&self.secp, self.seed, key)?);
        }
        Ok(())
    }

    fn pair(&self, key: impl Into<KeyId>) -> Result<&Keypair, Error> {
        self.keys.get(&key.into()).ok_or(Error::Key(secp256k1::Error::InvalidSecretKey))
    }

    fn public(&self, key: impl Into<KeyId>, form: KeyForm) -> Result<Vec<u8>, Error> {
        let key = self.pair(key)?.public_key();
        Ok(match form {
            KeyForm::Compressed => key.serialize().to_vec(),
            KeyForm::Uncompressed => key.serialize_uncompressed().to_vec(),
            KeyForm::Hybrid => {
                let mut bytes = key.serialize_uncompressed().to_vec();
                // 06 for an even, 07 for an odd y coordinate.
                bytes[0] = 6 + (bytes[64] & 1);
                bytes
            }
        })
    }

    fn xonly(&self, index: u32) -> Result<UntweakedPublicKey, Error> {
        Ok(self.pair(index)?.x_only_public_key().0)
    }

    fn p2wpkh(&self, key: impl Into<KeyId>) -> Result<ScriptBuf, Error> {
        let key = self.public(key, KeyForm::Compressed)?;
        Ok(ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::hash(&key)))
    }

    fn multisig(&self, needed: u8, keys: &[u32], form: KeyForm) -> Result<ScriptBuf, Error> {
        let keys = keys.iter().map(|key| self.public(*key, form)).collect::<Result<Vec<_>, _>>()?;
        Ok(multisig_script(needed, &keys))
    }

    fn leaf(&self, key: u32) -> Result<ScriptBuf, Error> {
        Ok(checksig_script(&self.xonly(key)?.serialize()))
    }

    fn taproot(&self, internal: u32, leaves: &[u32; 2]) -> Result<TaprootSpendInfo, Error> {
        let tree = |error: bitcoin::taproot::TaprootBuilderError| Error::Sighash(error.to_string());
        TaprootBuilder::new()
            .add_leaf(1, self.leaf(leaves[0])?)
            .map_err(tree)?
            .add_leaf(1, self.leaf(leaves[1])?)
            .map_err(tree)?
            .finalize(&self.secp, self.xonly(internal)?)
            .map_err(|_| Error::Sighash("taproot tree is incomplete".to_owned()))
    }
}

/// Returns the keys that a lock refers to.
fn keys_of(lock: &Lock) -> Vec<KeyId> {
    let indexes = match lock {
        Lock::P2pk { key, .. }
        | Lock::P2pkh { key, .. }
        | Lock::P2shP2wpkh { key }
        | Lock::P2wpkh { key }
        | Lock::P2trKey { key } => std::slice::from_ref(key),
        Lock::BareMultisig { keys, .. }
        | Lock::P2shMultisig { keys, .. }
        | Lock::P2shP2wsh { keys, .. }
        | Lock::P2wsh { keys, .. } => keys,
        Lock::P2trScript { internal, leaves } => return [*internal, leaves[0], leaves[1]].map(KeyId::Index).to_vec(),
        Lock::Bip84(key) => return vec![KeyId::Bip84(*key)],
        Lock::Open { .. } => &[],
    };
    indexes.iter().copied().map(KeyId::Index).collect()
}

/// Signs one input.
struct Signer<'a, 'tx> {
    ring: &'a Keyring,
    cache: &'a mut SighashCache<&'tx Transaction>,
    spent: &'a [TxOut],
    index: usize,
    kind: EcdsaSighashType,
}

impl Signer<'_, '_> {
    fn unlock(&mut self, lock: &Lock, value: Amount) -> Result<Unlock, Error> {
        let ring = self.ring;
        let (script_sig, witness) = match lock {
            Lock::P2pk { key, form } => {
                let signature = self.legacy(*key, &checksig_script(&ring.public(*key, *form)?))?;
                (pushes(&[signature]), Witness::new())
            }
            Lock::P2pkh { key, form } => {
                let public = ring.public(*key, *form)?;
                let script = ScriptBuf::new_p2pkh(&bitcoin::PubkeyHash::hash(&public));
                (pushes(&[self.legacy(*key, &script)?, public]), Witness::new())
            }
            Lock::BareMultisig { needed, keys, form } => {
                let script = ring.multisig(*needed, keys, *form)?;
                (pushes(&self.legacy_multisig(*needed, keys, &script)?), Witness::new())
            }
            Lock::P2shMultisig { needed, keys, form } => {
                let script = ring.multisig(*needed, keys, *form)?;
                let mut items = self.legacy_multisig(*needed, keys, &script)?;
                items.push(script.into_bytes());
                (pushes(&items), Witness::new())
            }
            Lock::P2shP2wpkh { key } => {
                let redeem = ring.p2wpkh(*key)?;
                (pushes(&[redeem.into_bytes()]), self.witness_key(*key, value)?)
            }
            Lock::P2shP2wsh { needed, keys } => {
                let script = ring.multisig(*needed, keys, KeyForm::Compressed)?;
                let redeem = script.to_p2wsh().into_bytes();
                (pushes(&[redeem]), self.witness_multisig(*needed, keys, &script, value)?)
            }
            Lock::P2wpkh { key } => (ScriptBuf::new(), self.witness_key(*key, value)?),
            Lock::Bip84(key) => (ScriptBuf::new(), self.witness_key(*key, value)?),
            Lock::P2wsh { needed, keys } => {
                let script = ring.multisig(*needed, keys, KeyForm::Compressed)?;
                (ScriptBuf::new(), self.witness_multisig(*needed, keys, &script, value)?)
            }
            Lock::P2trKey { key } => {
                let pair = ring.pair(*key)?.tap_tweak(&ring.secp, None).to_keypair();
                let signature = self.schnorr(&pair, None)?;
                (ScriptBuf::new(), Witness::from_slice(&[signature]))
            }
            Lock::P2trScript { internal, leaves } => {
                let leaf = ring.leaf(leaves[0])?;
                let control = ring
                    .taproot(*internal, leaves)?
                    .control_block(&(leaf.clone(), LeafVersion::TapScript))
                    .ok_or_else(|| Error::Sighash("taproot leaf".to_owned()))?;
                let hash = TapLeafHash::from_script(&leaf, LeafVersion::TapScript);
                let signature = self.schnorr(ring.pair(leaves[0])?, Some(hash))?;
                (ScriptBuf::new(), Witness::from_slice(&[signature, leaf.into_bytes(), control.serialize()]))
            }
            Lock::Open { script_sig, witness, .. } => (script_sig.clone(), witness.clone()),
        };
        Ok(Unlock { script_sig, witness })
    }

    fn ecdsa(&self, key: impl Into<KeyId>, hash: [u8; 32]) -> Result<Vec<u8>, Error> {
        let message = Message::from_digest(hash);
        let signature = self.ring.secp.sign_ecdsa(&message, &self.ring.pair(key)?.secret_key());
        Ok(bitcoin::ecdsa::Signature { signature, sighash_type: self.kind }.to_vec())
    }

    fn legacy(&self, key: u32, script: &Script) -> Result<Vec<u8>, Error> {
        let hash = self
            .cache
            .legacy_signature_hash(self.index, script, self.kind.to_u32())
            .map_err(|error| Error::Sighash(error.to_string()))?;
        self.ecdsa(key, hash.to_byte_array())
    }

    fn legacy_multisig(&self, needed: u8, keys: &[u32], script: &Script) -> Result<Vec<Vec<u8>>, Error> {
        let mut items = vec![Vec::new()];
        for key in keys.iter().take(usize::from(needed)) {
            items.push(self.legacy(*key, script)?);
        }
        Ok(items)
    }

    fn witness_key(&mut self, key: impl Into<KeyId>, value: Amount) -> Result<Witness, Error> {
        let key = key.into();
        let hash = self
            .cache
            .p2wpkh_signature_hash(self.index, &self.ring.p2wpkh(key)?, value, self.kind)
            .map_err(|error| Error::Sighash(error.to_string()))?;
        let signature = self.ecdsa(key, hash.to_byte_array())?;
        Ok(Witness::from_slice(&[signature, self.ring.public(key, KeyForm::Compressed)?]))
    }

    fn witness_multisig(&mut self, needed: u8, keys: &[u32], script: &Script, value: Amount) -> Result<Witness, Error> {
        let hash = self
            .cache
            .p2wsh_signature_hash(self.index, script, value, self.kind)
            .map_err(|error| Error::Sighash(error.to_string()))?
            .to_byte_array();
        let mut items = vec![Vec::new()];
        for key in keys.iter().take(usize::from(needed)) {
            items.push(self.ecdsa(*key, hash)?);
        }
        items.push(script.to_bytes());
        Ok(Witness::from_slice(&items))
    }

    /// A Schnorr signature without auxiliary randomness, so that equal seeds make equal blocks.
    fn schnorr(&mut self, pair: &Keypair, leaf: Option<TapLeafHash>) -> Result<Vec<u8>, Error> {
        use EcdsaSighashType as E;
        let sighash_type = match self.kind {
            // Both spellings of "everything": the implicit one (64 bytes) and the explicit one (65).
            E::All if self.index % 4 == 3 => TapSighashType::All,
            E::All => TapSighashType::Default,
            E::None => TapSighashType::None,
            E::Single => TapSighashType::Single,
            E::AllPlusAnyoneCanPay => TapSighashType::AllPlusAnyoneCanPay,
            E::NonePlusAnyoneCanPay => TapSighashType::NonePlusAnyoneCanPay,
            E::SinglePlusAnyoneCanPay => TapSighashType::SinglePlusAnyoneCanPay,
        };
        let prevouts = Prevouts::All(self.spent);
        let hash = match leaf {
            None => self.cache.taproot_key_spend_signature_hash(self.index, &prevouts, sighash_type),
            Some(leaf) => self.cache.taproot_script_spend_signature_hash(self.index, &prevouts, leaf, sighash_type),
        }
        .map_err(|error| Error::Sighash(error.to_string()))?;
        let signature = self.ring.secp.sign_schnorr_no_aux_rand(&Message::from_digest(hash.to_byte_array()), pair);
        Ok(bitcoin::taproot::Signature { signature, sighash_type }.to_vec())
    }
}

/// A scriptSig that pushes each item; an empty item is OP_0.
fn pushes(items: &[Vec<u8>]) -> ScriptBuf {
    let mut builder = Builder::new();
    for item in items {
        builder = builder.push_slice(push_bytes(item));
    }
    builder.into_script()
}
