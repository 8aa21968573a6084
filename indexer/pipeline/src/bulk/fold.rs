//! Blocks into the stages: rows that rise with the chain are written at once, other deltas are spilled by key.

use std::collections::HashSet;

use cairn_model::TxNum;
use cairn_stages::{CHAIN, COIN_MADE, COIN_SPENT, Lane, MapContext, Merge, Spread, Stage, StageError};
use cairn_writer::SstWriter;
use rayon::prelude::*;

use super::{
    Job, LaneSource, Plan, Saver, blocks_step,
    manifest::{BulkPhase, Manifest},
    source::{Blocks, OTHER_COIN, Resolved},
    spill::{Lengths, SpillWriter},
};
use crate::{
    Phase, PipelineError, Progress,
    error::unwrap_stage,
    records::{put_record, take_record},
    sums::SumsByKey,
};

pub(crate) fn spill_name(lane: &Lane) -> String {
    format!("lane-{}", lane.name)
}

/// Maps all blocks that an earlier run has not. `start` is how many blocks and bytes of blocks that one has,
/// what follows how many there are in all.
pub(crate) fn run(
    manifest: &mut Manifest,
    mut source: impl Blocks,
    jobs: &[Job<'_>],
    context: &MapContext<'_>,
    start: (u64, u64),
    (total, of_bytes): (u64, u64),
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let plan = manifest.plan;
    let (_, lengths) = manifest.partway(BulkPhase::Fold);
    if start.0 == 0 {
        manifest.forget_files();
        manifest.fold = Default::default();
    }
    let mapping = Mapping { jobs, stages: mapped_stages(jobs), context, plan, repeated: source.repeated() };
    let mut sinks = Sinks::open(manifest, jobs, &lengths)?;
    let mut saver = Saver::new(plan);
    let (mut done, mut bytes) = start;
    let mut saved = bytes;
    let mut next = mapping.next(&mut source)?;
    while let Some(mapped) = next {
        done += mapped.blocks;
        bytes += mapped.bytes;
        manifest.fold.balance = manifest.fold.balance.wrapping_add(mapped.balance);
        // Four times at least, however fast it is: what is read by then is removed, or the disk would hold all of it
        // beside all that is made of it.
        if saver.due() || (of_bytes > 0 && bytes - saved > of_bytes / 4) {
            saved = bytes;
            sinks.take(manifest, mapped.cuts)?;
            save(manifest, &mut sinks, &source, done)?;
            next = mapping.next(&mut source)?;
        } else {
            // One thread writes while the others map what follows.
            let write = || sinks.take(manifest, mapped.cuts);
            let (written, following) = rayon::join(write, || mapping.next(&mut source));
            written?;
            next = following?;
        }
        blocks_step(progress, Phase::Fold, (done, total), (bytes, of_bytes))?;
    }
    if manifest.fold.balance != 0 {
        return Err(StageError::Contradiction { stage: CHAIN, what: OTHER_COIN }.into());
    }
    save(manifest, &mut sinks, &source, done)
}

/// Makes everything up to the last batch durable.
fn save(manifest: &mut Manifest, sinks: &mut Sinks, source: &impl Blocks, done: u64) -> Result<(), PipelineError> {
    sinks.complete(manifest)?;
    source.note(manifest);
    let spills = sinks.0.iter_mut().filter_map(|sink| match sink {
        Sink::Spill(spill) => Some(spill),
        Sink::Sums(sums) => Some(&mut sums.spill),
        Sink::Ascending(_) => None,
    });
    manifest.save_partway(BulkPhase::Fold, done, spills)?;
    source.remove_read()
}

/// Deltas of a few blocks: per job, per partition (one for ascending lanes), records.
type Cuts = Vec<Vec<Vec<u8>>>;

struct MappedBatch {
    blocks: u64,
    bytes: u64,
    balance: u64,
    /// In the order of the blocks.
    cuts: Vec<Cuts>,
}

/// Stages that map blocks, and where among the jobs each of their lanes is; `None` for one that does not take part.
type MappedStages<'m> = Vec<(&'m dyn Stage, Vec<Option<usize>>)>;

