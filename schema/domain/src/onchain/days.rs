//! One day after the other: unspent value by day of birth, and the figures that follow.

use std::collections::BTreeMap;

use cairn_model::{DAY_SECS, MonoTime};

use super::{
    prices::{Missing, Prices},
    spending::Spending,
    usd::Usd,
};
use crate::{AGE_CLASSES, age_class};

/// Sums over the blocks of one day or of several. Coin-seconds are satoshis × seconds of monotone block time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flows {
    /// Blocks.
    pub blocks: i128,
    /// Transactions, coinbases included.
    pub txs: i128,
    /// Coins made, and their satoshis.
    pub created_coins: i128,
    /// See `created_coins`.
    pub created_sats: i128,
    /// Coins spent, and their satoshis.
    pub spent_coins: i128,
    /// See `spent_coins`.
    pub spent_sats: i128,
    /// Satoshis of coins that were overwritten (BIP 30).
    pub overwritten_sats: i128,
    /// Fees in satoshis.
    pub fee_sats: i128,
    /// Satoshis that transactions paid to others than those that they spend from.
    pub paid_sats: i128,
    /// Coin-seconds destroyed.
    pub destroyed: i128,
    /// Satoshis of coins made × time of their block.
    pub created_moment: i128,
    /// Satoshis of coins spent or overwritten × time of the block that did it.
    pub left_moment: i128,
}

impl Flows {
    /// Adds other sums.
    pub fn add(&mut self, other: &Flows) {
        self.blocks += other.blocks;
        self.txs += other.txs;
        self.created_coins += other.created_coins;
        self.created_sats += other.created_sats;
        self.spent_coins += other.spent_coins;
        self.spent_sats += other.spent_sats;
        self.overwritten_sats += other.overwritten_sats;
        self.fee_sats += other.fee_sats;
        self.paid_sats += other.paid_sats;
        self.destroyed += other.destroyed;
        self.created_moment += other.created_moment;
        self.left_moment += other.left_moment;
    }

    /// Satoshis of all outputs of transactions other than coinbases.
    #[must_use]
    pub fn volume_sats(&self) -> i128 {
        self.spent_sats - self.fee_sats
    }

    /// Coin-seconds that the coins of all blocks summed have aged by then: unspent satoshis × time − what each began
    /// with + what those that left ended with. For sums over the whole chain.
    fn created_by(&self, time: MonoTime) -> i128 {
        let left = self.created_sats - self.spent_sats - self.overwritten_sats;
        left * i128::from(time) - self.created_moment + self.left_moment
    }
}

/// Coin-seconds and what is counted from them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CoinTime {
    /// Coin-seconds that all coins aged.
    pub created: i128,
    /// Coin-seconds that spent coins had gathered.
    pub destroyed: i128,
}

impl CoinTime {
    const DAY: i128 = DAY_SECS as i128;

    /// Satoshi-days destroyed, rounded down: coin-days destroyed in units of 10^-8. Σ value × age in days (ByteCoin,
    /// "Bitcoin days destroyed", bitcointalk.org (2011)).
    #[must_use]
    pub fn destroyed_days(&self) -> i128 {
        self.destroyed / Self::DAY
    }

    /// Satoshi-days created, rounded down.
    #[must_use]
    pub fn created_days(&self) -> i128 {
        self.created / Self::DAY
    }

    /// Coin-days destroyed ÷ coin-days created, in millionths, rounded down (Tamás Blummer, "Liveliness of bitcoin"
    /// (2018)). `None` if none were created.
    #[must_use]
    pub fn liveliness(&self) -> Option<i128> {
        // Fewer than 2^83 coin-seconds times less than 2^20.
        (self.destroyed * 1_000_000).checked_div(self.created)
    }

    /// Dormancy: coin-days destroyed ÷ value spent, in millionths of a day, rounded down: the average age of spent
    /// coins, weighted by value (Reginald Smith, "Bitcoin average dormancy" (2017)). `None` if nothing was spent.
    #[must_use]
    pub fn dormancy(&self, spent_sats: i128) -> Option<i128> {
        (self.destroyed * 1_000_000).checked_div(spent_sats * Self::DAY)
    }
}

/// How the coins of one day of birth change on a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The day of birth.
    pub birth: u32,
    /// Change of their satoshis.
    pub sats: i128,
    /// Change of their number.
    pub coins: i128,
}

/// A day, as the index has it.
#[derive(Clone, Debug)]
pub struct Day<'d> {
    /// The day. Days follow each other.
    pub day: u32,
    /// Sums over its blocks.
    pub flows: Flows,
    /// Changes of the coins of each day of birth, ascending.
    pub changes: &'d [Change],
    /// Spent coins by day of birth. Only needed where coins were overwritten: otherwise the changes show them.
    pub spent: Option<&'d BTreeMap<u32, u128>>,
    /// Monotone time of the last block up to the end of the day.
    pub last_block: MonoTime,
}

