//! Amounts in bitcoin: decimal numbers, parsed without floating point.

use crate::Sats;

/// 21 million bitcoin, Bitcoin Core's `MAX_MONEY`: no coin and no transaction moves more. Sums over coins may be
/// larger.
pub const MAX_MONEY: Sats = 21_000_000 * 100_000_000;

/// Longer texts are rejected.
const MAX_LEN: usize = 64;
const DECIMALS: i64 = 8;

/// Why a text is not an amount in bitcoin, as the end of a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadAmount {
    /// It is longer than any amount.
    #[error("is too long: at most {} characters are allowed", MAX_LEN)]
    TooLong,
    /// It is not a JSON number.
    #[error("is not a decimal number")]
    NoNumber,
    /// It is below zero.
    #[error("is negative")]
    Negative,
    /// It is not a whole number of satoshis.
    #[error("has more than 8 decimals")]
    TooPrecise,
    /// It exceeds [`MAX_MONEY`].
    #[error("exceeds 21000000")]
    TooMuch,
}

/// Parses an amount in bitcoin, written as a JSON number: digits, optional decimals, optional exponent (programs write
/// the smallest amount as 1e-8). Trailing zeros of the decimals do not count.
pub fn parse_btc(text: &str) -> Result<Sats, BadAmount> {
    if text.len() > MAX_LEN {
        return Err(BadAmount::TooLong);
    }
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent).ok_or(BadAmount::NoNumber)?),
        None => (rest, 0),
    };
    let (whole, decimals) = mantissa.split_once('.').map_or((mantissa, None), |(whole, d)| (whole, Some(d)));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) || decimals.is_some_and(|d| !is_digits(d)) {
        return Err(BadAmount::NoNumber);
    }
    let decimals = decimals.unwrap_or_default();
    let digits = [whole, decimals].concat();
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    if negative {
        return Err(BadAmount::Negative);
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    // Texts are short, so the integers cannot overflow.
    let shift = exponent + DECIMALS + zeros as i64 - decimals.len() as i64;
    if shift < 0 {
        return Err(BadAmount::TooPrecise);
    }
    let sats = u32::try_from(shift).ok().and_then(|shift| 10u64.checked_pow(shift));
    let sats = sats.zip(significant.parse::<u64>().ok()).and_then(|(unit, count)| count.checked_mul(unit));
    sats.filter(|sats| *sats <= MAX_MONEY).ok_or(BadAmount::TooMuch)
}

/// Exponents of more than four digits exceed any amount and are treated as such.
fn exponent_of(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let good = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    good.then(|| sign * digits.parse::<i64>().unwrap_or(i64::MAX).min(9_999))
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    /// With the sentence that people read.
    fn said(text: &str) -> Result<Sats, String> {
        parse_btc(text).map_err(|bad| bad.to_string())
    }

    #[test]
    fn amounts_are_exact() {
        for (text, sats) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0e7", 0),
            ("0e999999999999999999999", 0),
            ("0.00000001", 1),
            ("1e-8", 1),
            ("1E-8", 1),
            ("100e-10", 1),
            ("0.1", 10_000_000),
            ("0.10000000", 10_000_000),
            ("0.100000000000000000000000", 10_000_000),
            ("0.29", 29_000_000),
            ("1.1", 110_000_000),
            ("20999999.97690001", 2_099_999_997_690_001),
            ("21000000", MAX_MONEY),
            ("2.1e+7", MAX_MONEY),
            ("0.0021e10", MAX_MONEY),
        ] {
            assert_eq!(parse_btc(text), Ok(sats), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount() {
        for (text, why) in [
            ("0.000000001", "has more than 8 decimals"),
            ("0.100000001", "has more than 8 decimals"),
            ("20999999.999999991", "has more than 8 decimals"),
            ("0.10000000000000000001", "has more than 8 decimals"),
            ("1e-9", "has more than 8 decimals"),
            ("1e-99999999999999999999", "has more than 8 decimals"),
            ("-0.1", "is negative"),
            ("-1e-99", "is negative"),
            ("21000000.00000001", "exceeds 21000000"),
            ("1e8", "exceeds 21000000"),
            ("1e308", "exceeds 21000000"),
            ("1e99999999999999999999", "exceeds 21000000"),
            ("184467440737.09551616", "exceeds 21000000"),
            ("99999999999999999999999999", "exceeds 21000000"),
            ("", "is not a decimal number"),
            ("-", "is not a decimal number"),
            ("+1", "is not a decimal number"),
            ("01", "is not a decimal number"),
            (".5", "is not a decimal number"),
            ("5.", "is not a decimal number"),
            ("1,5", "is not a decimal number"),
            ("1e", "is not a decimal number"),
            ("1e+-1", "is not a decimal number"),
            ("1e1e1", "is not a decimal number"),
            ("1.2.3", "is not a decimal number"),
            (" 1", "is not a decimal number"),
            ("0x10", "is not a decimal number"),
            ("NaN", "is not a decimal number"),
            ("١", "is not a decimal number"),
        ] {
            assert_eq!(said(text), Err(why.to_owned()), "{text}");
        }
        assert_eq!(
            said(&format!("0.{}", "0".repeat(63))),
            Err("is too long: at most 64 characters are allowed".to_owned())
        );
    }

    proptest! {
        /// Every amount reads back, however it is written.
        #[test]
        fn every_spelling_of_an_amount(sats in 0..=MAX_MONEY, zeros in 0usize..10, exponent in -12i64..12) {
            let plain = format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000);
            prop_assert_eq!(parse_btc(&plain), Ok(sats));
            let padded = format!("{plain}{}", "0".repeat(zeros));
            prop_assert_eq!(parse_btc(&padded), Ok(sats));
            prop_assert_eq!(parse_btc(&format!("{sats}e-8")), Ok(sats));
            // The same digits with the point moved, and the exponent that moves it back.
            let shifted = format!("{sats}{}e{}", "0".repeat(zeros), -8 - zeros as i64);
            prop_assert_eq!(parse_btc(&shifted), Ok(sats));
            let off = parse_btc(&format!("{sats}e{exponent}"));
            let (sats, unit) = (u128::from(sats), 10u128.pow((exponent + 8).unsigned_abs() as u32));
            let exact = if exponent >= -8 { Some(sats * unit) } else { (sats % unit == 0).then(|| sats / unit) };
            prop_assert_eq!(off.ok().map(u128::from), exact.filter(|exact| *exact <= u128::from(MAX_MONEY)));
        }

        /// One digit too many is always noticed, even where a float would not see it.
        #[test]
        fn the_ninth_decimal_is_refused(sats in 0..MAX_MONEY, ninth in 1u8..10, more in "[0-9]{0,20}") {
            let text = format!("{}.{:08}{ninth}{more}", sats / 100_000_000, sats % 100_000_000);
            prop_assert_eq!(said(&text), Err("has more than 8 decimals".to_owned()));
        }

        #[test]
        fn no_text_panics(text in "[-+0-9eE.]{0,70}") {
            if let Ok(sats) = parse_btc(&text) {
                prop_assert!(sats <= MAX_MONEY);
            }
        }
    }
}
