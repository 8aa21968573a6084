//! Amounts of a token in its smallest unit, and prices in dollars. No floats: a price is decimal text.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// A number of smallest units of a token, or of seconds: decimal text on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Amount(u128);

/// A text is not an amount or a price.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AmountError {
    /// It is not a whole number as x402 writes them.
    #[error("this is not an amount; expected decimal digits without sign, point or leading zeros, below 2^128")]
    NotAmount,
    /// It is not a price.
    #[error("{0:?} is not a price; expected digits, and a point and more digits if needed, for example 0.01")]
    NotPrice(String),
    /// The price has a part smaller than the token's smallest unit.
    #[error("the price {price} is not a whole number of units; the token has {decimals} decimals; round the price")]
    Fraction {
        /// The price.
        price: String,
        /// Decimals of the token.
        decimals: u8,
    },
    /// It is too large.
    #[error("the amount does not fit into 128 bits; lower the price or the number of items")]
    Overflow,
}

impl Amount {
    /// Returns the amount of this many units.
    #[must_use]
    pub const fn from_units(units: u128) -> Self {
        Amount(units)
    }

    /// Returns the number of units.
    #[must_use]
    pub const fn units(self) -> u128 {
        self.0
    }

    /// Returns the amount of a token with `decimals` decimals that is worth `price` if the token is worth 1.
    pub fn from_price(price: &str, decimals: u8) -> Result<Self, AmountError> {
        let bad = || AmountError::NotPrice(price.chars().take(40).collect());
        let (whole, fraction) = match price.split_once('.') {
            Some((_, "")) => return Err(bad()),
            Some(parts) => parts,
            None => (price, ""),
        };
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || price.len() > 40 || !is_number(whole) || !is_number(fraction) {
            return Err(bad());
        }
        let fraction = fraction.trim_end_matches('0');
        let Some(missing) = usize::from(decimals).checked_sub(fraction.len()) else {
            return Err(AmountError::Fraction { price: price.to_owned(), decimals });
        };
        let digits = format!("{whole}{fraction}{}", "0".repeat(missing));
        digits.parse().map(Amount).map_err(|_| AmountError::Overflow)
    }

    /// Returns the amount for `items` items.
    pub fn times(self, items: u64) -> Result<Self, AmountError> {
        self.0.checked_mul(u128::from(items)).map(Amount).ok_or(AmountError::Overflow)
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let is_canonical = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_canonical {
            return Err(AmountError::NotAmount);
        }
        text.parse().map(Amount).map_err(|_| AmountError::NotAmount)
    }
}

impl TryFrom<String> for Amount {
    type Error = AmountError;

    fn try_from(text: String) -> Result<Self, AmountError> {
        text.parse()
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn prices() {
        let units = |price, decimals| Amount::from_price(price, decimals).map(Amount::units);
        for (price, decimals, expected) in [
            ("0.01", 6, 10_000),
            ("0.001", 6, 1_000),
            ("0.05", 6, 50_000),
            ("0.0100000000", 6, 10_000),
            ("1", 0, 1),
            ("12.5", 18, 12_500_000_000_000_000_000),
            ("0", 6, 0),
        ] {
            assert_eq!(units(price, decimals), Ok(expected), "{price}");
        }
        for price in ["", ".", ".5", "5.", "-1", "+1", "1e3", "0,01", " 1", "1 ", "0x1", "1.2.3", "١"] {
            assert_eq!(units(price, 6), Err(AmountError::NotPrice(price.to_owned())));
        }
        assert!(matches!(units("0.0000001", 6), Err(AmountError::Fraction { .. })));
        assert_eq!(units("1", 39), Err(AmountError::Overflow));
        assert_eq!(Amount(u128::MAX).times(2), Err(AmountError::Overflow));
        assert_eq!(Amount(50_000).times(25), Ok(Amount(1_250_000)));
    }

    #[test]
    fn amounts_have_one_spelling() {
        for text in ["", "+1", "-1", "01", "00", "1.0", "0x1", " 1", "1e3", "340282366920938463463374607431768211456"] {
            assert_eq!(text.parse::<Amount>(), Err(AmountError::NotAmount), "{text}");
        }
        assert_eq!("340282366920938463463374607431768211455".parse(), Ok(Amount(u128::MAX)));
    }

    proptest! {
        #[test]
        fn prices_are_exact(whole in 0u64.., fraction in 0u32..1_000_000) {
            let expected = u128::from(whole) * 1_000_000 + u128::from(fraction);
            prop_assert_eq!(Amount::from_price(&format!("{whole}.{fraction:06}"), 6), Ok(Amount(expected)));
        }

        #[test]
        fn no_text_panics(text in ".{0,60}", decimals: u8) {
            let _ = Amount::from_price(&text, decimals);
            if let Ok(amount) = text.parse::<Amount>() {
                prop_assert_eq!(amount.to_string(), text);
            }
        }
    }
}
