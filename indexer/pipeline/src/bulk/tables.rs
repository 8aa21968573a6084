//! Deltas into table files, and table files into the database.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use cairn_stages::{ChainTimes, Delta, HearContext, Listener, NoPast, Rows, Spread, Stage, StageError};
use cairn_tables::Family;
use cairn_writer::{SstWriter, Writer};
use rayon::prelude::*;

use super::{
    Job, Plan, Saver,
    fold::spill_name,
    manifest::Manifest,
    runs::{sort_file, sorting_takes},
    spill::{damaged, partition_path, read_partition, remove_partition, write_partition},
    step,
};
use crate::{
    Phase, PipelineError, Progress, ProgressStep,
    error::{as_stage_write, unwrap_stage},
    groups::{Folding, Sorted, put_record, take_record},
    sums::SumsByKey,
};

/// Deltas of a group that are folded at once. A folded delta takes some 100 bytes.
const GROUP_PART: usize = 1 << 16;

/// A lane's partition to be made into table files, and the bytes of its spill.
#[derive(Clone, Copy)]
struct Unit {
    job: usize,
    partition: usize,
    bytes: u64,
}

/// What threads share.
struct Shared<'m> {
    manifest: &'m mut Manifest,
    saver: Saver,
    /// Finished, and not yet noted durably: their spills are still there.
    fresh: Vec<Unit>,
    done: u64,
}

impl Shared<'_> {
    fn save(&mut self, jobs: &[Job<'_>]) -> Result<(), PipelineError> {
        self.manifest.save()?;
        let (dir, partitions) = (self.manifest.dir(), self.manifest.plan.partitions);
        self.fresh.drain(..).try_for_each(|unit| {
            let job = &jobs[unit.job];
            let mut read = if job.hears { 0..partitions } else { unit.partition..unit.partition + 1 };
            read.try_for_each(|partition| remove_partition(dir, &spill_name(job.lane), partition))
        })
    }
}

/// Sorts, folds and writes every partition of every spilled lane; those that come of listeners last. The manifest gets the
/// files.
pub(crate) fn run(
    manifest: &mut Manifest,
    jobs: &[Job<'_>],
    times: &ChainTimes,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let plan = manifest.plan;
    let mut units = Vec::new();
    for (job, of) in jobs.iter().enumerate().filter(|(_, job)| job.lane.spread != Spread::Ascending) {
        // What listeners left of any partition belongs together.
        for partition in 0..if of.hears { 1 } else { plan.partitions } {
            let path = partition_path(manifest.dir(), &spill_name(of.lane), partition);
            let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
            units.push(Unit { job, partition, bytes });
        }
    }
    let total = units.len() as u64;
    units.retain(|unit| !manifest.tables.contains(&(unit.job, unit.partition)));
    let done = total - units.len() as u64;
    // Spills go as their tables come, a part at a time, so that the disk never holds much of both.
    let much = units.iter().map(|unit| unit.bytes).sum::<u64>() / 8;
    let (heard, mapped): (Vec<Unit>, Vec<Unit>) = units.into_iter().partition(|unit| jobs[unit.job].hears);
    let making = Making { dir: manifest.dir().to_owned(), memory: plan.sizes.sort_bytes, plan, jobs, times };
    let shared = Mutex::new(Shared { manifest, saver: Saver::new(plan), fresh: Vec::new(), done });
    for wave in [mapped, heard] {
        // One by one, so that no thread sits on a list while another has nothing to do.
        wave.par_iter().with_max_len(1).try_for_each(|unit| {
            let files = making.files(*unit)?;
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            files.into_iter().try_for_each(|(family, name)| shared.manifest.add_file(family, name))?;
            shared.manifest.tables.push((unit.job, unit.partition));
            shared.fresh.push(*unit);
            shared.done += 1;
            if shared.saver.due() || shared.fresh.iter().map(|unit| unit.bytes).sum::<u64>() > much {
                shared.save(jobs)?;
            }
            step(progress, ProgressStep { phase: Phase::Tables, done: shared.done, total, bytes: 0, of_bytes: 0 })
        })?;
    }
    shared.into_inner().unwrap_or_else(PoisonError::into_inner).save(jobs)
}

/// What making the files of a unit takes.
struct Making<'m> {
    dir: PathBuf,
    /// Bytes that a thread may take.
    memory: u64,
    plan: Plan,
    jobs: &'m [Job<'m>],
    times: &'m ChainTimes,
}

