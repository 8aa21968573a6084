//! The active chain in memory: for each block its first transaction and its times. It takes 24 bytes per block (22 MB
//! on mainnet) and makes look-ups of block and time need no read.

use std::sync::Arc;

use cairn_model::{BlockHash, Height, MonoTime, TxNum};
use cairn_tables::headers::HeaderRow;

const CHUNK: usize = 4096;

/// Short form of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Brief {
    /// Number of the coinbase.
    pub first_tx: TxNum,
    /// Largest header time up to this block.
    pub mono_time: MonoTime,
    /// The header's own time.
    pub time: u32,
    /// First bytes of the hash, to notice a reorg.
    hash: [u8; 8],
}

/// Short forms of all blocks up to a tip. Cloning is cheap; a clone never changes.
#[derive(Clone, Default)]
pub struct ChainIndex {
    chunks: Vec<Arc<Vec<Brief>>>,
}

impl ChainIndex {
    /// Number of blocks: the tip's height + 1.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.chunks.last().map_or(0, |last| ((self.chunks.len() - 1) * CHUNK + last.len()) as u32)
    }

    /// True if it has no block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Short form of a block.
    #[must_use]
    pub fn get(&self, height: Height) -> Option<&Brief> {
        self.chunks.get(height as usize / CHUNK)?.get(height as usize % CHUNK)
    }

    /// True if the block at `height` has the same first bytes as `hash`.
    #[must_use]
    pub fn is(&self, height: Height, hash: &BlockHash) -> bool {
        self.get(height).is_some_and(|b| b.hash == hash.0[..8])
    }

    /// Height of the block that contains a transaction. Numbers beyond the tip give the tip.
    #[must_use]
    pub fn height_of(&self, tx_num: TxNum) -> Option<Height> {
        self.last_where(|b| b.first_tx <= tx_num)
    }

    /// The highest block whose monotone time is at or before `time`.
    #[must_use]
    pub fn height_at(&self, time: MonoTime) -> Option<Height> {
        self.last_where(|b| b.mono_time <= time)
    }

    fn last_where(&self, holds: impl Fn(&Brief) -> bool) -> Option<Height> {
        let chunk = self.chunks.partition_point(|c| c.first().is_some_and(&holds)).checked_sub(1)?;
        let within = self.chunks[chunk].partition_point(holds);
        Some((chunk * CHUNK + within - 1) as Height)
    }

    /// Appends the next block.
    pub(crate) fn push(&mut self, row: &HeaderRow) {
        let mut hash = [0u8; 8];
        hash.copy_from_slice(&row.hash.0[..8]);
        let brief = Brief { first_tx: row.first_tx, mono_time: row.mono_time, time: row.time(), hash };
        match self.chunks.last_mut().filter(|c| c.len() < CHUNK) {
            Some(chunk) => Arc::make_mut(chunk).push(brief),
            None => self.chunks.push(Arc::new(vec![brief])),
        }
    }

    /// Removes the blocks at and above `len`.
    pub(crate) fn truncate(&mut self, len: u32) {
        let len = len as usize;
        self.chunks.truncate(len.div_ceil(CHUNK));
        if !len.is_multiple_of(CHUNK)
            && let Some(last) = self.chunks.last_mut()
        {
            Arc::make_mut(last).truncate(len % CHUNK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(n: u32) -> ChainIndex {
        let mut index = ChainIndex::default();
        for h in 0..n {
            let mut header = [0u8; 80];
            header[68..72].copy_from_slice(&(h * 10).to_le_bytes());
            let row = HeaderRow {
                hash: BlockHash([h as u8; 32]),
                header,
                mono_time: h * 10,
                first_tx: TxNum(u64::from(h) * 3),
                tx_count: 3,
                size: 0,
                weight: 0,
                fees: 0,
                output_sats: 0,
                coinbase_sats: 0,
                input_count: 0,
                output_count: 0,
                position: None,
                coinbase_script: vec![],
            };
            index.push(&row);
        }
        index
    }

    #[test]
    fn finds_blocks_by_transaction_and_time() {
        let index = chain(10_000);
        assert_eq!(index.len(), 10_000);
        for h in [0u32, 1, 4095, 4096, 4097, 8191, 8192, 9999] {
            for offset in 0..3 {
                assert_eq!(index.height_of(TxNum(u64::from(h) * 3 + offset)), Some(h));
            }
            assert_eq!(index.height_at(h * 10), Some(h));
            assert_eq!(index.height_at(h * 10 + 9), Some(h));
        }
        assert_eq!(ChainIndex::default().height_at(5), None);
    }

    #[test]
    fn truncating_and_growing_again_is_the_same() {
        for cut in [0u32, 1, 4095, 4096, 4097, 5000] {
            let mut index = chain(5000);
            index.truncate(cut);
            assert_eq!(index.len(), cut);
            let whole = chain(5000);
            assert!((0..cut).all(|h| index.get(h) == whole.get(h)));
        }
    }
}
