//! When blocks and transactions were: monotone time by height, days by transaction.

use cairn_model::{Block, Height, MonoTime, TxNum, day_of};

/// Times of the chain's blocks and transactions.
pub trait Times: Sync {
    /// Monotone time of a block; `None` above the newest one that is known.
    fn mono_time(&self, height: Height) -> Option<MonoTime>;

    /// Day of a transaction, by monotone time; that of the newest block above it.
    fn day_of(&self, tx_num: TxNum) -> u32;

    /// The first transaction of that day or of a later one; `None` if there is none.
    fn first_of_day(&self, day: u32) -> Option<TxNum>;
}

/// Times of a chain, in 4 bytes a block and 32 a day.
#[derive(Clone, Debug, Default)]
pub struct ChainTimes {
    times: Vec<MonoTime>,
    /// Days that have blocks, each with its first transaction.
    days: Vec<(TxNum, u32)>,
    /// For each 2^`shift` transactions, the number of days that begin before them. The day of a transaction is asked
    /// for more often than all else, and a search among all days would cost more than what it is asked for.
    begun: Vec<u32>,
    shift: u32,
}

impl ChainTimes {
    /// Times of blocks from genesis on: the monotone time and the first transaction of each.
    pub fn of(blocks: impl IntoIterator<Item = (MonoTime, TxNum)>) -> Self {
        let mut chain = ChainTimes::default();
        for (time, first_tx) in blocks {
            chain.times.push(time);
            if chain.days.last().is_none_or(|(_, day)| *day < day_of(time)) {
                chain.days.push((first_tx, day_of(time)));
            }
        }
        let end = chain.days.last().map_or(0, |(first, _)| first.0);
        chain.shift = (end / (chain.days.len() as u64 * 4).max(1)).max(1).ilog2();
        chain.begun = (0..=end >> chain.shift).map(|at| chain.days_before(at << chain.shift) as u32).collect();
        chain
    }

    fn days_before(&self, tx: u64) -> usize {
        self.days.partition_point(|(first, _)| first.0 < tx)
    }
}

impl Times for ChainTimes {
    fn mono_time(&self, height: Height) -> Option<MonoTime> {
        self.times.get(height as usize).copied()
    }

    fn day_of(&self, tx_num: TxNum) -> u32 {
        let part = usize::try_from(tx_num.0 >> self.shift).unwrap_or(usize::MAX);
        let begun = |part: usize| self.begun.get(part).map_or(self.days.len(), |days| *days as usize);
        let (from, to) = (begun(part), begun(part.saturating_add(1)));
        let at = from + self.days[from..to].partition_point(|(first, _)| *first <= tx_num);
        self.days.get(at.saturating_sub(1)).map_or(0, |(_, day)| *day)
    }

    fn first_of_day(&self, day: u32) -> Option<TxNum> {
        let at = self.days.partition_point(|(_, other)| *other < day);
        self.days.get(at).map(|(first, _)| *first)
    }
}

/// The times of a chain up to a block, where `chain` has those of the blocks below it, and perhaps more.
#[derive(Clone, Copy)]
pub struct TimesUpTo<'t> {
    /// The chain.
    pub chain: &'t dyn Times,
    /// The block.
    pub block: &'t Block,
}

impl Times for TimesUpTo<'_> {
    fn mono_time(&self, height: Height) -> Option<MonoTime> {
        match height.cmp(&self.block.height) {
            std::cmp::Ordering::Less => self.chain.mono_time(height),
            std::cmp::Ordering::Equal => Some(self.block.mono_time),
            std::cmp::Ordering::Greater => None,
        }
    }

    fn day_of(&self, tx_num: TxNum) -> u32 {
        if tx_num >= self.block.first_tx { day_of(self.block.mono_time) } else { self.chain.day_of(tx_num) }
    }

    fn first_of_day(&self, day: u32) -> Option<TxNum> {
        let below = self.chain.first_of_day(day).filter(|first| *first < self.block.first_tx);
        below.or_else(|| (day <= day_of(self.block.mono_time)).then_some(self.block.first_tx))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days of very different length, and transactions far behind the last: as a search among all days.
    #[test]
    fn the_day_of_each_transaction() {
        const DAY: u32 = 86_400;
        let chains: [&[(u32, u64)]; 6] = [
            &[],
            &[(3, 0)],
            &[(3, 0), (4, 1)],
            &[(3, 0), (4, 1), (5, 2), (9, 3), (10, 1_000), (11, 1_001), (12, 70_000)],
            &[(3, 0), (4, 100_000), (5, 100_001), (6, 100_002), (8, 100_003), (90, 100_900)],
            &[(1, 0), (2, 1 << 31), (3, (1 << 31) + 5), (4, 1 << 33)],
        ];
        for days in chains {
            let times = ChainTimes::of(days.iter().map(|(day, first)| (day * DAY + 7, TxNum(*first))));
            let firsts = days.iter().flat_map(|(_, first)| first.saturating_sub(2)..first + 3);
            for tx in firsts.chain((0..110_000).step_by(61)).chain([1 << 32, 1 << 39, u64::MAX]) {
                let expected = days.iter().rfind(|(_, first)| *first <= tx).map_or(0, |(day, _)| *day);
                assert_eq!(times.day_of(TxNum(tx)), expected, "transaction {tx} of {days:?}");
            }
        }
    }
}
