//! Readable numbers for log lines.

/// Bytes as kB, MB, GB.
#[must_use]
pub fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000 => return format!("{bytes} B"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    format!("{:.1} {name}", bytes as f64 / f64::from(unit))
}

/// With one decimal.
#[must_use]
pub fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([12, 1_500, 2_000_000].map(size), ["12 B", "1.5 kB", "2.0 MB"]);
        assert_eq!([0.04, 0.06, 12.34].map(round), [0.0, 0.1, 12.3]);
    }
}
