//! Sums that do not depend on the order in which numbers are added.

use std::hash::{DefaultHasher, Hash, Hasher};

pub(crate) fn hash(fact: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    fact.hash(&mut hasher);
    hasher.finish()
}

/// Numbers times weights of their places, modulo 2^128: zero where both sides agree, the same for a sum and for all
/// that was added up to it. A weight is odd, so that no number times it is zero.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct WeightedSum(u128);

impl WeightedSum {
    /// Adds a number; `place` is hashed with each half of the weight.
    pub(crate) fn add(&mut self, place: impl Hash, number: i128) {
        let [high, low] = [0u8, 1].map(|half| u128::from(hash((&place, half))));
        let weight = (high << 64 | low | 1).cast_signed();
        self.0 = self.0.wrapping_add(weight.wrapping_mul(number).cast_unsigned());
    }
}
