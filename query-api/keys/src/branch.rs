//! One sequence of scripts.

use std::sync::Arc;

use bitcoin::{ScriptBuf, XOnlyPublicKey, key::TweakedPublicKey};

use crate::{
    key::{HARDENED, Key},
    refusal::Refusal,
    template::Template,
};

/// A sequence of scripts, one for each index; or a single script.
#[derive(Clone, Debug)]
pub struct Branch {
    source: Source,
    step: Option<u32>,
    has_wildcard: bool,
}

/// Source of the scripts.
#[derive(Clone, Debug)]
enum Source {
    Fixed(ScriptBuf),
    Template {
        template: Arc<Template>,
        keys: Vec<Key>,
        is_first: bool,
    },
    /// Taproot, with the key as it is.
    RawTr(Key),
}

impl Branch {
    pub(crate) fn fixed(script: ScriptBuf) -> Self {
        Branch { source: Source::Fixed(script), step: None, has_wildcard: false }
    }

    /// Makes one branch of a descriptor from its keys. Only the first branch is checked for keys that must differ.
    pub(crate) fn new(template: Arc<Template>, keys: Vec<Key>, is_first: bool) -> Self {
        let step = keys.iter().find_map(Key::last_step);
        Branch {
            step,
            has_wildcard: keys.iter().any(Key::has_wildcard),
            source: Source::Template { template, keys, is_first },
        }
    }

    /// `rawtr` of a key.
    pub(crate) fn from_output_key(key: Key) -> Self {
        Branch { step: key.last_step(), has_wildcard: key.has_wildcard(), source: Source::RawTr(key) }
    }

    /// True if it has a script for each index; otherwise it has one only, that of 0.
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        self.has_wildcard
    }

    /// The last step of the path before the index: by BIP 44, 0 are the addresses to receive with, and 1 those for
    /// change. `None` without a path.
    #[must_use]
    pub fn step(&self) -> Option<u32> {
        self.step
    }

    /// Takes the steps before the index once, not for each script: a multiplication on the curve for each step of each
    /// key.
    ///
    /// # Errors
    /// Fails if a miniscript expression has a key twice, or if a step cannot be taken, which happens to one key in
    /// 2^127.
    pub fn prepared(self) -> Result<Self, Refusal> {
        let source = match self.source {
            Source::Template { template, keys, is_first } => {
                let keys: Result<Vec<_>, _> = keys.into_iter().map(Key::prepared).collect();
                let keys = keys?;
                if is_first {
                    template.check_distinct(&keys)?;
                }
                Source::Template { template, keys, is_first }
            }
            Source::RawTr(key) => Source::RawTr(key.prepared()?),
            fixed @ Source::Fixed(_) => fixed,
        };
        Ok(Branch { source, ..self })
    }

    /// The script of an index, as an output has it: a multiplication on the curve for each key, if prepared.
    ///
    /// # Errors
    /// Fails if the index is 2^31 or more.
    pub fn script(&self, index: u32) -> Result<ScriptBuf, Refusal> {
        if index >= HARDENED {
            return Err(Refusal::Hardened);
        }
        match &self.source {
            Source::Fixed(script) => Ok(script.clone()),
            Source::Template { template, keys, .. } => {
                let keys: Result<Vec<_>, _> = keys.iter().map(|key| key.at(index)).collect();
                template.script(keys?)
            }
            Source::RawTr(key) => {
                let key = XOnlyPublicKey::from(key.at(index)?.inner);
                Ok(ScriptBuf::new_p2tr_tweaked(TweakedPublicKey::dangerous_assume_tweaked(key)))
            }
        }
    }
}
