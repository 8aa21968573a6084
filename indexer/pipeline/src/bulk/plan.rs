//! How much bulk indexing takes at a time, and how the work is cut.

use cairn_model::TxNum;
use cairn_stages::Spread;
use serde::{Deserialize, Serialize};

/// Bytes of memory that the database, the writers of table files and queues take while tables are sorted.
const OTHERS: u64 = 64 << 20;

/// How much bulk indexing takes at a time: memory against the number of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BulkSizes {
    /// Bytes of blocks that are decoded together, and so the memory that they take several times over.
    pub batch_bytes: u64,
    /// Bytes of blocks for each partition of a spill.
    pub partition_bytes: u64,
    /// Bytes of rows after which a file of rows that rise with the chain is completed and the next begun.
    pub file_bytes: u64,
    /// Bytes of memory that a thread may take to sort or join; what takes more is done in parts.
    pub sort_bytes: u64,
    /// Bytes of memory for the buffers of one spill's partitions together.
    pub buffer_bytes: u64,
    /// Seconds between two points from which a killed run goes on.
    pub save_seconds: u64,
}

impl BulkSizes {
    /// Derives the sizes from the memory in all, in bytes, and the number of threads.
    #[must_use]
    pub fn of_memory(bytes: u64, threads: usize) -> Self {
        let threads = threads.max(1) as u64;
        BulkSizes {
            // Two batches are under way at a time, each of some five times its bytes.
            batch_bytes: (bytes / 64).clamp(1 << 20, 32 << 20),
            // Small enough for the caches of the processor where the chain is small.
            partition_bytes: 64 << 20,
            file_bytes: 256 << 20,
            sort_bytes: ((bytes / 3).min(bytes.saturating_sub(OTHERS) / 2) / threads).max(8 << 20),
            buffer_bytes: (bytes / 64).clamp(1 << 20, 32 << 20),
            save_seconds: 20,
        }
    }
}

impl Default for BulkSizes {
    fn default() -> Self {
        BulkSizes::of_memory(4 << 30, rayon::current_num_threads())
    }
}

/// Sizes, with those that depend on the amount of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) sizes: BulkSizes,
    pub(crate) partitions: usize,
    /// One past the last transaction number.
    pub(crate) tx_end: u64,
}

impl Plan {
    pub(crate) fn of(sizes: BulkSizes, block_bytes: u64, tx_end: u64) -> Self {
        let partitions = block_bytes.div_ceil(sizes.partition_bytes.max(1)).clamp(1, 256) as usize;
        Plan { sizes, partitions, tx_end: tx_end.max(1) }
    }

    /// Partition of a key that begins with a hash.
    pub(crate) fn by_hash(&self, hash: &[u8]) -> usize {
        let high =
            usize::from(hash.first().copied().unwrap_or(0)) << 8 | usize::from(hash.get(1).copied().unwrap_or(0));
        (high * self.partitions) >> 16
    }

    /// Partition of a transaction number.
    pub(crate) fn by_tx(&self, tx_num: u64) -> usize {
        let at = u128::from(tx_num) * self.partitions as u128 / u128::from(self.tx_end);
        (at as usize).min(self.partitions - 1)
    }

    pub(crate) fn partition(&self, spread: Spread, key: &[u8]) -> usize {
        match spread {
            Spread::Ascending | Spread::Few | Spread::Heard => 0,
            Spread::Hash { skip } => self.by_hash(key.get(skip..).unwrap_or_default()),
            Spread::TxNum => self.by_tx(key.first_chunk::<5>().map_or(0, |b| TxNum::from_be5(*b).0)),
        }
    }

    /// First transaction number of a partition; the end of all for the one after the last.
    pub(crate) fn first_tx(&self, partition: usize) -> u64 {
        let first = (partition as u128 * u128::from(self.tx_end)).div_ceil(self.partitions as u128);
        first as u64
    }

    /// Number of parts into which work is cut that takes `bytes` bytes of memory.
    pub(crate) fn parts(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.sizes.sort_bytes.max(1)).max(1)
    }

    /// Buffer of each partition's file, in bytes.
    pub(crate) fn spill_buffer(&self) -> usize {
        (self.sizes.buffer_bytes as usize / self.partitions).clamp(4 << 10, 128 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_begin_where_the_one_before_ends() {
        for (partitions, tx_end) in [(1, 1), (3, 10), (7, 7), (7, 5), (256, 1_350_000_000), (5, 474_886)] {
            let plan = Plan { sizes: BulkSizes::default(), partitions, tx_end };
            assert_eq!((plan.first_tx(0), plan.first_tx(partitions)), (0, tx_end));
            for partition in 0..partitions {
                let (from, to) = (plan.first_tx(partition), plan.first_tx(partition + 1));
                for tx in [from, from + (to - from) / 2, to.saturating_sub(1)] {
                    assert!(!(from..to).contains(&tx) || plan.by_tx(tx) == partition, "{tx} of {plan:?}");
                }
            }
        }
    }
}