fn mapped_stages<'m>(jobs: &'m [Job<'m>]) -> MappedStages<'m> {
    let mut stages: MappedStages<'m> = Vec::new();
    for job in jobs.iter().filter(|job| job.source == LaneSource::Blocks) {
        if stages.iter().all(|(stage, _)| stage.name() != job.stage.name()) {
            let place = |lane| jobs.iter().position(|other| other.is(job.stage.name(), lane));
            stages.push((job.stage, (0..job.stage.lanes().len()).map(place).collect()));
        }
    }
    stages
}

struct Mapping<'m> {
    jobs: &'m [Job<'m>],
    stages: MappedStages<'m>,
    context: &'m MapContext<'m>,
    plan: Plan,
    /// Transactions whose coins may vanish without being spent: their deltas are all kept.
    repeated: HashSet<TxNum>,
}

impl Mapping<'_> {
    fn next(&self, source: &mut impl Blocks) -> Result<Option<MappedBatch>, PipelineError> {
        let Some(blocks) = source.next_batch()? else { return Ok(None) };
        let piece = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
        let cuts = blocks.par_chunks(piece).map(|blocks| self.map(blocks)).collect::<Result<_, PipelineError>>()?;
        let balance = blocks.iter().fold(0, |sum: u64, b| sum.wrapping_add(b.balance));
        let bytes = blocks.iter().map(|b| u64::from(b.block.size)).sum();
        Ok(Some(MappedBatch { blocks: blocks.len() as u64, bytes, balance, cuts }))
    }

    fn map(&self, blocks: &[Resolved]) -> Result<Cuts, PipelineError> {
        let Mapping { jobs, context, plan, .. } = *self;
        let mut cuts: Cuts = jobs
            .iter()
            .map(|job| vec![Vec::new(); if job.lane.spread == Spread::Ascending { 1 } else { plan.partitions }])
            .collect();
        let mut sums: Vec<SumsByKey> = jobs.iter().map(|_| SumsByKey::default()).collect();
        let mut damaged = None;
        for resolved in blocks {
            for (stage, places) in &self.stages {
                stage.map(&resolved.block, context, &mut |index, key, value| {
                    let Some(place) = places[index] else { return };
                    let lane = jobs[place].lane;
                    if let Merge::Coin { outpoint } = lane.merge
                        && self.leaves_nothing(resolved, &key[outpoint..], value)
                    {
                        return;
                    }
                    if lane.merge == Merge::Add {
                        damaged = sums[place].add(lane.name, key, value).err().or(damaged.take());
                        return;
                    }
                    let partition = plan.partition(lane.spread, key);
                    put_record(&mut cuts[place][partition], key, value);
                });
            }
        }
        if let Some(error) = damaged {
            return Err(unwrap_stage(error));
        }
        for ((job, cuts), sums) in jobs.iter().zip(&mut cuts).zip(sums) {
            sums.rows()
                .for_each(|(key, value)| put_record(&mut cuts[plan.partition(job.lane.spread, &key)], &key, &value));
        }
        Ok(cuts)
    }

    /// Whether a delta of a coin meets its opposite before the last block.
    fn leaves_nothing(&self, resolved: &Resolved, outpoint: &[u8], value: &[u8]) -> bool {
        let Some(tx_num) = tx_num(outpoint).filter(|tx_num| !self.repeated.contains(tx_num)) else { return false };
        let made = || {
            let vout = outpoint.get(5..9)?.first_chunk::<4>().map(|b| u32::from_be_bytes(*b))?;
            let tx = resolved.block.txs.get(tx_num.0.checked_sub(resolved.block.first_tx.0)? as usize)?;
            resolved.spent.get(tx.outputs.start.checked_add(vout)? as usize).copied()
        };
        match value.first() {
            Some(&COIN_SPENT) => true,
            Some(&COIN_MADE) => made().unwrap_or(false),
            _ => false,
        }
    }
}

fn tx_num(key: &[u8]) -> Option<TxNum> {
    key.first_chunk::<5>().map(|b| TxNum::from_be5(*b))
}

/// Where the deltas of each job go.
struct Sinks(Vec<Sink>);

enum Sink {
    Ascending(Ascending),
    Spill(SpillWriter),
    Sums(Sums),
}

/// Sums that are held in memory, and spilled where there are too many.
struct Sums {
    lane: Lane,
    plan: Plan,
    held: SumsByKey,
    spill: SpillWriter,
}

