//! Numbers as files write them.

use rust_decimal::Decimal;

use crate::report::Code;

/// Significant digits that a number may have, and the places behind its point.
const MAX_DIGITS: u32 = 28;
/// The largest number.
const MAX: i128 = 1_000_000_000_000_000;

/// How a file writes numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NumberStyle {
    /// Before the fraction.
    pub(crate) decimal: char,
    /// Between groups of three digits, where the file has them.
    pub(crate) thousands: Option<char>,
    /// Whether K, M and B stand for three, six and nine zeros.
    pub(crate) suffixes: bool,
}

impl NumberStyle {
    /// A point, and nothing else.
    pub(crate) const PLAIN: NumberStyle = NumberStyle { decimal: '.', thousands: None, suffixes: false };
}

/// The digits of a number as they are read, without leading zeros and without zeros at the end.
#[derive(Default)]
struct Digits {
    value: u128,
    count: u32,
    /// Zeros that count only if another digit follows.
    zeros: u32,
    seen: bool,
}

impl Digits {
    fn push(&mut self, digit: u32) -> Result<(), Code> {
        self.seen = true;
        if digit == 0 {
            self.zeros = self.zeros.saturating_add(u32::from(self.count > 0));
            return Ok(());
        }
        let count = self.count.saturating_add(self.zeros).saturating_add(1);
        if count > MAX_DIGITS {
            return Err(Code::TooManyDigits);
        }
        // Below 10^28, so neither step overflows.
        self.value = self.value * 10u128.pow(self.zeros + 1) + u128::from(digit);
        (self.count, self.zeros) = (count, 0);
        Ok(())
    }
}

/// A number, exactly as written, without zeros at its end.
///
/// # Errors
/// Fails if the text is not a number, has more than 28 digits, or is beyond 10^15.
pub(crate) fn number(text: &str, style: NumberStyle) -> Result<Decimal, Code> {
    let text = text.trim();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (text, mut exponent) = match text.as_bytes().last() {
        Some(last) if style.suffixes && last.is_ascii_alphabetic() => {
            let zeros = match last.to_ascii_uppercase() {
                b'K' => 3,
                b'M' => 6,
                b'B' => 9,
                _ => return Err(Code::NotANumber),
            };
            (&text[..text.len() - 1], zeros)
        }
        _ => (text, 0),
    };
    let mut digits = Digits::default();
    let mut is_fraction = false;
    // Digits since the last separator, once there was one.
    let (mut group, mut is_grouped) = (0u32, false);
    for (at, char) in text.char_indices() {
        if let Some(digit) = char.to_digit(10) {
            digits.push(digit)?;
            if is_fraction {
                exponent -= 1;
            } else {
                group = group.saturating_add(1);
            }
        } else if char == style.decimal && !is_fraction {
            is_fraction = true;
        } else if Some(char) == style.thousands && !is_fraction {
            let whole = if is_grouped { group == 3 } else { (1..=3).contains(&group) };
            if !whole {
                return Err(Code::NotANumber);
            }
            (is_grouped, group) = (true, 0);
        } else if matches!(char, 'e' | 'E') && digits.seen {
            exponent += power(&text[at + 1..])?;
            break;
        } else {
            return Err(Code::NotANumber);
        }
    }
    if !digits.seen || (is_grouped && group != 3) {
        return Err(Code::NotANumber);
    }
    if digits.value == 0 {
        return Ok(Decimal::ZERO);
    }
    let exponent = exponent + i64::from(digits.zeros);
    let value = i128::try_from(digits.value).map_err(|_| Code::TooManyDigits)?;
    let value = if negative { -value } else { value };
    let number = if exponent >= 0 {
        let zeros = u32::try_from(exponent).ok().filter(|zeros| digits.count.saturating_add(*zeros) <= MAX_DIGITS);
        let power = zeros.map(|zeros| 10i128.pow(zeros)).ok_or(Code::TooLarge)?;
        Decimal::try_from_i128_with_scale(value * power, 0)
    } else {
        let scale = u32::try_from(-exponent).ok().filter(|scale| *scale <= MAX_DIGITS);
        Decimal::try_from_i128_with_scale(value, scale.ok_or(Code::TooManyDigits)?)
    };
    let number = number.map_err(|_| Code::TooManyDigits)?;
    let most = Decimal::try_from_i128_with_scale(MAX, 0).map_err(|_| Code::TooLarge)?;
    if number.abs() > most { Err(Code::TooLarge) } else { Ok(number) }
}

