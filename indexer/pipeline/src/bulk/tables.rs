//! Deltas into table files, and table files into the database.

use std::sync::{Mutex, PoisonError};

use cairn_stages::{Delta, Rows, Spread, StageError};
use cairn_tables::Family;
use cairn_writer::{SstWriter, Writer};
use rayon::prelude::*;

use super::{
    Job, Saver,
    fold::spill_name,
    manifest::Manifest,
    runs::{sort_file, sorting_takes},
    spill::{damaged, partition_path, read_partition, remove_partition},
    step,
};
use crate::{
    Phase, PipelineError, Progress, ProgressStep,
    error::{as_stage_write, unwrap_stage},
    groups::{Folding, Sorted, take_record},
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
        let dir = self.manifest.dir();
        self.fresh.drain(..).try_for_each(|unit| remove_partition(dir, &spill_name(&jobs[unit.job]), unit.partition))
    }
}

/// Sorts, folds and writes every partition of every spilled lane. The manifest gets the files.
pub(crate) fn run(manifest: &mut Manifest, jobs: &[Job<'_>], progress: &dyn Progress) -> Result<(), PipelineError> {
    let plan = manifest.plan;
    let mut units = Vec::new();
    for (job, of) in jobs.iter().enumerate().filter(|(_, job)| job.lane.spread != Spread::Ascending) {
        for partition in 0..plan.partitions {
            let path = partition_path(manifest.dir(), &spill_name(of), partition);
            let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
            units.push(Unit { job, partition, bytes });
        }
    }
    let total = units.len() as u64;
    units.retain(|unit| !manifest.tables.contains(&(unit.job, unit.partition)));
    let done = total - units.len() as u64;
    // Spills go as their tables come, a part at a time, so that the disk never holds much of both.
    let much = units.iter().map(|unit| unit.bytes).sum::<u64>() / 8;
    let dir = manifest.dir().to_owned();
    let shared = Mutex::new(Shared { manifest, saver: Saver::new(plan), fresh: Vec::new(), done });
    // One by one, so that no thread sits on a list while another has nothing to do.
    units.par_iter().with_max_len(1).try_for_each(|unit| {
        let files = unit_files(&dir, plan.sizes.sort_bytes, &jobs[unit.job], *unit)?;
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
    shared.into_inner().unwrap_or_else(PoisonError::into_inner).save(jobs)
}

fn unit_files(
    dir: &std::path::Path,
    memory: u64,
    job: &Job<'_>,
    unit: Unit,
) -> Result<Vec<(Family, String)>, PipelineError> {
    let spill = spill_name(job);
    let rows = FileRows { dir, lane: job.lane.name, partition: unit.partition, open: Vec::new() };
    let mut folding = Folding::new(job.stage, job.lane_index, GROUP_PART, rows);
    if sorting_takes(unit.bytes) <= memory && unit.bytes <= u64::from(u32::MAX) {
        let bytes = read_partition(dir, &spill, unit.partition)?;
        let sorted = Sorted::new(&bytes).ok_or_else(|| damaged(dir, &spill, unit.partition))?;
        folding.take(sorted.iter(), false).map_err(unwrap_stage)?;
    } else {
        sort_file(&partition_path(dir, &spill, unit.partition), memory, |piece, more| {
            folding.take(records(piece), more).map_err(unwrap_stage)
        })?;
    }
    let rows = folding.finish().map_err(unwrap_stage)?;
    let mut files = Vec::new();
    for (family, file, name) in rows.open {
        file.finish()?;
        files.push((family, name));
    }
    Ok(files)
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
