//! First pass over the blocks: which txid has which number, which input names which output, which script prefixes
//! collide.

use std::hash::{DefaultHasher, Hasher};

use cairn_reader::Facts;
use cairn_sources::{BlockFiles, BlockRef, Decoded, IdNotes, Survey};
use cairn_tables::codec::put_varint;
use rayon::prelude::*;

use super::{
    BulkOptions, Plan, Saver, blocks_step,
    manifest::{BulkPhase, Manifest},
    notes::NOTES,
    spill::{Lengths, SpillWriter, for_each_record, partition_bytes, remove_partition},
};
use crate::{Phase, PipelineError, Progress, ProgressStep};

/// Chunks of: txid (32) │ TxNum less the one before.
pub(crate) const TXIDS: &str = "link-txids";
/// Chunks of: txid of the funding transaction (32) │ vout │ spender's TxNum less the one before │ vin.
pub(crate) const EDGES: &str = "link-edges";
/// Script prefix (8) ‖ fingerprint of the script (8).
const SCRIPTS: &str = "link-scripts";

/// Batches of consecutive blocks with at most `bytes` bytes together (or one larger block).
pub(crate) fn batches(
    survey: &Survey,
    from: u32,
    to: u32,
    most: u64,
) -> impl Iterator<Item = Vec<BlockRef>> + Send + Sync {
    let mut blocks = survey.blocks(from..to + 1).peekable();
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

/// Bytes with numbers that are written as differences.
#[derive(Clone, Default)]
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    last: u64,
}

impl Chunk {
    /// Appends a number that is not below the one before.
    pub(crate) fn put_rising(&mut self, number: u64) {
        put_varint(&mut self.bytes, number.wrapping_sub(self.last));
        self.last = number;
    }
}

struct BatchLinks {
    txids: Vec<Chunk>,
    edges: Vec<Chunk>,
    scripts: Vec<Vec<u128>>,
    /// In the order of the blocks, each with its partition.
    notes: Vec<(usize, Vec<u8>)>,
}

struct Spills {
    txids: SpillWriter,
    edges: SpillWriter,
    scripts: SpillWriter,
    notes: SpillWriter,
}

impl Spills {
    fn open(manifest: &Manifest, lengths: &Lengths) -> Result<Self, PipelineError> {
        let open = |name| manifest.spill(name, lengths);
        Ok(Spills { txids: open(TXIDS)?, edges: open(EDGES)?, scripts: open(SCRIPTS)?, notes: open(NOTES)? })
    }

    fn all(&mut self) -> [&mut SpillWriter; 4] {
        [&mut self.txids, &mut self.edges, &mut self.scripts, &mut self.notes]
    }
}

pub(crate) fn run(
    manifest: &mut Manifest,
    files: &BlockFiles,
    survey: &Survey,
    facts: &Facts,
    options: &BulkOptions,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let plan = manifest.plan;
    let linking = Linking { files, facts, plan, salt: manifest.salt, notes: IdNotes::new(manifest.salt) };
    let mut saver = Saver::new(plan);
    let (from, lengths) = manifest.partway(BulkPhase::Link);
    let mut spills = Spills::open(manifest, &lengths)?;
    let mut done = from;
    let mut bytes: u64 = survey.blocks(0..from as u32).map(|b| u64::from(b.size)).sum();
    let of_bytes = survey.blocks(0..options.to + 1).map(|b| u64::from(b.size)).sum();
    let mut batches = batches(survey, from as u32, options.to, plan.sizes.batch_bytes);
    let mut find = || batches.next().map(|batch| linking.find(batch)).transpose();
    let mut next = find()?;
    while let Some((batch, found)) = next {
        // One thread writes while the others decode what follows.
        let (written, following) = rayon::join(|| write(&mut spills, found), &mut find);
        written?;
        next = following?;
        done += batch.len() as u64;
        bytes += batch.iter().map(|b| u64::from(b.size)).sum::<u64>();
        if saver.due() {
            manifest.save_partway(BulkPhase::Link, done, spills.all())?;
        }
        blocks_step(progress, Phase::Link, (done, u64::from(options.to) + 1), (bytes, of_bytes))?;
    }
    manifest.save_partway(BulkPhase::Link, done, spills.all())?;
    manifest.colliding_prefixes.clear();
    let partitions: Vec<usize> = (0..plan.partitions).collect();
    for few in partitions.chunks(rayon::current_num_threads().max(1)) {
        let find = |partition: &usize| collisions_in(manifest, *partition);
        let found = few.par_iter().map(find).collect::<Result<Vec<_>, PipelineError>>()?;
        manifest.colliding_prefixes.extend(found.into_iter().flatten());
        progress.step(ProgressStep { phase: Phase::Link, done, total: u64::from(options.to) + 1, bytes, of_bytes });
    }
    Ok(())
}

/// Removes what nothing after this phase reads.
pub(crate) fn clean(manifest: &Manifest) -> Result<(), PipelineError> {
    (0..manifest.plan.partitions).try_for_each(|p| remove_partition(manifest.dir(), SCRIPTS, p))
}

