//! Sizes and times as people read them.

/// Formats bytes with a decimal unit, as disks are sold: 467 GB, 1.2 MB, 512 B.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [(&str, f64); 4] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let number = bytes as f64;
    let Some((unit, factor)) = UNITS.into_iter().find(|(_, factor)| number >= *factor) else {
        return format!("{bytes} B");
    };
    match number / factor {
        few if few < 10.0 => format!("{few:.2} {unit}"),
        some if some < 100.0 => format!("{some:.1} {unit}"),
        many => format!("{many:.0} {unit}"),
    }
}

/// Formats seconds with one unit: 40 s, 12 min, 2.4 h.
#[must_use]
pub fn duration(seconds: f64) -> String {
    match seconds {
        few if few < 10.0 => format!("{few:.1} s"),
        some if some < 120.0 => format!("{some:.0} s"),
        some if some < 7_200.0 => format!("{:.0} min", some / 60.0),
        many => format!("{:.1} h", many / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        let shown = [0, 999, 1_000, 16_777_216, 390_150_000_000, 1_250_000_000_000].map(size);
        assert_eq!(shown, ["0 B", "999 B", "1.00 kB", "16.8 MB", "390 GB", "1.25 TB"]);
        assert_eq!([0.25, 40.0, 600.0, 9_000.0].map(duration), ["0.2 s", "40 s", "10 min", "2.5 h"]);
    }
}
