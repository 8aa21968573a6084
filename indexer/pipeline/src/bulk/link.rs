//! First pass over the blocks: which txid has which number, which input names which output, which script prefixes
//! collide.

use cairn_model::TxNum;
use cairn_reader::Facts;
use cairn_sources::{BlockFiles, BlockRef, Decoded, Survey};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::{
    BulkOptions, Plan, blocks_step,
    manifest::Manifest,
    spill::{SpillWriter, damaged, read_partition, remove_partition},
};
use crate::{
    Phase, PipelineError, Progress, Step,
    groups::{put_record, sorted},
};

/// txid → TxNum.
pub(crate) const TXIDS: &str = "link-txids";
/// txid of the funding transaction ‖ vout → spender TxNum ‖ index among the block's inputs.
pub(crate) const EDGES: &str = "link-edges";
/// Prefix ‖ next 8 bytes of the script's hash → ∅.
const SCRIPTS: &str = "link-scripts";

/// What the pass found.
pub(crate) struct Linked {
    pub(crate) colliding_prefixes: Vec<[u8; 8]>,
}

/// Consecutive blocks of at most so many bytes together (or one larger one).
pub(crate) fn batches(survey: &Survey, to: u32, most: u64) -> impl Iterator<Item = Vec<BlockRef>> {
    let mut blocks = survey.blocks(0..to + 1).peekable();
    std::iter::from_fn(move || {
        let mut batch = vec![blocks.next()?];
        let mut bytes = u64::from(batch[0].size);
        while let Some(next) = blocks.next_if(|b| bytes + u64::from(b.size) <= most && batch.len() < 4096) {
            bytes += u64::from(next.size);
            batch.push(next);
        }
        Some(batch)
    })
}

/// Records per partition.
type Cut = Vec<Vec<u8>>;

struct Links {
    txids: Cut,
    edges: Cut,
    scripts: Cut,
}

pub(crate) fn run(
    manifest: &Manifest,
    files: &BlockFiles,
    survey: &Survey,
    facts: &Facts,
    options: &BulkOptions,
    progress: &dyn Progress,
) -> Result<Linked, PipelineError> {
    let (plan, dir) = (manifest.plan, manifest.dir());
    let create = |name| SpillWriter::create(dir, name, plan.partitions);
    let (mut txids, mut edges, mut scripts) = (create(TXIDS)?, create(EDGES)?, create(SCRIPTS)?);
    let (mut done, mut bytes) = (0, 0);
    for batch in batches(survey, options.to, plan.sizes.batch_bytes) {
        // As many pieces as threads, so that each makes few and long runs of records.
        let piece = batch.len().div_ceil(rayon::current_num_threads()).max(1);
        let found: Vec<Links> = batch
            .par_chunks(piece)
            .map(|blocks| link(files, blocks, plan, facts))
            .collect::<Result<_, PipelineError>>()?;
        for links in found {
            for (spill, cut) in [(&mut txids, links.txids), (&mut edges, links.edges), (&mut scripts, links.scripts)] {
                for (partition, records) in cut.into_iter().enumerate().filter(|(_, r)| !r.is_empty()) {
                    spill.put_raw(partition, &records)?;
                }
            }
        }
        done += batch.len() as u64;
        bytes += batch.iter().map(|b| u64::from(b.size)).sum::<u64>();
        blocks_step(progress, Phase::Link, done, u64::from(options.to) + 1, bytes)?;
    }
    scripts.finish()?;
    txids.finish()?;
    edges.finish()?;
    let mut colliding_prefixes = Vec::new();
    for partition in 0..plan.partitions {
        collisions_in(manifest, partition, &mut colliding_prefixes)?;
        progress.step(Step { phase: Phase::Link, done, total: u64::from(options.to) + 1, bytes });
    }
    Ok(Linked { colliding_prefixes })
}

fn link(files: &BlockFiles, blocks: &[BlockRef], plan: Plan, facts: &Facts) -> Result<Links, PipelineError> {
    let empty = || vec![Vec::new(); plan.partitions];
    let mut links = Links { txids: empty(), edges: empty(), scripts: empty() };
    let mut buf = Vec::new();
    for at in blocks {
        let decoded = files.read_decoded(at, facts.script_prefix, &mut buf)?;
        link_block(&decoded, at, plan, facts, &mut links);
    }
    Ok(links)
}

fn link_block(decoded: &Decoded, at: &BlockRef, plan: Plan, facts: &Facts, links: &mut Links) {
    let mut key = [0u8; 36];
    let mut value = [0u8; 9];
    for (i, tx) in decoded.txs.iter().enumerate() {
        let number = TxNum(at.first_tx.0 + i as u64).to_be5();
        put_record(&mut links.txids[plan.by_hash(&tx.txid.0)], &tx.txid.0, &number);
        for input in tx.inputs.clone() {
            let prevout = &decoded.prevouts[input as usize];
            key[..32].copy_from_slice(&prevout.txid.0);
            key[32..].copy_from_slice(&prevout.vout.to_be_bytes());
            value[..5].copy_from_slice(&number);
            value[5..].copy_from_slice(&input.to_be_bytes());
            put_record(&mut links.edges[plan.by_hash(&key)], &key, &value);
        }
    }
    for output in decoded.outputs.iter().filter(|o| o.spendable) {
        // The prefix, cut as everywhere, and eight more bytes to tell scripts apart.
        let mut row = [0u8; 16];
        row[..8].copy_from_slice(&output.id.prefix.0);
        row[8..].copy_from_slice(&Sha256::digest(decoded.script(output))[8..16]);
        debug_assert!(facts.script_prefix <= 8);
        put_record(&mut links.scripts[plan.by_hash(&row)], &row, &[]);
    }
}

/// Prefixes in a partition that stand before more than one fingerprint.
fn collisions_in(manifest: &Manifest, partition: usize, found: &mut Vec<[u8; 8]>) -> Result<(), PipelineError> {
    let dir = manifest.dir();
    let bytes = read_partition(dir, SCRIPTS, partition)?;
    let rows = sorted(&bytes).ok_or_else(|| damaged(dir, SCRIPTS, partition))?;
    for group in rows.chunk_by(|a, b| a.key[..8] == b.key[..8]) {
        if group.first().map(|d| d.key) != group.last().map(|d| d.key) {
            let mut prefix = [0u8; 8];
            prefix.copy_from_slice(&group[0].key[..8]);
            found.push(prefix);
        }
    }
    remove_partition(dir, SCRIPTS, partition)
}