type LinkedBatch = (Vec<BlockRef>, Vec<BatchLinks>);

/// Data with which links are found.
struct Linking<'l> {
    files: &'l BlockFiles,
    facts: &'l Facts,
    plan: Plan,
    salt: u64,
    notes: IdNotes,
}

impl Linking<'_> {
    fn find(&self, batch: Vec<BlockRef>) -> Result<LinkedBatch, PipelineError> {
        // As many pieces as threads, so that each makes few and long runs of records.
        let piece = batch.len().div_ceil(rayon::current_num_threads()).max(1);
        let found = batch.par_chunks(piece).map(|blocks| self.link(blocks)).collect::<Result<_, PipelineError>>()?;
        Ok((batch, found))
    }

    fn link(&self, blocks: &[BlockRef]) -> Result<BatchLinks, PipelineError> {
        let (partitions, empty) = (self.plan.partitions, || vec![Chunk::default(); self.plan.partitions]);
        let (scripts, notes) = (vec![Vec::new(); partitions], Vec::with_capacity(blocks.len()));
        let mut links = BatchLinks { txids: empty(), edges: empty(), scripts, notes };
        let mut buf = Vec::new();
        for at in blocks {
            let decoded = self.files.read_decoded(at, self.facts.script_prefix, &mut buf)?;
            let mut note = at.height.to_le_bytes().to_vec();
            self.notes.write(&buf, &decoded, &mut note);
            links.notes.push((self.plan.by_tx(at.first_tx.0), note));
            self.link_block(&decoded, at, &mut links);
        }
        for scripts in &mut links.scripts {
            scripts.sort_unstable();
            scripts.dedup();
        }
        Ok(links)
    }

    fn link_block(&self, decoded: &Decoded, at: &BlockRef, links: &mut BatchLinks) {
        let plan = self.plan;
        for (i, tx) in decoded.txs.iter().enumerate() {
            let number = at.first_tx.0 + i as u64;
            let chunk = &mut links.txids[plan.by_hash(&tx.txid.0)];
            chunk.bytes.extend_from_slice(&tx.txid.0);
            chunk.put_rising(number);
            for (vin, input) in tx.inputs.clone().enumerate() {
                let prevout = &decoded.prevouts[input as usize];
                let chunk = &mut links.edges[plan.by_hash(&prevout.txid.0)];
                chunk.bytes.extend_from_slice(&prevout.txid.0);
                put_varint(&mut chunk.bytes, prevout.vout.into());
                chunk.put_rising(number);
                put_varint(&mut chunk.bytes, vin as u64);
            }
        }
        for output in decoded.outputs.iter().filter(|o| o.spendable) {
            // The salt is unknown to those who make scripts, so two with one prefix do not share the fingerprint as
            // well.
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(self.salt);
            hasher.write(decoded.script(output));
            let prefix = output.id.prefix.0;
            let row = u128::from(u64::from_be_bytes(prefix)) << 64 | u128::from(hasher.finish());
            links.scripts[plan.by_hash(&prefix)].push(row);
        }
    }
}

fn write(spills: &mut Spills, found: Vec<BatchLinks>) -> Result<(), PipelineError> {
    let mut bytes = Vec::new();
    for links in found {
        for (spill, chunks) in [(&mut spills.txids, links.txids), (&mut spills.edges, links.edges)] {
            for (partition, chunk) in chunks.into_iter().enumerate() {
                spill.put_chunk(partition, &chunk.bytes)?;
            }
        }
        for (partition, rows) in links.scripts.into_iter().enumerate() {
            bytes.clear();
            rows.iter().for_each(|row| bytes.extend_from_slice(&row.to_be_bytes()));
            spills.scripts.put(partition, &bytes)?;
        }
        links.notes.iter().try_for_each(|(partition, note)| spills.notes.put_chunk(*partition, note))?;
    }
    Ok(())
}

/// Prefixes in a partition that stand before more than one fingerprint.
fn collisions_in(manifest: &Manifest, partition: usize) -> Result<Vec<[u8; 8]>, PipelineError> {
    let (dir, plan) = (manifest.dir(), manifest.plan);
    let size = partition_bytes(dir, SCRIPTS, partition)?;
    let parts = plan.parts(size + size / 4);
    let mut found = Vec::new();
    for part in 0..parts {
        let mut rows: Vec<u128> = Vec::with_capacity((size / 16 / parts) as usize);
        for_each_record(dir, SCRIPTS, partition, |record: [u8; 16]| {
            // The partition itself goes by the first two bytes.
            if (u64::from(u16::from_be_bytes([record[2], record[3]])) * parts) >> 16 == part {
                rows.push(u128::from_be_bytes(record));
            }
        })?;
        rows.sort_unstable();
        rows.dedup();
        let prefix = |row: &u128| (row >> 64) as u64;
        let groups = rows.chunk_by(|a, b| prefix(a) == prefix(b)).filter(|group| group.len() > 1);
        found.extend(groups.map(|group| prefix(&group[0]).to_be_bytes()));
    }
    // In the order of the partition, however many parts it took.
    found.sort_unstable();
    Ok(found)
}
