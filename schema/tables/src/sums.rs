//! Rows that are sums: signed numbers by position. Adding is all that ever happens to them, so that deltas may come in
//! any order and in any grouping, and undoing a delta is adding its negative.
//!
//! ```text
//! position − the one before − 1 │ sum (zigzag) │ …          ascending; a sum of zero is left out
//! ```

use std::cmp::Ordering;

use crate::codec::{DecodeError, Input, ValueCodec, put_varint, put_varint128};

/// Implements `position` for an enum whose codes are positions of sums.
macro_rules! positions {
    ($sum:ident) => {
        impl $sum {
            /// Its position in a row.
            #[must_use]
            pub const fn position(self) -> u32 {
                self as u32
            }
        }
    };
}

pub(crate) use positions;

/// Largest position, exclusive. It bounds the memory of a row.
pub const POSITIONS: u32 = 1 << 16;

/// Sums by position. Positions without an entry are zero.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sums(Vec<(u32, i128)>);

/// A sum exceeds 128 bits. Sums of a valid chain do not: all coins together, aged 500 years, have 82 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a sum exceeds 128 bits")]
pub struct SumOverflow;

impl Sums {
    /// Sums of pairs of position and number; positions may repeat.
    pub fn of(pairs: impl IntoIterator<Item = (u32, i128)>) -> Result<Self, SumOverflow> {
        let mut sums = Sums::default();
        pairs.into_iter().try_for_each(|(position, number)| sums.add(position, number))?;
        Ok(sums)
    }

    /// The sum at a position; 0 if it has none.
    #[must_use]
    pub fn get(&self, position: u32) -> i128 {
        self.0.binary_search_by_key(&position, |entry| entry.0).map_or(0, |at| self.0[at].1)
    }

    /// Positions and sums other than zero, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, i128)> + '_ {
        self.0.iter().copied()
    }

    /// Number of sums other than zero.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// As [`Sums::is_zero`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.is_zero()
    }

    /// True if every sum is zero. Such a row does not exist.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a number. Positions from [`POSITIONS`] on do not exist and are left out.
    pub fn add(&mut self, position: u32, number: i128) -> Result<(), SumOverflow> {
        if number == 0 || position >= POSITIONS {
            return Ok(());
        }
        match self.0.binary_search_by_key(&position, |entry| entry.0) {
            Err(at) => self.0.insert(at, (position, number)),
            Ok(at) => {
                self.0[at].1 = self.0[at].1.checked_add(number).ok_or(SumOverflow)?;
                if self.0[at].1 == 0 {
                    self.0.remove(at);
                }
            }
        }
        Ok(())
    }

    /// Adds all of another's sums.
    pub fn add_all(&mut self, other: &Sums) -> Result<(), SumOverflow> {
        // Rows are merged many thousand times while a chain is indexed, mostly into rows that have the positions.
        if other.0.len() < 8 {
            return other.iter().try_for_each(|(position, number)| self.add(position, number));
        }
        let mut merged = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut ours, mut theirs) = (&self.0[..], &other.0[..]);
        while let (Some(a), Some(b)) = (ours.first(), theirs.first()) {
            let sum = match a.0.cmp(&b.0) {
                Ordering::Less => a.1,
                Ordering::Equal => a.1.checked_add(b.1).ok_or(SumOverflow)?,
                Ordering::Greater => b.1,
            };
            if sum != 0 {
                merged.push((a.0.min(b.0), sum));
            }
            ours = &ours[usize::from(a.0 <= b.0)..];
            theirs = &theirs[usize::from(b.0 <= a.0)..];
        }
        merged.extend_from_slice(ours);
        merged.extend_from_slice(theirs);
        self.0 = merged;
        Ok(())
    }

    /// The same with every sign changed.
    ///
    /// # Errors
    /// Fails for the least number, which has no negative.
    pub fn negated(&self) -> Result<Self, SumOverflow> {
        let negated = self.0.iter().map(|(position, sum)| Ok((*position, sum.checked_neg().ok_or(SumOverflow)?)));
        negated.collect::<Result<_, _>>().map(Sums)
    }
}

impl ValueCodec for Sums {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut next = 0;
        for (position, sum) in &self.0 {
            put_varint(out, u64::from(position - next));
            put_varint128(out, ((*sum as u128) << 1) ^ ((*sum >> 127) as u128));
            next = position + 1;
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        // An entry takes two bytes at least, and mostly more.
        let mut entries = Vec::with_capacity(b.left() / 4);
        let mut next = 0u32;
        while b.left() > 0 {
            let position = next.checked_add(b.varint32()?).filter(|position| *position < POSITIONS);
            let position = position.ok_or_else(|| b.error("position"))?;
            let zigzag = b.varint128()?;
            if zigzag == 0 {
                return Err(b.error("a sum of zero"));
            }
            entries.push((position, ((zigzag >> 1) as i128) ^ -((zigzag & 1) as i128)));
            next = position + 1;
        }
        Ok(Sums(entries))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn decoded(bytes: &[u8]) -> Result<Sums, DecodeError> {
        Sums::decode(&mut Input::new("sums", bytes))
    }

    fn encoded(sums: &Sums) -> Vec<u8> {
        let mut out = Vec::new();
        sums.encode(&mut out);
        out
    }

    #[test]
    fn bytes_are_golden() {
        let sums = Sums::of([(3, -1), (0, 64), (200, i128::MIN), (201, i128::MAX)]).unwrap();
        let mut expected = vec![0, 0x80, 0x01, 2, 1, 0xc4, 0x01];
        expected.extend([[0xff; 18].as_slice(), &[3, 0, 0xfe], &[0xff; 17], &[3]].concat());
        assert_eq!(encoded(&sums), expected);
        assert_eq!(decoded(&expected).unwrap(), sums);
        assert_eq!((sums.get(0), sums.get(1), sums.get(3)), (64, 0, -1));
        for damaged in [&[0][..], &[0, 0], &[0, 0x80, 0], &[0xff, 0xff, 4, 2], &expected[..expected.len() - 1]] {
            assert!(decoded(damaged).is_err(), "{damaged:?}");
        }
        assert_eq!(sums.clone().add(201, 1), Err(SumOverflow));
        assert_eq!(sums.negated(), Err(SumOverflow));
    }

    proptest! {
        #[test]
        fn sums_are_those_of_a_map(numbers in prop::collection::vec((0u32..40, -5i128..5), 0..120), cut in 0usize..120) {
            let mut map = BTreeMap::new();
            for (position, number) in &numbers {
                *map.entry(*position).or_insert(0) += number;
            }
            map.retain(|_, sum| *sum != 0);
            let (a, b) = numbers.split_at(cut.min(numbers.len()));
            let (mut sums, other) = (Sums::of(a.iter().copied()).unwrap(), Sums::of(b.iter().copied()).unwrap());
            sums.add_all(&other).unwrap();
            prop_assert!(sums.iter().eq(map.into_iter()));
            prop_assert_eq!(&decoded(&encoded(&sums)).unwrap(), &sums);
            sums.add_all(&sums.negated().unwrap()).unwrap();
            prop_assert!(sums.is_zero());
        }
    }
}
