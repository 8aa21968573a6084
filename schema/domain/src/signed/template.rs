//! The scripts whose rules are known here, and the elements that satisfy them.

use bitcoin::{
    hashes::{Hash, hash160},
    secp256k1::Message,
};

use super::{
    ecdsa::{is_encoded_key, signature, signed},
    verdict::{Failure, InconclusiveReason, InvalidReason},
};

const OP_1: u8 = 0x51;
const OP_16: u8 = 0x60;
const OP_CHECKSIG: u8 = 0xac;
const OP_CHECKMULTISIG: u8 = 0xae;
/// Most keys that OP_CHECKMULTISIG takes.
const MAX_KEYS: usize = 20;

/// A script whose rules are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Template<'a> {
    /// `<key> OP_CHECKSIG`
    Key(&'a [u8]),
    /// `OP_DUP OP_HASH160 <hash> OP_EQUALVERIFY OP_CHECKSIG`
    KeyHash(&'a [u8]),
    /// `<required> <keys> <number of keys> OP_CHECKMULTISIG`
    Multisig {
        /// How many signatures it takes.
        required: usize,
        /// The keys, in the order of the script.
        keys: Vec<&'a [u8]>,
    },
}

impl<'a> Template<'a> {
    /// The template of a script; `None` if its rules are not known. Every push of a template is minimal (MINIMALDATA).
    pub(super) fn of(script: &'a [u8]) -> Option<Self> {
        match script {
            [0x76, 0xa9, 0x14, hash @ .., 0x88, OP_CHECKSIG] if hash.len() == 20 => Some(Template::KeyHash(hash)),
            [length, key @ .., OP_CHECKSIG] if usize::from(*length) == key.len() && is_encoded_key(key) => {
                Some(Template::Key(key))
            }
            [body @ .., OP_CHECKMULTISIG] => multisig(body),
            _ => None,
        }
    }

    /// Checks that a stack satisfies the script, and leaves nothing behind (CLEANSTACK).
    pub(super) fn check(&self, stack: &[&[u8]], message: &Message) -> Result<(), Failure> {
        match (self, stack) {
            (Template::Key(key), [by]) => check_one(message, by, key),
            (Template::KeyHash(hash), [by, key]) => {
                if hash160::Hash::hash(key).as_byte_array()[..] != **hash {
                    return Err(InvalidReason::NotOfAddress.into());
                }
                check_one(message, by, key)
            }
            // OP_CHECKMULTISIG takes one element more than it needs, which must be empty (BIP 147).
            (Template::Multisig { required, keys }, [[], by @ ..]) if by.len() == *required => {
                check_several(message, by, keys)
            }
            _ => Err(InvalidReason::Stack.into()),
        }
    }

    /// Checks that the keys are compressed, as in scripts of segwit. BIP 322 does not name the rule, but no node relays
    /// a spend that breaks it (WITNESS_PUBKEYTYPE).
    pub(super) fn check_compressed(&self, stack: &[&[u8]]) -> Result<(), Failure> {
        let is_compressed = |key: &[u8]| key.len() == 33;
        let all_compressed = match self {
            Template::Key(key) => is_compressed(key),
            Template::KeyHash(_) => stack.last().is_some_and(|key| is_compressed(key)),
            Template::Multisig { keys, .. } => keys.iter().all(|key| is_compressed(key)),
        };
        if all_compressed { Ok(()) } else { Err(InconclusiveReason::UncompressedKey.into()) }
    }
}

fn multisig(body: &[u8]) -> Option<Template<'_>> {
    let (required, mut rest) = number(body)?;
    let mut keys = Vec::new();
    while let [length @ (33 | 65), after @ ..] = rest {
        let (key, after) = after.split_at_checked(usize::from(*length))?;
        if !is_encoded_key(key) || keys.len() == MAX_KEYS {
            return None;
        }
        keys.push(key);
        rest = after;
    }
    let (total, rest) = number(rest)?;
    let fits = rest.is_empty() && total == keys.len() && required <= total;
    fits.then_some(Template::Multisig { required, keys })
}

/// A number from 1 to 20 in its shortest form, and the rest of the script. A multisig of no signature proves nothing.
fn number(script: &[u8]) -> Option<(usize, &[u8])> {
    match script {
        [op @ OP_1..=OP_16, rest @ ..] => Some((usize::from(op - OP_1) + 1, rest)),
        [1, value @ 17..=20, rest @ ..] => Some((usize::from(*value), rest)),
        _ => None,
    }
}

fn check_one(message: &Message, by: &[u8], key: &[u8]) -> Result<(), Failure> {
    if !is_encoded_key(key) {
        return Err(InvalidReason::PublicKey.into());
    }
    if signed(message, &signature(by)?, key) { Ok(()) } else { Err(InvalidReason::Signature.into()) }
}

/// The signatures stand in the order of their keys. At most one check for each key.
fn check_several(message: &Message, by: &[&[u8]], keys: &[&[u8]]) -> Result<(), Failure> {
    let mut left = keys.iter();
    for one in by {
        let one = signature(one)?;
        if !left.any(|key| signed(message, &one, key)) {
            return Err(InvalidReason::Signature.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_known(hex_text: &str) -> bool {
        Template::of(&hex::decode(hex_text).unwrap()).is_some()
    }

    #[test]
    fn scripts_with_known_rules() {
        let key = format!("2102{}", "11".repeat(32));
        let long = format!("4104{}", "22".repeat(64));
        assert!(is_known(&format!("{key}ac")));
        assert!(is_known(&format!("{long}ac")));
        assert!(!is_known(&format!("4106{}ac", "22".repeat(64))));
        assert!(!is_known(&format!("{key}ad")));
        assert!(is_known(&format!("76a914{}88ac", "33".repeat(20))));
        assert!(!is_known(&format!("76a914{}88ac", "33".repeat(19))));
        assert!(is_known(&format!("51{key}{long}52ae")));
        assert!(is_known(&format!("60{}0114ae", key.repeat(20))));
        assert!(!is_known(&format!("60{}0115ae", key.repeat(21))));
        assert!(!is_known(&format!("0102{}52ae", key.repeat(2))));
        assert!(!is_known(&format!("00{key}51ae")));
        assert!(!is_known(&format!("52{key}51ae")));
        assert!(!is_known(&format!("51{key}52ae")));
        assert!(!is_known(&format!("51{key}51ab51ae")));
        for none in ["", "ac", "ae", "51ae", "5151ae", "21ac"] {
            assert!(!is_known(none), "{none}");
        }
    }
}
