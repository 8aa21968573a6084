//! Inflow in virtual bytes per second over a sliding window. Times are arguments.

use std::collections::BTreeMap;

/// Resolution of the window.
const GRAIN_MS: u64 = 10_000;
/// Maximum window: a day. It bounds the number of grains.
const MAX_GRAINS: u64 = 8_640;

/// Inflow within the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inflow {
    /// Virtual bytes that entered, whether or not they are still there.
    pub vsize: u64,
    /// Length of the window in milliseconds.
    pub window_ms: u64,
}

impl Inflow {
    /// Thousandths of a virtual byte per second.
    #[must_use]
    pub fn milli_vb_per_second(&self) -> u64 {
        let rate = u128::from(self.vsize) * 1_000_000 / u128::from(self.window_ms.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

#[derive(Clone, Debug)]
pub(super) struct InflowWindow {
    grains: u64,
    /// Start of the time in which every arrival was seen.
    since_ms: Option<u64>,
    vsize_by_grain: BTreeMap<u64, u64>,
}

impl InflowWindow {
    pub(super) fn new(window_ms: u64) -> Self {
        let grains = window_ms.div_ceil(GRAIN_MS).clamp(1, MAX_GRAINS);
        InflowWindow { grains, since_ms: None, vsize_by_grain: BTreeMap::new() }
    }

    /// Forgets all earlier arrivals.
    pub(super) fn restart(&mut self, now_ms: u64) {
        self.since_ms = Some(now_ms);
        self.vsize_by_grain.clear();
    }

    /// Adds an arrival. A first-seen time in the future counts as now.
    pub(super) fn record(&mut self, first_seen_ms: u64, vsize: u64, now_ms: u64) {
        self.since_ms.get_or_insert(now_ms);
        let now = now_ms / GRAIN_MS;
        let oldest = now.saturating_sub(self.grains);
        while let Some(entry) = self.vsize_by_grain.first_entry()
            && *entry.key() < oldest
        {
            entry.remove();
        }
        let grain = first_seen_ms.min(now_ms) / GRAIN_MS;
        if grain >= oldest {
            let sum = self.vsize_by_grain.entry(grain).or_default();
            *sum = sum.saturating_add(vsize);
        }
    }

    /// The inflow over the last complete grains; `None` until a complete window has been seen.
    pub(super) fn rate(&self, now_ms: u64) -> Option<Inflow> {
        let end = now_ms / GRAIN_MS;
        let start = end.checked_sub(self.grains)?;
        if self.since_ms? > start * GRAIN_MS {
            return None;
        }
        let vsize = self.vsize_by_grain.range(start..end).fold(0u64, |sum, (_, vsize)| sum.saturating_add(*vsize));
        Some(Inflow { vsize, window_ms: self.grains * GRAIN_MS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_slides() {
        let mut window = InflowWindow::new(60_000);
        assert_eq!(window.rate(1_000_000), None);
        window.restart(1_000_000);
        window.record(1_000_001, 6_000, 1_000_001);
        window.record(9_999_999_999, 600, 1_001_000);
        assert_eq!(window.rate(1_050_000), None, "not a whole window yet");
        let whole = window.rate(1_060_000).unwrap();
        assert_eq!(whole, Inflow { vsize: 6_600, window_ms: 60_000 });
        assert_eq!(whole.milli_vb_per_second(), 110_000);
        assert_eq!(window.rate(1_070_000).unwrap().vsize, 0);
        window.record(2_000_000, 5, 2_000_000);
        window.record(1_900_000, 5, 2_000_000);
        assert_eq!(window.vsize_by_grain.len(), 1, "what is too old is neither kept nor counted");
        window.restart(2_010_000);
        assert_eq!(window.rate(2_020_000), None);
    }
}
