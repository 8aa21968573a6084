//! Settings of the scrubber.

use cairn_model::DAY_SECS;
use clap::Args;

use super::limits::bytes;

/// Least bytes a second, if it is not switched off.
const LEAST: u64 = 64 << 10;

/// The scrubber.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Scrub {
    /// Bytes a second at which the scrubber reads the table files of the index in the background and compares their
    /// checksums: a number of bytes, or a number with K, M, G or T. At least 64K. 0: no scrubber.
    #[arg(long, env = "CAIRN_SCRUB_RATE", value_name = "SIZE", default_value = "8M", value_parser = rate)]
    pub(crate) scrub_rate: u64,
    /// Time from the end of one scrub of all table files to the next, in seconds, minutes, hours or days, for example
    /// 7d. The first begins with the server.
    #[arg(long, env = "CAIRN_SCRUB_PERIOD", value_name = "TIME", default_value = "7d", value_parser = period)]
    pub(crate) scrub_period: u64,
}

fn rate(text: &str) -> Result<u64, String> {
    match bytes(text, 0)? {
        rate @ 1..LEAST => Err(format!("{rate} is too small; the minimum is 64K, or 0 for no scrubber")),
        rate => Ok(rate),
    }
}

/// Parses a time. In seconds.
fn period(text: &str) -> Result<u64, String> {
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => DAY_SECS.into(),
        _ => return Err("expected a number followed by s, m, h or d, for example 7d".to_owned()),
    };
    let number = text.get(..text.len() - 1).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let seconds = number.and_then(|digits| digits.parse::<u64>().ok()).and_then(|n| n.checked_mul(unit));
    seconds
        .filter(|seconds| (1..=LONGEST).contains(seconds))
        .ok_or_else(|| "expected a number followed by s, m, h or d, from 1s to 366d".to_owned())
}

const LONGEST: u64 = 366 * DAY_SECS as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_periods() {
        for (text, expected) in [("0", 0), ("64K", 64 << 10), ("8M", 8 << 20)] {
            assert_eq!(rate(text), Ok(expected));
        }
        for (text, expected) in [("1s", 1), ("5m", 300), ("12h", 43_200), ("7d", 604_800), ("366d", LONGEST)] {
            assert_eq!(period(text), Ok(expected));
        }
        assert!(["1", "63K", "-1", "x"].iter().all(|text| rate(text).is_err()));
        assert!(["", "0s", "7", "367d", "-1d", "1.5d", "é", "9999999999999999999d"].iter().all(|t| period(t).is_err()));
    }
}
