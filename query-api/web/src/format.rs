//! Figures as people read them. Nothing is rounded that a ledger would keep: satoshis are written to the last one.

/// A number, or a reference to one: templates hold both.
pub(crate) trait Plain<T> {
    fn plain(self) -> T;
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl Plain<$number> for $number {
            fn plain(self) -> $number {
                self
            }
        }
        impl Plain<$number> for &$number {
            fn plain(self) -> $number {
                *self
            }
        }
        impl Plain<$number> for &&$number {
            fn plain(self) -> $number {
                **self
            }
        }
    )*};
}

plain!(i64, u64);

/// An amount in BTC with all its satoshis: `12.34 BTC`, `-0.00000001 BTC`.
pub(crate) fn btc(sats: impl Plain<i64>) -> String {
    let sats = sats.plain();
    let (sign, sats) = (if sats < 0 { "-" } else { "" }, sats.unsigned_abs());
    let (whole, part) = (sats / 100_000_000, sats % 100_000_000);
    let part = format!("{part:08}");
    let part = part.trim_end_matches('0');
    let part = if part.len() < 2 { format!("{part:0<2}") } else { part.to_owned() };
    format!("{sign}{}.{part} BTC", grouped(whole))
}

/// An amount with its sign: `+1.00 BTC`.
pub(crate) fn signed_btc(sats: impl Plain<i64>) -> String {
    let sats = sats.plain();
    if sats > 0 { format!("+{}", btc(sats)) } else { btc(sats) }
}

/// A whole number in groups of three digits, apart by narrow spaces.
pub(crate) fn grouped(number: impl Plain<u64>) -> String {
    let digits = number.plain().to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A decimal number in groups of three digits before its point. Amounts of money have no single decimal: numbers of
/// JSON lose their last zero.
pub(crate) fn decimal(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, part) = rest.split_once('.').map_or((rest, None), |(whole, part)| (whole, Some(part)));
    match (whole.parse::<u64>(), part) {
        (Ok(whole), Some(part)) => format!("{sign}{}.{part:0<2}", grouped(whole)),
        (Ok(whole), None) => format!("{sign}{}", grouped(whole)),
        (Err(_), _) => text.to_owned(),
    }
}

/// A hashrate from a number of EH/s, in the unit in which it has one to three digits before its point.
pub(crate) fn hashrate(exahashes: &serde_json::Number) -> String {
    const UNITS: [&str; 7] = ["EH/s", "PH/s", "TH/s", "GH/s", "MH/s", "kH/s", "H/s"];
    let Some(mut rate) = exahashes.as_f64().filter(|rate| *rate > 0.0) else { return format!("{exahashes} EH/s") };
    // All of EH/s is shown as it is given.
    if rate >= 1.0 {
        return format!("{} EH/s", decimal(&exahashes.to_string()));
    }
    let mut unit = 0;
    while rate < 1.0 && unit + 1 < UNITS.len() {
        rate *= 1_000.0;
        unit += 1;
    }
    let places = if rate >= 1.0 { 2 } else { 6 };
    format!("{rate:.places$} {}", UNITS.get(unit).copied().unwrap_or_default())
}

/// A time (RFC 3339) to the minute: `2024-03-01 12:30`. Other texts stay as they are.
pub(crate) fn minute(time: &str) -> String {
    match time.split_once('T') {
        Some((day, clock)) if clock.len() >= 5 && clock.is_char_boundary(5) => format!("{day} {}", &clock[..5]),
        _ => time.to_owned(),
    }
}

/// A text from a code: `coin_days` as `coin days`.
pub(crate) fn words(code: &str) -> String {
    code.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        for (sats, text) in [
            (0, "0.00 BTC"),
            (1, "0.00000001 BTC"),
            (-1, "-0.00000001 BTC"),
            (150_000_000, "1.50 BTC"),
            (2_100_000_000_000_000, "21\u{202f}000\u{202f}000.00 BTC"),
            (i64::MIN, "-92\u{202f}233\u{202f}720\u{202f}368.54775808 BTC"),
        ] {
            assert_eq!(btc(sats), text);
        }
        assert_eq!((signed_btc(100_000_000).as_str(), signed_btc(-1).as_str()), ("+1.00 BTC", "-0.00000001 BTC"));
    }

    #[test]
    fn hashrates_have_a_fitting_unit() {
        for (given, text) in [
            ("1034.5", "1\u{202f}034.50 EH/s"),
            ("0.25", "250.00 PH/s"),
            ("3.301654e-15", "3.30 kH/s"),
            ("3.301654e-21", "0.003302 H/s"),
            ("0", "0 EH/s"),
        ] {
            assert_eq!(hashrate(&serde_json::from_str(given).unwrap()), text);
        }
    }

    #[test]
    fn decimals_are_grouped() {
        for (given, text) in
            [("1234.5", "1\u{202f}234.50"), ("-1234567", "-1\u{202f}234\u{202f}567"), ("12", "12"), ("n/a", "n/a")]
        {
            assert_eq!(decimal(given), text);
        }
        assert_eq!((minute("2024-03-01T12:30:59Z").as_str(), minute("soon").as_str()), ("2024-03-01 12:30", "soon"));
    }
}
