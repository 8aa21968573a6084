//! The next blocks as they would be mined now, and the position of each transaction. Computed once after a batch of
//! deltas, then only read.

use cairn_model::{Sats, Txid};

use super::{
    Bucket, Mempool, MempoolTip, Outline, Selection, Template,
    chunks::by_chunks,
    graph::Graph,
    histogram::{BUCKET_EDGES, bucket_of, histogram},
    select::{NO_BLOCK, Selected, by_ancestors},
};
use crate::{FeeRate, fee_percentiles};

/// Id of the definition of projected blocks.
pub const PROJECTED_BLOCKS: &str = "projected-blocks";
/// Id of the definition of the time to confirmation.
pub const MEMPOOL_ETA: &str = "mempool-eta";

/// Feerates in a block. Each transaction counts at the feerate of the package or chunk it was chosen with, so that a
/// parent whose child pays for it does not look cheap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeeRange {
    /// The lowest.
    pub min: FeeRate,
    /// Feerates below which 10, 25, 50, 75 and 90 % of the weight is.
    pub percentiles: [FeeRate; 5],
    /// The highest.
    pub max: FeeRate,
}

impl FeeRange {
    /// The 50th percentile.
    #[must_use]
    pub fn median(&self) -> FeeRate {
        self.percentiles[2]
    }
}

/// A block that would be mined now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProjectedBlock {
    /// 0 is the next block.
    pub index: u32,
    /// Transactions, without the coinbase.
    pub tx_count: u64,
    /// Their weight.
    pub weight: u64,
    /// Their weight / 4, rounded up.
    pub vsize: u64,
    /// Cost of their signature operations.
    pub sigop_cost: u64,
    /// Sum of their fees.
    pub fees_sats: Sats,
    /// Their feerates.
    pub rates: FeeRange,
}

/// Position of a transaction in the projection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProjectedPosition {
    /// Index of its block, 0 being the next one; `None` if it is in none of those projected.
    pub block: Option<u32>,
    /// Its effective feerate: that of the package or chunk with which it is or would be selected.
    pub rate: FeeRate,
}

/// Estimated confirmation of a transaction if no other transactions arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eta {
    /// In this many blocks; 1 is the next one.
    Blocks(u32),
    /// After all projected blocks: estimated from the backlog at its feerate or a higher one.
    Beyond {
        /// Minimum number of blocks until confirmation.
        at_least: u32,
        /// Number of blocks after which everything in its histogram bucket and above is mined.
        estimate: u32,
    },
    /// It pays less than the miners' minimum.
    BelowMinimum,
}

/// An immutable projection of the mempool into blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Projection {
    /// [`super::Stats::generation`] of the mempool that it was made from.
    pub generation: u64,
    /// The node's mempool sequence.
    pub node_sequence: Option<u64>,
    /// Tip that the blocks build on.
    pub tip: Option<MempoolTip>,
    /// Rules of the blocks.
    pub template: Template,
    /// Transactions in the mempool.
    pub count: u64,
    /// Sum of their adjusted virtual sizes.
    pub vsize: u64,
    /// Sum of their fees.
    pub fees_sats: Sats,
    /// The next blocks; fewer than requested if they contain everything.
    pub blocks: Vec<ProjectedBlock>,
    /// The histogram by feerate, ascending, without gaps.
    pub histogram: Vec<Bucket>,
    /// Virtual bytes in no block, by bucket.
    left_by_bucket: Vec<u64>,
    /// Ascending; the other lists are in this order.
    txids: Vec<Txid>,
    block_of: Vec<u8>,
    rate: Vec<FeeRate>,
    /// Numbers of the transactions of each block, in its order.
    orders: Vec<Vec<u32>>,
}

impl Mempool {
    /// Projects the next blocks: [`Self::outline`] and [`Outline::project`] in one step, for callers without a lock.
    #[must_use]
    pub fn project(&self, template: &Template) -> Projection {
        self.outline().project(template)
    }
}

