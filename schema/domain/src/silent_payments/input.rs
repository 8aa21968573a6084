//! The public key of an input: BIP 352, "Inputs For Shared Secret Derivation".

use bitcoin::{
    PubkeyHash, Script, ScriptBuf, TxIn, Witness, XOnlyPublicKey,
    hashes::Hash,
    secp256k1::{Parity, PublicKey},
};
use cairn_model::ScriptPrefix;

use super::output::output_key;

/// The point that nobody has a private key of (BIP 341): an output with this internal key can be spent by its scripts
/// only, so that the sender has no secret for its key.
const NOBODYS_KEY: [u8; 32] = [
    0x50, 0x92, 0x9b, 0x74, 0xc1, 0xa0, 0x49, 0x54, 0xb7, 0x8b, 0x4b, 0x60, 0x35, 0xe9, 0x7a, 0x5e, 0x07, 0x8a, 0x5a,
    0x0f, 0x28, 0xec, 0x96, 0xd5, 0x47, 0xbf, 0xee, 0x9a, 0xce, 0x80, 0x3a, 0xc0,
];

/// Length of a compressed public key in bytes.
const KEY_LENGTH: usize = 33;
/// First byte of an annex (BIP 341).
const ANNEX: u8 = 0x50;

/// How the hash of a P2PKH script is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyHash {
    /// From the script.
    Known([u8; 20]),
    /// By the script's prefix, of which this many bytes are used: an index knows a spent coin by it.
    Script(ScriptPrefix, usize),
}

impl KeyHash {
    fn is_of(&self, key: &[u8]) -> bool {
        let hash = PubkeyHash::hash(key);
        match self {
            KeyHash::Known(known) => *known == hash.to_byte_array(),
            KeyHash::Script(prefix, significant) => {
                *prefix == ScriptPrefix::of(ScriptBuf::new_p2pkh(&hash).as_bytes(), *significant)
            }
        }
    }
}

/// The scriptPubKey of a spent coin, as far as the input's public key depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpentScript {
    /// P2PKH.
    PubKeyHash(KeyHash),
    /// P2WPKH.
    WitnessKeyHash,
    /// P2SH.
    ScriptHash,
    /// P2TR, with the x coordinate of its output key.
    Taproot([u8; 32]),
    /// A witness program above version 1. A transaction that spends one has no tweak, since later rules may give its
    /// inputs keys that this version does not know.
    NewerWitness,
    /// One without a public key.
    Other,
}

impl SpentScript {
    /// From the whole script.
    #[must_use]
    pub fn of(script: &Script) -> Self {
        if let Some(key) = output_key(script) {
            return SpentScript::Taproot(key);
        }
        if script.is_p2wpkh() {
            return SpentScript::WitnessKeyHash;
        }
        if script.is_p2sh() {
            return SpentScript::ScriptHash;
        }
        if script.is_p2pkh() {
            let hash = script.as_bytes()[3..23].try_into();
            return hash.map_or(SpentScript::Other, |hash| SpentScript::PubKeyHash(KeyHash::Known(hash)));
        }
        match script.witness_version() {
            Some(version) if version.to_num() > 1 => SpentScript::NewerWitness,
            _ => SpentScript::Other,
        }
    }

    /// The public key of an input that spends a coin of this script; `None` if it takes no part.
    #[must_use]
    pub fn public_key(&self, input: &TxIn) -> Option<PublicKey> {
        match self {
            SpentScript::PubKeyHash(hash) => pushed_key(input.script_sig.as_bytes(), hash),
            SpentScript::WitnessKeyHash => witness_key(&input.witness),
            SpentScript::ScriptHash => {
                let redeem_script = Script::from_bytes(input.script_sig.as_bytes().get(1..)?);
                redeem_script.is_p2wpkh().then(|| witness_key(&input.witness)).flatten()
            }
            SpentScript::Taproot(key) => taproot_key(&input.witness, key),
            SpentScript::NewerWitness | SpentScript::Other => None,
        }
    }
}

fn compressed(bytes: &[u8]) -> Option<PublicKey> {
    if bytes.len() == KEY_LENGTH { PublicKey::from_slice(bytes).ok() } else { None }
}

/// The last bytes of a scriptSig that are the key of this hash: third parties can change the pushes before it.
fn pushed_key(script_sig: &[u8], hash: &KeyHash) -> Option<PublicKey> {
    let mut windows = script_sig.windows(KEY_LENGTH).rev();
    windows.find_map(|window| compressed(window).filter(|_| hash.is_of(window)))
}

fn witness_key(witness: &Witness) -> Option<PublicKey> {
    compressed(witness.last()?)
}

fn taproot_key(witness: &Witness, output_key: &[u8; 32]) -> Option<PublicKey> {
    let mut stack: Vec<&[u8]> = witness.iter().collect();
    let has_annex = stack.len() > 1 && stack.last().and_then(|last| last.first()) == Some(&ANNEX);
    if has_annex {
        stack.pop();
    }
    if stack.is_empty() {
        return None;
    }
    // With more than a signature, it is a script path: the last item is the control block.
    if stack.len() > 1 && stack.last().and_then(|control| control.get(1..33)) == Some(&NOBODYS_KEY) {
        return None;
    }
    let key = XOnlyPublicKey::from_slice(output_key).ok()?;
    Some(PublicKey::from_x_only_public_key(key, Parity::Even))
}