/// Bytes of memory that a number takes that is held.
const NUMBER: u64 = 32;

impl Sums {
    fn take(&mut self, mut records: &[u8]) -> Result<(), PipelineError> {
        while let Some((delta, rest)) = take_record(records) {
            self.held.add(self.lane.name, delta.key, delta.value).map_err(unwrap_stage)?;
            records = rest;
        }
        let full = self.held.held() as u64 * NUMBER > self.plan.sizes.buffer_bytes;
        if full { self.spill_all() } else { Ok(()) }
    }

    fn spill_all(&mut self) -> Result<(), PipelineError> {
        let mut record = Vec::new();
        for (key, value) in std::mem::take(&mut self.held).rows() {
            record.clear();
            put_record(&mut record, &key, &value);
            self.spill.put(self.plan.partition(self.lane.spread, &key), &record)?;
        }
        Ok(())
    }
}

impl Sinks {
    fn open(manifest: &Manifest, jobs: &[Job<'_>], lengths: &Lengths) -> Result<Self, PipelineError> {
        let sink = |(index, job): (usize, &Job<'_>)| match job.lane.spread {
            Spread::Ascending => {
                let number = manifest.fold.numbers.get(index).copied().unwrap_or(0);
                Ok(Sink::Ascending(Ascending { name: job.lane.name, family: job.lane.families[0], number, file: None }))
            }
            _ => {
                let (spill, plan) = (manifest.spill(&spill_name(job.lane), lengths)?, manifest.plan);
                Ok(match job.lane.merge {
                    Merge::Add => Sink::Sums(Sums { lane: *job.lane, plan, held: SumsByKey::default(), spill }),
                    _ => Sink::Spill(spill),
                })
            }
        };
        jobs.iter().enumerate().map(sink).collect::<Result<_, PipelineError>>().map(Sinks)
    }

    fn take(&mut self, manifest: &mut Manifest, mapped: Vec<Cuts>) -> Result<(), PipelineError> {
        for cuts in mapped {
            for (sink, cut) in self.0.iter_mut().zip(cuts) {
                match sink {
                    Sink::Ascending(rows) => cut.iter().try_for_each(|records| rows.take(manifest, records))?,
                    Sink::Sums(sums) => cut.iter().try_for_each(|records| sums.take(records))?,
                    Sink::Spill(spill) => {
                        let mut cut = cut.iter().enumerate();
                        cut.try_for_each(|(partition, records)| spill.put(partition, records))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Completes the files of lanes that rise with the chain, and spills what is held.
    fn complete(&mut self, manifest: &mut Manifest) -> Result<(), PipelineError> {
        let numbers = self.0.iter_mut().map(|sink| match sink {
            Sink::Ascending(rows) => rows.complete(manifest).map(|()| rows.number),
            Sink::Sums(sums) => sums.spill_all().map(|()| 0),
            Sink::Spill(_) => Ok(0),
        });
        let numbers = numbers.collect::<Result<_, PipelineError>>()?;
        manifest.fold.numbers = numbers;
        Ok(())
    }
}

/// Rows that rise with the chain, straight into table files.
struct Ascending {
    name: &'static str,
    family: cairn_tables::Family,
    number: u32,
    file: Option<(SstWriter, String)>,
}

impl Ascending {
    fn take(&mut self, manifest: &mut Manifest, mut records: &[u8]) -> Result<(), PipelineError> {
        while let Some((row, rest)) = take_record(records) {
            if self.file.as_ref().is_some_and(|(file, _)| file.bytes() >= manifest.plan.sizes.file_bytes) {
                self.complete(manifest)?;
            }
            let file = match &mut self.file {
                Some((file, _)) => file,
                none => {
                    let name = format!("rows-{}.{:05}.sst", self.name, self.number);
                    self.number += 1;
                    let path = manifest.table_path(&name);
                    &mut none.insert((SstWriter::create(self.family, path)?, name)).0
                }
            };
            file.put(row.key, row.value)?;
            records = rest;
        }
        Ok(())
    }

    fn complete(&mut self, manifest: &mut Manifest) -> Result<(), PipelineError> {
        if let Some((file, name)) = self.file.take() {
            file.finish()?;
            manifest.add_file(self.family, name)?;
        }
        Ok(())
    }
}
