//! Deltas into table files, and table files into the database.

use cairn_stages::{NoPrior, Rows, Spread, StageError, Way};
use cairn_tables::Family;
use cairn_writer::{SstWriter, Writer};
use rayon::prelude::*;

use super::{
    Job,
    coins::COINS,
    fold::spill_name,
    join::PREVOUTS,
    manifest::Manifest,
    spill::{damaged, read_partition, remove_partition},
    step,
};
use crate::{
    Phase, PipelineError, Progress, Step,
    error::{as_stage_write, unwrap_stage},
    groups::{fold_sorted, sorted},
};

/// Sorts, folds and writes every partition of every spilled lane. Returns the files: index of the family, name.
pub(crate) fn run(
    manifest: &Manifest,
    jobs: &[Job<'_>],
    progress: &dyn Progress,
) -> Result<Vec<(usize, String)>, PipelineError> {
    let (plan, dir) = (manifest.plan, manifest.dir());
    for partition in 0..plan.partitions {
        remove_partition(dir, PREVOUTS, partition)?;
        remove_partition(dir, COINS, partition)?;
    }
    let spilled: Vec<&Job<'_>> = jobs.iter().filter(|j| j.lane.spread != Spread::Ascending).collect();
    let total = (spilled.len() * plan.partitions) as u64;
    let mut files = Vec::new();
    let mut done = 0;
    for job in spilled {
        // A few partitions at a time: as many as threads, so that memory stays bounded.
        let partitions: Vec<usize> = (0..plan.partitions).collect();
        for few in partitions.chunks(rayon::current_num_threads().max(1)) {
            let made = few
                .par_iter()
                .map(|&partition| partition_files(manifest, job, partition))
                .collect::<Result<Vec<_>, PipelineError>>()?;
            files.extend(made.into_iter().flatten());
            done += few.len() as u64;
            step(progress, Step { phase: Phase::Tables, done, total, bytes: 0 })?;
        }
    }
    Ok(files)
}

fn partition_files(
    manifest: &Manifest,
    job: &Job<'_>,
    partition: usize,
) -> Result<Vec<(usize, String)>, PipelineError> {
    let (dir, spill) = (manifest.dir(), spill_name(job));
    let bytes = read_partition(dir, &spill, partition)?;
    let deltas = sorted(&bytes).ok_or_else(|| damaged(dir, &spill, partition))?;
    let mut rows = FileRows { manifest, lane: job.lane.name, partition, open: Vec::new() };
    fold_sorted(job.stage, job.lane_index, &deltas, Way::Forward, &NoPrior, &mut rows).map_err(unwrap_stage)?;
    let mut files = Vec::new();
    for (family, file, name) in rows.open {
        file.finish()?;
        files.push((family.index(), name));
    }
    Ok(files)
}

/// Rows of one partition, a file for each family that gets some.
struct FileRows<'m> {
    manifest: &'m Manifest,
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
                let file = SstWriter::create(family, self.manifest.table_path(&name)).map_err(as_stage_write)?;
                self.open.push((family, file, name));
                self.open.len() - 1
            }
        };
        self.open[index].1.put(key, value).map_err(as_stage_write)
    }

    fn delete(&mut self, _: Family, _: &[u8]) -> Result<(), StageError> {
        // In bulk a fold sees everything that ever happened to its group.
        Err(StageError::Contradiction { stage: self.lane, what: "something is taken out that was never put in" })
    }
}

/// Takes the files into the database, a family at a time. A file that is gone was taken in by an earlier try; one that
/// is there although it was taken in is taken in again, with the same rows.
pub(crate) fn ingest(writer: &Writer, manifest: &Manifest, progress: &dyn Progress) -> Result<(), PipelineError> {
    let total = Family::ALL.len() as u64;
    for (done, family) in Family::ALL.into_iter().enumerate() {
        writer.ingest(family, manifest.waiting(family))?;
        progress.step(Step { phase: Phase::Ingest, done: done as u64 + 1, total, bytes: 0 });
    }
    Ok(())
}