impl Making<'_> {
    fn files(&self, unit: Unit) -> Result<Vec<(Family, String)>, PipelineError> {
        let (dir, job) = (&self.dir, &self.jobs[unit.job]);
        let mut rows = FileRows { dir, lane: job.lane.name, partition: unit.partition, open: Vec::new() };
        if job.hears {
            self.add_up(job, &mut rows)?;
        } else {
            rows = self.fold(job, unit, rows)?;
        }
        let mut files = Vec::new();
        for (family, file, name) in rows.open {
            file.finish()?;
            files.push((family, name));
        }
        Ok(files)
    }

    fn fold<'r>(&self, job: &Job<'_>, unit: Unit, rows: FileRows<'r>) -> Result<FileRows<'r>, PipelineError> {
        let (dir, spill) = (&self.dir, spill_name(job.lane));
        let context = HearContext { times: self.times, past: &NoPast };
        let heard_by = self.jobs.iter().filter(|other| other.lane_index == 0 && other.is_of_listener_of(job));
        let (stages, listeners): (Vec<_>, Vec<_>) =
            heard_by.filter_map(|other| Some((other.stage, other.stage.listener(context)?))).unzip();
        let mut folding = Folding::new(job.stage, job.lane_index, GROUP_PART, rows).heard_by(listeners, job.folds);
        if sorting_takes(unit.bytes) <= self.memory && unit.bytes <= u64::from(u32::MAX) {
            let bytes = read_partition(dir, &spill, unit.partition)?;
            let sorted = Sorted::new(&bytes).ok_or_else(|| damaged(dir, &spill, unit.partition))?;
            folding.take(sorted.iter(), false).map_err(unwrap_stage)?;
        } else {
            sort_file(&partition_path(dir, &spill, unit.partition), self.memory, |piece, more| {
                folding.take(records(piece), more).map_err(unwrap_stage)
            })?;
        }
        let (rows, listeners) = folding.finish().map_err(unwrap_stage)?;
        for (stage, listener) in stages.into_iter().zip(listeners) {
            self.leave(stage, listener, unit.partition)?;
        }
        Ok(rows)
    }

    /// Writes what a listener makes of a partition, for [`Making::add_up`].
    fn leave(
        &self,
        stage: &dyn Stage,
        mut listener: Box<dyn Listener + '_>,
        partition: usize,
    ) -> Result<(), PipelineError> {
        let mut sums: Vec<SumsByKey> = stage.lanes().iter().map(|_| SumsByKey::default()).collect();
        let mut added = Ok(());
        let mut add = |index: usize, key: &[u8], value: &[u8]| {
            if added.is_ok() {
                added = sums[index].add(stage.lanes()[index].name, key, value);
            }
        };
        listener.finish(&mut add).map_err(unwrap_stage)?;
        added.map_err(unwrap_stage)?;
        for (lane, sums) in stage.lanes().iter().zip(sums) {
            let mut bytes = Vec::new();
            sums.rows().for_each(|(key, value)| put_record(&mut bytes, &key, &value));
            write_partition(&self.dir, &spill_name(lane), partition, &bytes)?;
        }
        Ok(())
    }

    /// Makes rows of what listeners left.
    fn add_up(&self, job: &Job<'_>, rows: &mut FileRows<'_>) -> Result<(), PipelineError> {
        let (name, mut sums) = (spill_name(job.lane), SumsByKey::default());
        for partition in 0..self.plan.partitions {
            let bytes = read_partition(&self.dir, &name, partition)?;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (delta, after) = take_record(rest).ok_or_else(|| damaged(&self.dir, &name, partition))?;
                sums.add(job.lane.name, delta.key, delta.value).map_err(unwrap_stage)?;
                rest = after;
            }
        }
        for (key, value) in sums.rows() {
            rows.put(job.lane.families[0], &key, &value).map_err(unwrap_stage)?;
        }
        Ok(())
    }
}

/// Records that lie in order.
fn records(mut bytes: &[u8]) -> impl Iterator<Item = Delta<'_>> {
    std::iter::from_fn(move || {
        let (delta, rest) = take_record(bytes)?;
        bytes = rest;
        Some(delta)
    })
}

/// Rows of one partition, a file for each family that gets some.
struct FileRows<'d> {
    dir: &'d std::path::Path,
    lane: &'static str,
    partition: usize,
    open: Vec<(Family, SstWriter, String)>,
}

impl Rows for FileRows<'_> {
    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        let index = match self.open.iter().position(|(f, _, _)| *f == family) {
            Some(index) => index,
            None => {
                let name = format!("lane-{}-{}.{:03}.sst", self.lane, family.name(), self.partition);
                let file = SstWriter::create(family, self.dir.join(&name)).map_err(as_stage_write)?;
                self.open.push((family, file, name));
                self.open.len() - 1
            }
        };
        self.open[index].1.put(key, value).map_err(as_stage_write)
    }

    fn delete(&mut self, _: Family, _: &[u8]) -> Result<(), StageError> {
        // In bulk a fold sees everything that ever happened to its group.
        Err(StageError::Contradiction { stage: self.lane, what: "a row is deleted that was never put" })
    }
}

/// Takes the files into the database, a family at a time. A file that is gone was taken in by an earlier try; one that
/// is there although it was taken in is taken in again, with the same rows.
pub(crate) fn ingest(writer: &Writer, manifest: &Manifest, progress: &dyn Progress) -> Result<(), PipelineError> {
    let total = Family::ALL.len() as u64;
    for (done, family) in Family::ALL.into_iter().enumerate() {
        writer.ingest(family, manifest.waiting(family)).map_err(|e| {
            if e.is_corruption() {
                tracing::error!(%e, "a table file is damaged");
                return PipelineError::Spill { path: manifest.dir().to_owned(), what: "a table file is damaged" };
            }
            e.into()
        })?;
        progress.step(ProgressStep { phase: Phase::Ingest, done: done as u64 + 1, total, bytes: 0, of_bytes: 0 });
    }
    Ok(())
}