impl Outline {
    /// Projects the next blocks. This works on every transaction: once per batch of deltas, not per request, and not
    /// under a lock.
    #[must_use]
    pub fn project(self, template: &Template) -> Projection {
        let graph = Graph::of(&self);
        let stats = self.stats;
        drop(self);
        let Selected { blocks: filled, block_of, rate } = match template.selection {
            Selection::AncestorFeerate => by_ancestors(&graph, template),
            Selection::ChunkFeerate => by_chunks(&graph, template),
        };
        let mut blocks = Vec::with_capacity(filled.len());
        let mut orders = Vec::with_capacity(filled.len());
        for (block, index) in filled.into_iter().zip(0u32..) {
            let rated = |tx: &u32| (rate[*tx as usize], u64::from(graph.weight[*tx as usize]));
            let mut rates: Vec<(FeeRate, u64)> = block.txs.iter().map(rated).collect();
            let Some(percentiles) = fee_percentiles(&mut rates) else { continue };
            // They are sorted now.
            let (Some((min, _)), Some((max, _))) = (rates.first(), rates.last()) else { continue };
            blocks.push(ProjectedBlock {
                index,
                tx_count: block.txs.len() as u64,
                weight: block.weight,
                vsize: block.weight.div_ceil(4),
                sigop_cost: block.sigops,
                fees_sats: block.fees,
                rates: FeeRange { min: *min, percentiles, max: *max },
            });
            orders.push(block.txs);
        }
        let vsize = |at: usize| u64::from(graph.vsize[at]);
        let mut left_by_bucket = vec![0u64; BUCKET_EDGES.len()];
        for at in (0..graph.len()).filter(|at| block_of[*at] == NO_BLOCK) {
            if let Some(left) = left_by_bucket.get_mut(bucket_of(rate[at])) {
                *left = left.saturating_add(vsize(at));
            }
        }
        Projection {
            generation: stats.generation,
            node_sequence: stats.node_sequence,
            tip: stats.tip,
            template: *template,
            count: stats.count,
            vsize: stats.vsize,
            fees_sats: stats.fees_sats,
            blocks,
            histogram: histogram((0..graph.len()).map(|at| (rate[at], vsize(at)))),
            left_by_bucket,
            txids: graph.txids,
            block_of,
            rate,
            orders,
        }
    }
}

impl Projection {
    /// Position of a transaction; `None` if it was not in the mempool.
    #[must_use]
    pub fn position(&self, txid: &Txid) -> Option<ProjectedPosition> {
        let at = self.txids.binary_search(txid).ok()?;
        let block = self.block_of.get(at).copied().filter(|block| *block != NO_BLOCK).map(u32::from);
        Some(ProjectedPosition { block, rate: *self.rate.get(at)? })
    }

    /// Estimated confirmation of a transaction; `None` if it was not in the mempool.
    #[must_use]
    pub fn eta(&self, txid: &Txid) -> Option<Eta> {
        let position = self.position(txid)?;
        if let Some(block) = position.block {
            return Some(Eta::Blocks(block + 1));
        }
        if position.rate < self.template.min_rate {
            return Some(Eta::BelowMinimum);
        }
        let ahead = self.left_by_bucket.iter().skip(bucket_of(position.rate));
        let ahead = ahead.fold(0u64, |sum, vsize| sum.saturating_add(*vsize));
        let projected = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        let further = u32::try_from(ahead.div_ceil(self.template.capacity())).unwrap_or(u32::MAX);
        Some(Eta::Beyond { at_least: projected.saturating_add(1), estimate: projected.saturating_add(further) })
    }

    /// Ids of the transactions in ascending order of their bytes, those after `after` if it is given.
    pub fn txids_after(&self, after: Option<&Txid>) -> impl Iterator<Item = &Txid> {
        let from = after.map_or(0, |after| self.txids.partition_point(|txid| txid <= after));
        self.txids.iter().skip(from)
    }

    /// The transactions of a projected block, in an order valid in a block.
    pub fn txids_of(&self, block: usize) -> impl Iterator<Item = &Txid> {
        self.orders.get(block).into_iter().flatten().filter_map(|number| self.txids.get(*number as usize))
    }

    /// Median feerate of the next block; 0 if the mempool is empty.
    #[must_use]
    pub fn next_block_median(&self) -> FeeRate {
        self.blocks.first().map_or(FeeRate(0), |block| block.rates.median())
    }
}
