//! One sequence of scripts.

use std::sync::LazyLock;

use bitcoin::{
    ScriptBuf, XOnlyPublicKey,
    bip32::DerivationPath,
    key::TweakedPublicKey,
    secp256k1::{Secp256k1, VerifyOnly},
};
use miniscript::{
    Descriptor, DescriptorPublicKey,
    descriptor::{DescriptorXKey, Wildcard},
    translate_hash_clone,
};

use crate::refusal::Refusal;

static SECP: LazyLock<Secp256k1<VerifyOnly>> = LazyLock::new(Secp256k1::verification_only);

/// Index above the last one that is not hardened.
const HARDENED: u32 = 1 << 31;

/// A sequence of scripts, one for each index; or a single script.
#[derive(Clone, Debug)]
pub struct Branch {
    source: Source,
    step: Option<u32>,
    has_wildcard: bool,
}

/// What makes the scripts.
#[derive(Clone, Debug)]
enum Source {
    Fixed(ScriptBuf),
    Descriptor(Descriptor<DescriptorPublicKey>),
    /// Taproot, with the key as it is.
    RawTr(DescriptorPublicKey),
}

impl Branch {
    pub(crate) fn fixed(script: ScriptBuf) -> Self {
        Branch { source: Source::Fixed(script), step: None, has_wildcard: false }
    }

    /// Of a descriptor without alternatives.
    pub(crate) fn of(descriptor: Descriptor<DescriptorPublicKey>) -> Result<Self, Refusal> {
        let mut step = None;
        for key in descriptor.iter_pk() {
            check(&key)?;
            step = step.or(last_step(&key));
        }
        Ok(Branch { step, has_wildcard: descriptor.has_wildcard(), source: Source::Descriptor(descriptor) })
    }

    /// `rawtr` of a key without alternatives.
    pub(crate) fn of_output_key(key: DescriptorPublicKey) -> Result<Self, Refusal> {
        check(&key)?;
        Ok(Branch { step: last_step(&key), has_wildcard: key.has_wildcard(), source: Source::RawTr(key) })
    }

    /// True if it has a script for each index; otherwise it has one only, that of 0.
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        self.has_wildcard
    }

    /// The last step of the path before the index: by BIP 44, 0 are the addresses to receive with, and 1 those for change. `None`
    /// without a path.
    #[must_use]
    pub fn step(&self) -> Option<u32> {
        self.step
    }

    /// Takes the steps before the index once, not for each script: a multiplication on the curve for each step of each key.
    ///
    /// # Errors
    /// A step cannot be taken: there is none in 2^127 keys.
    pub fn prepared(self) -> Result<Self, Refusal> {
        let source = match self.source {
            Source::Descriptor(descriptor) => {
                Source::Descriptor(descriptor.translate_pk(&mut Shortened).map_err(|_| Refusal::Unknown)?)
            }
            Source::RawTr(key) => Source::RawTr(shortened(&key)),
            fixed @ Source::Fixed(_) => fixed,
        };
        Ok(Branch { source, ..self })
    }

    /// The script of an index, as an output has it: a multiplication on the curve for each key, if prepared.
    ///
    /// # Errors
    /// The index is 2^31 or more.
    pub fn script(&self, index: u32) -> Result<ScriptBuf, Refusal> {
        if index >= HARDENED {
            return Err(Refusal::Hardened);
        }
        match &self.source {
            Source::Fixed(script) => Ok(script.clone()),
            Source::Descriptor(descriptor) => {
                let derived = descriptor.derived_descriptor(&*SECP, index).map_err(|_| Refusal::Hardened)?;
                Ok(derived.script_pubkey())
            }
            Source::RawTr(key) => {
                let definite = key.clone().at_derivation_index(index).map_err(|_| Refusal::Hardened)?;
                let key = XOnlyPublicKey::from(definite.derive_public_key(&*SECP).inner);
                Ok(ScriptBuf::new_p2tr_tweaked(TweakedPublicKey::dangerous_assume_tweaked(key)))
            }
        }
    }
}

/// Only steps that public keys can take.
fn check(key: &DescriptorPublicKey) -> Result<(), Refusal> {
    let is_hardened = key.has_hardened_step() || key.wildcard() == Some(Wildcard::Hardened);
    if is_hardened { Err(Refusal::Hardened) } else { Ok(()) }
}

fn last_step(key: &DescriptorPublicKey) -> Option<u32> {
    let DescriptorPublicKey::XPub(key) = key else { return None };
    key.derivation_path.into_iter().last().map(|step| u32::from(*step))
}

/// Takes the steps before the index once, not for each script.
struct Shortened;

impl miniscript::Translator<DescriptorPublicKey> for Shortened {
    type TargetPk = DescriptorPublicKey;
    type Error = core::convert::Infallible;

    fn pk(&mut self, key: &DescriptorPublicKey) -> Result<DescriptorPublicKey, Self::Error> {
        Ok(shortened(key))
    }

    translate_hash_clone!(DescriptorPublicKey);
}

fn shortened(key: &DescriptorPublicKey) -> DescriptorPublicKey {
    let DescriptorPublicKey::XPub(extended) = key else { return key.clone() };
    match extended.xkey.derive_pub(&*SECP, &extended.derivation_path) {
        Ok(xkey) if extended.wildcard != Wildcard::None => DescriptorPublicKey::XPub(DescriptorXKey {
            origin: None,
            xkey,
            derivation_path: DerivationPath::default(),
            wildcard: extended.wildcard,
        }),
        _ => key.clone(),
    }
}
