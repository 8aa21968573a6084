//! The effect of a block on the mempool.

use cairn_mempool::IndexTip;
use cairn_model::{BlockHash, Height, Txid};
use cairn_sources::Decoded;

/// Data of a block that is needed once it is connected.
pub(super) struct BlockEffects {
    pub(super) txids: Vec<Txid>,
    pub(super) spent: Vec<(Txid, u32)>,
    hash: BlockHash,
    time: u32,
}

impl BlockEffects {
    /// The data of a block that is about to be connected.
    pub(super) fn of(block: &Decoded) -> Self {
        let time = block.header.get(68..72).and_then(|b| b.first_chunk::<4>()).map_or(0, |b| u32::from_le_bytes(*b));
        BlockEffects {
            txids: block.txs.iter().map(|tx| tx.txid).collect(),
            spent: block.prevouts.iter().map(|p| (p.txid, p.vout)).collect(),
            hash: block.hash,
            time,
        }
    }

    pub(super) fn tip(&self, height: Height) -> IndexTip {
        IndexTip { height, hash: self.hash, time: self.time }
    }
}
