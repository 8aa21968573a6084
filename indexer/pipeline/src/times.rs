//! Times of the chain, as the index has them.

use cairn_model::{DAY_SECS, Height, MonoTime, TxNum, day_of};
use cairn_reader::ChainIndex;
use cairn_stages::{ChainTimes, Times};

/// The times of a view's chain. Views are one thread's, times are not.
pub(crate) struct IndexTimes(pub(crate) ChainIndex);

impl IndexTimes {
    /// Returns the same in a form that finds days faster, for callers that ask for many.
    pub(crate) fn compact(&self) -> ChainTimes {
        let blocks = (0..self.0.len()).filter_map(|height| self.0.get(height));
        ChainTimes::of(blocks.map(|block| (block.mono_time, block.first_tx)))
    }
}

impl Times for IndexTimes {
    fn mono_time(&self, height: Height) -> Option<MonoTime> {
        self.0.get(height).map(|block| block.mono_time)
    }

    fn day_of(&self, tx_num: TxNum) -> u32 {
        self.0.height_of(tx_num).and_then(|height| self.mono_time(height)).map_or(0, day_of)
    }

    fn first_of_day(&self, day: u32) -> Option<TxNum> {
        let before = day.checked_mul(DAY_SECS).and_then(|start| self.0.height_at(start.checked_sub(1)?));
        self.0.get(before.map_or(0, |height| height + 1)).map(|block| block.first_tx)
    }
}
