//! A descriptor with places instead of keys: for the keys of an index it gives the script.
//!
//! `miniscript` checks and encodes it. Keys are read and derived here, because it knows neither `musig` nor
//! `sortedmulti_a`, and takes paths that Bitcoin Core refuses.

use std::{collections::HashSet, fmt, num::ParseIntError, ops::Range, str::FromStr};

use bitcoin::{
    PublicKey, ScriptBuf,
    hashes::{hash160, ripemd160, sha256},
};
use miniscript::{
    Descriptor, MiniscriptKey, Translator, hash256, miniscript::analyzable::AnalysisError, translate_hash_clone,
};

use crate::{
    key::Key,
    refusal::{Flaw, Refusal},
};

/// Begins the text of a place whose key is not compressed.
const UNCOMPRESSED: char = 'u';
/// Begins the text of another place.
const COMPRESSED: char = 'c';

/// The place of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct KeySlot {
    /// The number of the key, in the order of the text.
    pub(crate) number: usize,
    pub(crate) is_compressed: bool,
}

impl fmt::Display for KeySlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_compressed { COMPRESSED } else { UNCOMPRESSED }, self.number)
    }
}

impl FromStr for KeySlot {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_compressed = !text.starts_with(UNCOMPRESSED);
        Ok(KeySlot { number: text.trim_start_matches([UNCOMPRESSED, COMPRESSED]).parse()?, is_compressed })
    }
}

impl MiniscriptKey for KeySlot {
    type Sha256 = sha256::Hash;
    type Hash256 = hash256::Hash;
    type Ripemd160 = ripemd160::Hash;
    type Hash160 = hash160::Hash;

    fn is_uncompressed(&self) -> bool {
        !self.is_compressed
    }
}

/// How the keys of a function are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// By their bytes (BIP 67).
    Full,
    /// By the bytes without parity (BIP 387).
    XOnly,
}

/// A descriptor with places instead of keys.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    descriptor: Descriptor<KeySlot>,
    /// Ranges of places that take their keys in an order.
    sorted: Vec<(Range<usize>, Order)>,
    /// Ranges of places that no key fills twice.
    distinct: Vec<Range<usize>>,
}

impl Template {
    /// Reads a descriptor whose keys are places.
    pub(crate) fn read(
        text: &str,
        sorted: Vec<(Range<usize>, Order)>,
        distinct: Vec<Range<usize>>,
    ) -> Result<Self, Refusal> {
        let descriptor = Descriptor::<KeySlot>::from_str(text).map_err(|error| refusal(&error))?;
        let can_be_spent = match &descriptor {
            // The key can, but each leaf must.
            Descriptor::Tr(tr) => tr.leaves().try_for_each(|leaf| leaf.miniscript().max_satisfaction_size().map(drop)),
            other => other.max_weight_to_satisfy().map(drop),
        };
        can_be_spent.map_err(|_| Refusal::Unsafe(Flaw::Unsatisfiable))?;
        descriptor.sanity_check().map_err(|error| refusal(&error))?;
        Ok(Template { descriptor, sorted, distinct })
    }

    /// Checks that no miniscript expression has a key twice, as Bitcoin Core does: with the keys of index 0.
    pub(crate) fn check_distinct(&self, keys: &[Key]) -> Result<(), Refusal> {
        for range in &self.distinct {
            let mut seen = HashSet::new();
            for key in keys.get(range.clone()).unwrap_or_default() {
                if !seen.insert(key.at(0)?) {
                    return Err(Refusal::Unsafe(Flaw::RepeatedKey));
                }
            }
        }
        Ok(())
    }

    /// Makes the script of these keys, by the number of their places.
    pub(crate) fn script(&self, mut keys: Vec<PublicKey>) -> Result<ScriptBuf, Refusal> {
        for (range, order) in &self.sorted {
            let Some(keys) = keys.get_mut(range.clone()) else { continue };
            match order {
                Order::Full => keys.sort_by_cached_key(|key| key.to_bytes()),
                Order::XOnly => keys.sort_by_cached_key(|key| key.inner.x_only_public_key().0.serialize()),
            }
        }
        let filled = self.descriptor.translate_pk(&mut KeySubstitution(&keys)).map_err(|_| Refusal::Miniscript)?;
        Ok(filled.script_pubkey())
    }
}

/// Puts keys into their places.
struct KeySubstitution<'a>(&'a [PublicKey]);

impl Translator<KeySlot> for KeySubstitution<'_> {
    type TargetPk = PublicKey;
    type Error = Refusal;

    fn pk(&mut self, place: &KeySlot) -> Result<PublicKey, Refusal> {
        self.0.get(place.number).copied().ok_or(Refusal::NoKey)
    }

    translate_hash_clone!(KeySlot);
}

/// The reason for which `miniscript` refuses the descriptor.
fn refusal(error: &miniscript::Error) -> Refusal {
    use miniscript::Error;
    match error {
        Error::AnalysisError(flaw) => match flaw {
            AnalysisError::SiglessBranch => Refusal::Unsafe(Flaw::NoSignature),
            AnalysisError::RepeatedPubkeys => Refusal::Unsafe(Flaw::RepeatedKey),
            AnalysisError::BranchExceedResouceLimits => Refusal::Unsafe(Flaw::Limits),
            AnalysisError::HeightTimelockCombination => Refusal::Unsafe(Flaw::LockTimes),
            AnalysisError::Malleable => Refusal::Unsafe(Flaw::Malleable),
            AnalysisError::ContainsRawPkh => Refusal::Function,
        },
        _ => Refusal::Miniscript,
    }
}
