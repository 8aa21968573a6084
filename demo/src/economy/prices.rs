//! The demo's prices: invented, like everything on its chain, and the same on every machine.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{DAY_SECS, END_TIME, START_TIME};

/// Price of a bitcoin at the end of a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DemoPrice {
    /// End of the day, in seconds since 1970.
    pub closes_at: u32,
    /// Price in cents of a dollar.
    pub cents: u64,
}

/// Price of a euro on a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DemoRate {
    /// End of the day, in seconds since 1970.
    pub closes_at: u32,
    /// Dollars a euro, in ten-thousandths.
    pub dollars_e4: u64,
}

/// Invented prices at the beginning of each year from 2012 on, in dollars, and at the end. Between them they go in a
/// straight line, but for the noise.
const YEARS: [u64; 15] =
    [5, 15, 700, 300, 450, 1_000, 13_000, 4_000, 7_500, 30_000, 46_000, 17_000, 43_000, 95_000, 88_000];
/// First day with a price: 2011-07-01. Coins of the first months are older than the series, as on the real chain.
const FIRST_DAY: u32 = 15_156;
/// 2012-01-01 and 2026-01-01, which the table of years spans.
const SPAN: (u32, u32) = (15_340, 20_454);
/// Dollars a euro around which the rate moves, in ten-thousandths.
const EURO: i64 = 11_200;

/// A number that goes up and down at random and comes back to zero; in thousandths.
struct Noise {
    rng: ChaCha8Rng,
    at: i64,
    step: i64,
}

impl Noise {
    fn new(seed: u64, step: i64) -> Self {
        Noise { rng: ChaCha8Rng::seed_from_u64(seed), at: 0, step }
    }

    fn next(&mut self) -> i64 {
        self.at = self.at * 97 / 100 + self.rng.random_range(-self.step..=self.step);
        self.at
    }
}

/// The price of a day without noise, in cents.
fn line(day: u32) -> i64 {
    let dollars = |year: usize| YEARS.get(year).or(YEARS.last()).map_or(1, |dollars| *dollars as i64);
    let (from, to) = SPAN;
    if day < from {
        // The first year begins at half a dollar.
        let (past, days) = (i64::from(day.saturating_sub(FIRST_DAY)), i64::from(from - FIRST_DAY));
        return 50 + (dollars(0) * 100 - 50) * past / days;
    }
    let (past, year) = (i64::from(day - from), i64::from(to - from) / (YEARS.len() as i64 - 1));
    let (years, left) = ((past / year) as usize, past % year);
    let (before, after) = (dollars(years) * 100, dollars(years + 1) * 100);
    before + (after - before) * left / year
}

/// The demo's daily prices and, for its business days, prices of a euro: up to the tip of the chain.
#[must_use]
pub fn prices(seed: u64) -> (Vec<DemoPrice>, Vec<DemoRate>) {
    let (mut price, mut euro) = (Noise::new(seed, 30), Noise::new(seed ^ 1, 4));
    let days = FIRST_DAY.max(START_TIME / DAY_SECS)..END_TIME / DAY_SECS;
    let (mut prices, mut rates) = (Vec::new(), Vec::new());
    for day in days {
        let closes_at = (day + 1) * DAY_SECS;
        let cents = (line(day) * (1_000 + price.next()) / 1_000).max(1) as u64;
        prices.push(DemoPrice { closes_at, cents });
        let dollars_e4 = (EURO * (1_000 + euro.next()) / 1_000) as u64;
        // 1970-01-01 was a Thursday: days 2 and 3 of each week are Saturday and Sunday.
        if !matches!(day % 7, 2 | 3) {
            rates.push(DemoRate { closes_at, dollars_e4 });
        }
    }
    (prices, rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_plausible_and_the_same_each_time() {
        let (first, rates) = prices(1);
        assert_eq!((first.clone(), rates.clone()), prices(1));
        assert_ne!(first, prices(2).0);
        assert_eq!(first.last().map(|price| price.closes_at), Some(END_TIME));
        assert!(first.windows(2).all(|pair| pair[1].closes_at == pair[0].closes_at + DAY_SECS));
        assert!(first.iter().all(|price| (10..20_000_000).contains(&price.cents)));
        assert!(first.windows(2).all(|pair| pair[1].cents < pair[0].cents * 2 && pair[1].cents * 2 > pair[0].cents));
        assert!(rates.len() * 7 > first.len() * 5 - 14 && rates.len() * 7 < first.len() * 5 + 14);
        assert!(rates.iter().all(|rate| (9_000..14_000).contains(&rate.dollars_e4)));
    }
}