/// Figures as of the end of a day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figures {
    /// The day.
    pub day: u32,
    /// Sums over its blocks.
    pub flows: Flows,
    /// Unspent satoshis.
    pub supply_sats: i128,
    /// Unspent coins.
    pub coins: i128,
    /// Unspent satoshis by class of age.
    pub waves: [i128; AGE_CLASSES.len()],
    /// Coin-seconds of the day.
    pub of_day: CoinTime,
    /// Coin-seconds since the chain began.
    pub of_all: CoinTime,
    /// Supply × price of the day, in cents.
    pub market_cap: Result<i128, Missing>,
    /// Σ unspent value × price of the day of birth, in cents (Nic Carter and Antoine Le Calvez, "Introducing realized
    /// capitalization" (2018)).
    pub realized_cap: Result<i128, Missing>,
    /// Market cap ÷ realized cap, in millionths (Murad Mahmudov and David Puell, "Bitcoin
    /// market-value-to-realized-value ratio" (2018)).
    pub mvrv: Result<i128, Missing>,
    /// Unspent satoshis that are older than the series of prices, and count zero in the realized cap.
    pub unpriced_sats: i128,
    /// Spent coins.
    pub spending: Spending,
    /// The same without coins that were made on the same day.
    pub spending_of_older: Spending,
}

/// Sum of the days so far.
#[derive(Clone, Debug)]
pub struct Days<'c> {
    prices: Prices<'c>,
    /// Unspent satoshis by day of birth, from 1970-01-01 on.
    unspent: Vec<i128>,
    coins: i128,
    supply: i128,
    realized: Usd,
    unpriced: i128,
    /// Unspent satoshis of days of birth that have no price.
    without_price: BTreeMap<u32, i128>,
    totals: Flows,
    /// Coin-seconds created up to the last block so far.
    created: i128,
}

impl<'c> Days<'c> {
    /// The state after the last block of a day: unspent value by day of birth, sums over all blocks up to it, and the
    /// time of the last one. Before the first block all of them are zero.
    #[must_use]
    pub fn after(unspent: &[Change], totals: Flows, last_block: MonoTime, prices: Prices<'c>) -> Self {
        let mut days = Days {
            prices,
            unspent: Vec::new(),
            coins: 0,
            supply: 0,
            realized: Usd::default(),
            unpriced: 0,
            without_price: BTreeMap::new(),
            totals,
            created: totals.created_by(last_block),
        };
        unspent.iter().for_each(|born| days.change(born));
        days
    }

    fn change(&mut self, change: &Change) {
        let Change { birth, sats, coins } = *change;
        self.coins += coins;
        if sats == 0 {
            return;
        }
        self.supply += sats;
        let at = birth as usize;
        if self.unspent.len() <= at {
            self.unspent.resize(at + 1, 0);
        }
        self.unspent[at] += sats;
        match self.prices.at_birth(birth) {
            Ok(Some(price)) => self.realized.add(sats, price),
            Ok(None) => self.unpriced += sats,
            Err(_) => {
                let left = self.without_price.entry(birth).or_default();
                *left += sats;
                if *left == 0 {
                    self.without_price.remove(&birth);
                }
            }
        }
    }

    /// The next day.
    pub fn add(&mut self, day: &Day<'_>) -> Figures {
        day.changes.iter().for_each(|change| self.change(change));
        self.totals.add(&day.flows);
        let created = self.totals.created_by(day.last_block);
        let of_day = CoinTime { created: created - self.created, destroyed: day.flows.destroyed };
        self.created = created;
        let older = spent_of_older(day);
        let same_day = day.flows.spent_sats - older.iter().map(|(_, sats)| sats).sum::<i128>();
        let spending_of_older = Spending::of(day.day, older, &self.prices);
        let mut spending = spending_of_older;
        spending.add(&Spending::of(day.day, [(day.day, same_day)], &self.prices));
        let realized = self.realized();
        let market = self.prices.at(day.day).map(|price| {
            let mut market = Usd::default();
            market.add(self.supply, price);
            market
        });
        let ratio = |(market, realized): (Usd, Usd)| {
            let zero = if realized.is_zero() { Missing::DividedByZero } else { Missing::TooLarge };
            market.ratio(&realized).ok_or(zero)
        };
        Figures {
            day: day.day,
            flows: day.flows,
            supply_sats: self.supply,
            coins: self.coins,
            waves: self.waves(day.day),
            of_day,
            of_all: CoinTime { created, destroyed: self.totals.destroyed },
            market_cap: market.map(|usd| usd.cents()),
            realized_cap: realized.map(|usd| usd.cents()),
            mvrv: market.and_then(|market| Ok((market, realized?))).and_then(ratio),
            unpriced_sats: self.unpriced,
            spending,
            spending_of_older,
        }
    }

