//! Lifetimes of keys, as operators write them.

use cairn_model::DAY_SECS;

const MAX_DAYS: u64 = 3_650;

/// Parses a lifetime into seconds: a number of minutes, hours or days, for example 31d.
///
/// # Errors
/// Returns the expected form.
pub(crate) fn lifetime(text: &str) -> Result<u64, String> {
    let unit = match text.chars().last() {
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => DAY_SECS.into(),
        _ => return Err("expected a number followed by m, h or d, for example 31d".to_owned()),
    };
    let number = text.get(..text.len() - 1).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let seconds = number.and_then(|digits| digits.parse::<u64>().ok()).and_then(|n| n.checked_mul(unit));
    match seconds {
        Some(seconds @ 1..) if seconds <= MAX_DAYS * u64::from(DAY_SECS) => Ok(seconds),
        _ => Err(format!("expected a number followed by m, h or d, from 1m to {MAX_DAYS}d")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes() {
        for (text, seconds) in [("1m", 60), ("2h", 7_200), ("31d", 2_678_400), ("3650d", 315_360_000)] {
            assert_eq!(lifetime(text), Ok(seconds));
        }
        for text in
            ["", "d", "31", "0d", "-1d", "+1d", "1.5d", "3651d", "99999999999999999999d", "1w", "1 d", "1é", "é"]
        {
            assert!(lifetime(text).is_err(), "{text}");
        }
    }
}
