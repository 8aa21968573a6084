//! Outpoints meet the numbers of their transactions.

use cairn_model::{TxNum, Txid};
use cairn_sources::Survey;
use cairn_stages::Delta;

use super::{
    BulkOptions, lacks_undo,
    link::{EDGES, TXIDS},
    manifest::Manifest,
    spill::{SpillWriter, damaged, read_partition, remove_partition},
    step,
};
use crate::{Phase, PipelineError, Progress, Step, groups::sorted};

/// Spender TxNum ‖ index among the block's inputs → funding TxNum ‖ vout.
pub(crate) const PREVOUTS: &str = "join-prevouts";
/// Funding TxNum ‖ vout → spender TxNum ‖ index; only of blocks without undo data.
pub(crate) const WANTED: &str = "join-wanted";

/// What the join found.
pub(crate) struct Joined {
    pub(crate) repeated_txids: Vec<Vec<u64>>,
}

pub(crate) fn run(
    manifest: &Manifest,
    survey: &Survey,
    options: &BulkOptions,
    progress: &dyn Progress,
) -> Result<Joined, PipelineError> {
    let (plan, dir) = (manifest.plan, manifest.dir());
    let heights = Heights::of(survey, options);
    let mut prevouts = SpillWriter::create(dir, PREVOUTS, plan.partitions)?;
    let mut wanted = SpillWriter::create(dir, WANTED, plan.partitions)?;
    let mut repeated_txids = Vec::new();
    for partition in 0..plan.partitions {
        let (txid_bytes, edge_bytes) = (read_partition(dir, TXIDS, partition)?, read_partition(dir, EDGES, partition)?);
        let (txids, edges) = rayon::join(|| sorted(&txid_bytes), || sorted(&edge_bytes));
        let txids = txids.ok_or_else(|| damaged(dir, TXIDS, partition))?;
        let edges = edges.ok_or_else(|| damaged(dir, EDGES, partition))?;
        let mut numbers = txids.chunk_by(|a, b| a.key == b.key).peekable();
        for same in txids.chunk_by(|a, b| a.key == b.key).filter(|same| same.len() > 1) {
            repeated_txids.push(same.iter().map(|d| number(d.value).0).collect());
        }
        for edge in &edges {
            let (txid, vout) = edge.key.split_at(32);
            while numbers.next_if(|same| same[0].key < txid).is_some() {}
            let spender = number(edge.value);
            let funding = numbers.peek().filter(|same| same[0].key == txid).and_then(|same| newest(same, spender));
            let Some(funding) = funding else {
                return Err(missing(&heights, survey, spender, txid, vout));
            };
            let mut outpoint = [0u8; 9];
            outpoint[..5].copy_from_slice(&funding.to_be5());
            outpoint[5..].copy_from_slice(vout);
            prevouts.put(plan.by_tx(spender.0), edge.value, &outpoint)?;
            if heights.lacks_undo(spender) {
                wanted.put(plan.by_tx(funding.0), &outpoint, edge.value)?;
            }
        }
        step(
            progress,
            Step { phase: Phase::Join, done: partition as u64 + 1, total: plan.partitions as u64, bytes: 0 },
        )?;
    }
    prevouts.finish()?;
    wanted.finish()?;
    // Only now: until the manifest says that the join is done, it may have to start again.
    Ok(Joined { repeated_txids })
}

/// Removes what the join has read. Called once the manifest has noted the join.
pub(crate) fn clean(manifest: &Manifest) -> Result<(), PipelineError> {
    for partition in 0..manifest.plan.partitions {
        remove_partition(manifest.dir(), TXIDS, partition)?;
        remove_partition(manifest.dir(), EDGES, partition)?;
    }
    Ok(())
}

/// The number at the start of a value.
fn number(value: &[u8]) -> TxNum {
    let mut bytes = [0u8; 5];
    bytes.copy_from_slice(&value[..5]);
    TxNum::from_be5(bytes)
}

/// Of transactions with one txid, the newest before the spender: an older one with coins left was overwritten, one
/// without cannot be meant.
fn newest(same: &[Delta<'_>], spender: TxNum) -> Option<TxNum> {
    same.iter().map(|d| number(d.value)).filter(|n| *n < spender).max()
}

fn missing(heights: &Heights, survey: &Survey, spender: TxNum, txid: &[u8], vout: &[u8]) -> PipelineError {
    let height = heights.height_of(spender);
    let mut id = Txid::default();
    id.0.copy_from_slice(txid);
    let vout = vout.first_chunk::<4>().map_or(0, |b| u32::from_be_bytes(*b));
    let hash = survey.block(height).map(|b| b.hash).unwrap_or_default();
    PipelineError::MissingCoin { height, hash, txid: id, vout }
}

/// First transaction of each block, and which blocks lack undo data.
struct Heights {
    firsts: Vec<u64>,
    without: Vec<bool>,
    any: bool,
}

impl Heights {
    fn of(survey: &Survey, options: &BulkOptions) -> Self {
        let blocks = survey.blocks(0..options.to + 1);
        let (firsts, without): (Vec<u64>, Vec<bool>) =
            blocks.map(|b| (b.first_tx.0, lacks_undo(b.undo.is_some(), b.height, options))).unzip();
        let any = without.iter().any(|w| *w);
        Heights { firsts, without, any }
    }

    fn height_of(&self, tx_num: TxNum) -> u32 {
        self.firsts.partition_point(|first| *first <= tx_num.0).saturating_sub(1) as u32
    }

    fn lacks_undo(&self, spender: TxNum) -> bool {
        self.any && self.without[self.height_of(spender) as usize]
    }
}