    fn realized(&self) -> Result<Usd, Missing> {
        let missing = self.without_price.keys().next().and_then(|day| self.prices.at_birth(*day).err());
        match missing {
            Some(missing) => Err(missing),
            // Without any price everything is unknown, even of no coins.
            None => match self.prices.at_birth(0) {
                Err(Missing::NoSeries) => Err(Missing::NoSeries),
                _ => Ok(self.realized),
            },
        }
    }

    /// Unspent satoshis by class of age.
    fn waves(&self, day: u32) -> [i128; AGE_CLASSES.len()] {
        let mut waves = [0; AGE_CLASSES.len()];
        self.by_class(day, |class, births| waves[class] = births.iter().sum());
        waves
    }

    /// Shows the days of birth of each class: their unspent satoshis.
    fn by_class(&self, day: u32, mut show: impl FnMut(usize, &[i128])) {
        // Ages from `from` up to `to` are the days of birth from `day − to + 1` up to `day − from`.
        let behind = |age: u64| u64::from(day).checked_sub(age).map_or(0, |birth| birth as usize + 1);
        for (class, bounds) in AGE_CLASSES.iter().enumerate() {
            let end = behind(bounds.from).min(self.unspent.len());
            let begin = bounds.to.map_or(0, behind).min(end);
            show(class, &self.unspent[begin..end]);
        }
    }

    /// The realized cap by class of age: how it is divided, in millionths of the whole, rounded down.
    ///
    /// # Errors
    /// Fails if the realized cap is not known, or if it is zero.
    pub fn realized_waves(&self, day: u32) -> Result<[i128; AGE_CLASSES.len()], Missing> {
        let whole = self.realized()?;
        let mut sums = [Usd::default(); AGE_CLASSES.len()];
        for (birth, sats) in (0u32..).zip(&self.unspent).filter(|(_, sats)| **sats != 0) {
            if let Ok(Some(price)) = self.prices.at_birth(birth) {
                sums[age_class(day.saturating_sub(birth))].add(*sats, price);
            }
        }
        let mut shares = [0; AGE_CLASSES.len()];
        for (share, sum) in shares.iter_mut().zip(sums) {
            *share = sum.ratio(&whole).ok_or(Missing::DividedByZero)?;
        }
        Ok(shares)
    }
}