/// The exponent of scientific notation.
fn power(text: &str) -> Result<i64, Code> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let valid = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if valid { text.parse().map_err(|_| Code::NotANumber) } else { Err(Code::NotANumber) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GROUPED: NumberStyle = NumberStyle { decimal: '.', thousands: Some(','), suffixes: true };
    const GERMAN: NumberStyle = NumberStyle { decimal: ',', thousands: Some('.'), suffixes: false };

    fn plain(text: &str) -> Result<String, Code> {
        number(text, NumberStyle::PLAIN).map(|number| number.to_string())
    }

    #[test]
    fn written_as_files_write_them() {
        for (text, expected) in [
            ("1.50", "1.5"),
            ("1.5", "1.5"),
            ("0019140.00000000", "19140"),
            (".5", "0.5"),
            ("5.", "5"),
            ("+7", "7"),
            ("-7.25", "-7.25"),
            ("4.9951e-02", "0.049951"),
            ("1.2E+3", "1200"),
            ("100e-2", "1"),
            ("0.0", "0"),
            ("0e9999", "0"),
            ("1000000000000000", "1000000000000000"),
            ("1e15", "1000000000000000"),
            ("1234567890123.456789012345678", "1234567890123.456789012345678"),
            ("0.0000000000000000000000000001", "0.0000000000000000000000000001"),
            ("1.0000000000000000000000000000000000000000", "1"),
        ] {
            assert_eq!(plain(text), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_number() {
        for text in [
            "", " ", "-", ".", "NaN", "nan", "inf", "Infinity", "1,5", "1.2.3", "0x10", "1e", "1e+", "e5", "1e99999",
            "1 2", "١",
        ] {
            assert_eq!(plain(text), Err(Code::NotANumber), "{text}");
        }
        assert_eq!(plain("12345678901234.567890123456789"), Err(Code::TooManyDigits));
        assert_eq!(plain("1e-29"), Err(Code::TooManyDigits));
        assert_eq!(plain("1000000000000000.1"), Err(Code::TooLarge));
        assert_eq!(plain("-1e16"), Err(Code::TooLarge));
        assert_eq!(plain("1e9999"), Err(Code::TooLarge));
    }

    #[test]
    fn thousands_where_the_layout_has_them() {
        let grouped = |text| number(text, GROUPED).map(|number| number.to_string());
        assert_eq!(grouped("94,286.56"), Ok("94286.56".to_owned()));
        assert_eq!(grouped("1,234,567"), Ok("1234567".to_owned()));
        assert_eq!(grouped("71.15K"), Ok("71150".to_owned()));
        assert_eq!(grouped("3.4m"), Ok("3400000".to_owned()));
        assert_eq!(grouped("5.6B"), Ok("5600000000".to_owned()));
        for text in ["1,23", "1234,567", ",123", "1,,234", "1,234,", "12,34.5", "1.2,345", "5T", "K"] {
            assert_eq!(grouped(text), Err(Code::NotANumber), "{text}");
        }
        assert_eq!(number("94.286,56", GERMAN).unwrap().to_string(), "94286.56");
        assert_eq!(number("94,286.56", GERMAN), Err(Code::NotANumber));
    }

    proptest! {
        #[test]
        fn every_decimal_is_read_as_written(value in -1_000_000_000_000_000i128..=1_000_000_000_000_000, scale in 0u32..=12, zeros in 0usize..5) {
            let decimal = Decimal::try_from_i128_with_scale(value, scale).unwrap();
            let mut text = decimal.to_string();
            if scale > 0 {
                text.push_str(&"0".repeat(zeros));
            }
            let read = number(&text, NumberStyle::PLAIN).unwrap();
            prop_assert_eq!(read, decimal);
            prop_assert_eq!(read.scale(), decimal.normalize().scale());
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.,eEKMB ]{0,50}", any in ".{0,20}") {
            for style in [NumberStyle::PLAIN, GROUPED, GERMAN] {
                let (_, _) = (number(&text, style), number(&any, style));
            }
        }
    }
}
