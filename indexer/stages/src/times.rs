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

/// Times of a chain, in 4 bytes a block and 16 a day.
#[derive(Clone, Debug, Default)]
pub struct ChainTimes {
    times: Vec<MonoTime>,
    /// Days that have blocks, each with its first transaction.
    days: Vec<(TxNum, u32)>,
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
        chain
    }
}

impl Times for ChainTimes {
    fn mono_time(&self, height: Height) -> Option<MonoTime> {
        self.times.get(height as usize).copied()
    }

    fn day_of(&self, tx_num: TxNum) -> u32 {
        let at = self.days.partition_point(|(first, _)| *first <= tx_num);
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
