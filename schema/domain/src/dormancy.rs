//! Coins that were not spent for long: how old those are that a transaction spends.

use cairn_model::DAY_SECS;

/// Seconds of a year of 365 days.
pub const YEAR: u32 = 365 * DAY_SECS;

/// Age in days from which a spent coin is an awakening.
pub const AWAKENING_DAYS: u32 = 365;
/// Satoshis from which it is one.
pub const AWAKENING_SATS: u64 = 10 * 100_000_000;
/// Age in years from which coins count for a dormant movement.
pub const MOVEMENT_YEARS: u32 = 5;
/// Satoshis of such coins from which a transaction is one.
pub const MOVEMENT_SATS: u64 = 10 * 100_000_000;

/// Age in years from which spent coins count for a dormancy flush.
pub const FLUSH_YEARS: u32 = 2;
/// Satoshis of such coins that one cluster spends in a flush at least.
pub const FLUSH_SATS: u64 = 100 * 100_000_000;
/// Blocks in which it does.
pub const FLUSH_BLOCKS: u32 = 144;
/// Years in which a cluster that wakes up spent nothing, and age of the coins that it has at least.
pub const WAKEUP_YEARS: u32 = 2;
/// Satoshis of such coins.
pub const WAKEUP_SATS: u64 = 1_000 * 100_000_000;

/// Years in which a cluster of the watchlist spent nothing, and age of the coins that count.
pub const WATCH_YEARS: u32 = 5;
/// Satoshis of such coins.
pub const WATCH_SATS: u64 = 500 * 100_000_000;

/// Coins of a transaction that are old.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OldCoins {
    /// How many.
    pub coins: u64,
    /// Their value in satoshis.
    pub sats: u64,
    /// Value of each × its age in seconds.
    pub destroyed: u128,
    /// Age of the oldest in seconds.
    pub oldest: u32,
}

impl OldCoins {
    /// Adds a coin with its satoshis and its age in seconds.
    pub fn add(&mut self, sats: u64, age: u32) {
        self.coins += 1;
        self.sats = self.sats.saturating_add(sats);
        self.destroyed = self.destroyed.saturating_add(u128::from(sats) * u128::from(age));
        self.oldest = self.oldest.max(age);
    }

    /// Coin-days destroyed in units of 10^-8, rounded down: Σ value × age in days (ByteCoin, "Bitcoin days destroyed",
    /// bitcointalk.org (2011)).
    #[must_use]
    pub fn coin_days(&self) -> i128 {
        (self.destroyed / u128::from(DAY_SECS)).cast_signed()
    }

    /// Average age in hundredths of a day, weighted by value, rounded down; 0 without coins.
    #[must_use]
    pub fn average_age(&self) -> i128 {
        let of_sats = u128::from(self.sats) * u128::from(DAY_SECS);
        self.destroyed.saturating_mul(100).checked_div(of_sats).unwrap_or(0).cast_signed()
    }

    /// Full days of the oldest.
    #[must_use]
    pub fn oldest_days(&self) -> u32 {
        self.oldest / DAY_SECS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_weighted_by_value() {
        let mut old = OldCoins::default();
        assert_eq!((old.coin_days(), old.average_age(), old.oldest_days()), (0, 0, 0));
        old.add(300_000_000, 10 * DAY_SECS);
        old.add(100_000_000, 30 * DAY_SECS + 1);
        // 3 × 10 + 1 × 30 coin-days, and a second of one.
        assert_eq!((old.coin_days(), old.average_age()), (6_000_001_157, 1_500));
        assert_eq!((old.coins, old.sats, old.oldest_days()), (2, 400_000_000, 30));
    }

    #[test]
    fn nothing_overflows() {
        let mut old = OldCoins::default();
        (0..100_000).for_each(|_| old.add(21_000_000 * 100_000_000, u32::MAX));
        assert!(old.coin_days() > 0 && old.average_age() > 0);
    }
}
