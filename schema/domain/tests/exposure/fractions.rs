//! Exact fractions.

use num_bigint::BigUint;

/// A fraction that is not negative.
#[derive(Clone, Debug)]
pub struct Fraction {
    above: BigUint,
    below: BigUint,
}

impl Fraction {
    pub fn new(above: u64, below: u64) -> Self {
        Fraction { above: above.into(), below: below.max(1).into() }.reduced()
    }

    fn reduced(self) -> Self {
        let (mut a, mut b) = (self.above.clone(), self.below.clone());
        while b != BigUint::ZERO {
            (a, b) = (b.clone(), a % b);
        }
        if a == BigUint::ZERO { self } else { Fraction { above: self.above / &a, below: self.below / a } }
    }

    pub fn plus(&self, other: &Fraction) -> Self {
        let above = &self.above * &other.below + &other.above * &self.below;
        Fraction { above, below: &self.below * &other.below }.reduced()
    }

    pub fn times(&self, other: &Fraction) -> Self {
        Fraction { above: &self.above * &other.above, below: &self.below * &other.below }.reduced()
    }

    /// The fraction in millionths, rounded down.
    pub fn millionths(&self) -> u128 {
        (&self.above * 1_000_000u32 / &self.below).try_into().unwrap()
    }

    pub fn is(&self, whole: u64) -> bool {
        self.above == &self.below * whole
    }
}