/// Coins of earlier days that a day spent, by day of birth.
fn spent_of_older(day: &Day<'_>) -> Vec<(u32, i128)> {
    let sats = |sats: &u128| i128::try_from(*sats).unwrap_or(i128::MAX);
    match day.spent {
        Some(spent) => spent.range(..day.day).map(|(birth, spent)| (*birth, sats(spent))).collect(),
        // No coins with an earlier day of birth are made any more: a change of theirs is a spend.
        None => {
            let older = day.changes.iter().filter(|change| change.birth < day.day && change.sats != 0);
            older.map(|change| (change.birth, -change.sats)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use super::*;
    use crate::onchain::Closes;

    const DAY: u32 = 86_400;

    fn made(birth: u32, sats: i128) -> Change {
        Change { birth, sats, coins: 1 }
    }

    fn gone(birth: u32, sats: i128) -> Change {
        Change { birth, sats: -sats, coins: -1 }
    }

    fn day<'d>(day: u32, flows: Flows, changes: &'d [Change]) -> Day<'d> {
        Day { day, flows, changes, spent: None, last_block: day * DAY }
    }

    fn closes() -> Closes {
        Closes::of([(10, 10), (11, 20), (13, 40)].map(|(day, usd)| (day, Decimal::from(usd))))
    }

    #[test]
    fn coins_count_at_the_price_of_their_day() {
        let closes = closes();
        let mut days =
            Days::after(&[made(3, 100)], Flows { created_sats: 100, ..Flows::default() }, 0, Prices::of(&closes, None));
        let flows = Flows { created_sats: 8, spent_sats: 1, ..Flows::default() };
        // One of eight new satoshis is spent on the same day.
        let first = days.add(&day(10, flows, &[made(10, 7)]));
        assert_eq!((first.supply_sats, first.coins, first.unpriced_sats), (107, 2, 100));
        let million = |days: &mut Days<'_>, of: u32, sats: i128| {
            let sats = sats * 1_000_000;
            days.add(&day(of, Flows { created_sats: sats, ..Flows::default() }, &[made(of, sats)]))
        };
        // 7 × 10 are less than a cent; 2 million satoshis at 20 are 40 cents.
        assert_eq!((first.realized_cap, first.market_cap, first.mvrv), (Ok(0), Ok(0), Ok(107 * 1_000_000 / 7)));
        assert_eq!(
            (first.spending.sopr(), first.spending_of_older.sopr()),
            (Ok(1_000_000), Err(Missing::NothingPriced))
        );
        let second = million(&mut days, 11, 2);
        assert_eq!((second.realized_cap, second.market_cap), (Ok(40), Ok(40)));
        // A day without a close, until its coins are gone.
        assert_eq!(million(&mut days, 12, 1).realized_cap, Err(Missing::Gap { day: 12 }));
        let flows = Flows { spent_sats: 1_000_000, ..Flows::default() };
        let fourth = days.add(&day(13, flows, &[gone(12, 1_000_000)]));
        assert_eq!((fourth.realized_cap, fourth.spending.sopr()), (Ok(40), Err(Missing::Gap { day: 12 })));
        assert_eq!(fourth.unpriced_sats, 100);
        assert_eq!(days.realized_waves(17).unwrap()[1..3], [999_998, 1], "all but the seven satoshis");
    }

    #[test]
    fn what_is_overwritten_was_not_spent() {
        let closes = closes();
        let mut days = Days::after(&[made(10, 50), made(11, 9)], Flows::default(), 0, Prices::of(&closes, None));
        let flows = Flows { spent_sats: 5, overwritten_sats: 50, ..Flows::default() };
        let spent = BTreeMap::from([(11, 5u128)]);
        let changes = [gone(10, 50), gone(11, 5)];
        let figures = days.add(&Day { spent: Some(&spent), ..day(13, flows, &changes) });
        // 5 × 40 over 5 × 20, without the fifty.
        assert_eq!((figures.spending.sopr(), figures.supply_sats), (Ok(2_000_000), 4));
    }

    #[test]
    fn without_prices_values_are_unknown() {
        let closes = Closes::default();
        let mut days = Days::after(&[], Flows::default(), 0, Prices::of(&closes, Some(3)));
        let figures = days.add(&day(3, Flows::default(), &[]));
        let missing = Err(Missing::NoSeries);
        assert_eq!([figures.market_cap, figures.realized_cap, figures.mvrv], [missing; 3]);
    }

    #[test]
    fn coins_age_from_block_to_block() {
        let closes = closes();
        let mut days = Days::after(&[], Flows::default(), 0, Prices::of(&closes, None));
        // Ten satoshis made with the block at the end of the day, and five of them spent a day later.
        let first = Flows { created_sats: 10, created_moment: 10 * i128::from(10 * DAY), ..Flows::default() };
        let figures = days.add(&day(10, first, &[made(10, 10)]));
        assert_eq!((figures.of_day, figures.of_day.liveliness()), (CoinTime::default(), None));
        let second = Flows {
            spent_sats: 5,
            left_moment: 5 * i128::from(11 * DAY),
            destroyed: 5 * i128::from(DAY),
            ..Flows::default()
        };
        let figures = days.add(&day(11, second, &[gone(10, 5)]));
        assert_eq!(figures.of_day, CoinTime { created: 10 * i128::from(DAY), destroyed: 5 * i128::from(DAY) });
        assert_eq!((figures.of_day.created_days(), figures.of_day.destroyed_days()), (10, 5));
        assert_eq!(figures.of_day.liveliness(), Some(500_000));
        assert_eq!(figures.of_day.dormancy(5), Some(1_000_000));
        assert_eq!(figures.of_day.dormancy(0), None);
        // A quiet day: the last block is the same.
        let quiet = days.add(&Day { last_block: 11 * DAY, ..day(12, Flows::default(), &[]) });
        assert_eq!(quiet.of_day, CoinTime::default());
        assert_eq!(quiet.of_all, figures.of_all);
    }

    proptest! {
        #[test]
        fn every_coin_is_in_one_class(births in prop::collection::btree_map(0u32..6_000, 1u64..1_000, 0..40), later in 0u32..3_000) {
            let closes = closes();
            let unspent: Vec<Change> = births.iter().map(|(birth, sats)| made(*birth, i128::from(*sats))).collect();
            let now = births.keys().max().unwrap_or(&0) + later;
            let mut days = Days::after(&unspent, Flows::default(), 0, Prices::of(&closes, None));
            let figures = days.add(&day(now, Flows::default(), &[]));
            let mut expected = [0; AGE_CLASSES.len()];
            births.iter().for_each(|(birth, sats)| expected[age_class(now - birth)] += i128::from(*sats));
            prop_assert_eq!(figures.waves, expected);
        }
    }
}
