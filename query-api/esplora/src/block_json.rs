//! Blocks as JSON.

use cairn_chain::Pinned;
use cairn_domain::difficulty;
use cairn_model::{Height, Txid};
use cairn_tables::headers::HeaderRow;
use serde::Serialize;

/// A block without its transactions.
#[derive(Debug, Serialize)]
pub(crate) struct BlockJson {
    id: String,
    height: Height,
    version: u32,
    timestamp: u32,
    tx_count: u32,
    size: u32,
    weight: u32,
    merkle_root: String,
    previousblockhash: Option<String>,
    mediantime: u32,
    nonce: u32,
    bits: u32,
    difficulty: f64,
}

impl BlockJson {
    /// The block at a height of the chain.
    pub(crate) fn new(at: &Pinned<'_>, height: Height, row: &HeaderRow) -> Self {
        BlockJson {
            id: row.hash.to_string(),
            height,
            version: row.version().cast_unsigned(),
            timestamp: row.time(),
            tx_count: row.tx_count,
            size: row.size,
            weight: row.weight,
            // The hashes of a tree are written like txids.
            merkle_root: Txid(row.merkle_root()).to_string(),
            previousblockhash: (height > 0).then(|| row.previous().to_string()),
            mediantime: median_time(at, height),
            nonce: row.nonce(),
            bits: row.bits(),
            difficulty: difficulty(row.bits()).unwrap_or_default(),
        }
    }
}

/// Number of blocks in the median of times.
const SPAN: Height = 11;

/// The median of the times of a block and the ten before it.
pub(crate) fn median_time(at: &Pinned<'_>, height: Height) -> u32 {
    let blocks = height.saturating_sub(SPAN - 1)..=height;
    let mut times: Vec<u32> = blocks.filter_map(|height| at.view.chain().get(height)).map(|block| block.time).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
