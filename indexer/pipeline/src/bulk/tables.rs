//! Deltas into table files, and table files into the database.

use std::path::PathBuf;

use cairn_stages::{ChainTimes, Delta, HearContext, Merge, NoPast, Rows, Spread};
use cairn_tables::Family;
use cairn_writer::Writer;
use parking_lot::Mutex;
use rayon::prelude::*;

use super::{
    Job, LaneSource, Plan, Saver,
    file_rows::FileRows,
    fold::spill_name,
    manifest::Manifest,
    ordered,
    outputs::{Emitting, Hearing, Outputs},
    runs::{sort_file, sorting_takes},
    shuffle,
    spill::{damaged, partition_bytes, partition_path, read_partition, remove_partition},
    step,
};
use crate::{
    Phase, PipelineError, Progress, ProgressStep,
    error::unwrap_stage,
    groups::Folding,
    records::{Sorted, take_record},
    sums::SumsByKey,
};

/// Deltas of a group that are folded at once. A folded delta takes some 100 bytes.
const GROUP_PART: usize = 1 << 16;

/// The kind of work, which gives its order: each kind after the ones before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Task {
    /// Sort and fold a partition of mapped deltas, and pass them to listeners.
    Mapped,
    /// Sort a partition of a lane that is folded in order.
    Sort,
    /// Fold such a lane.
    Ordered,
    /// Sort and fold a partition of the deltas that these emitted.
    Emitted,
    /// Add up the sums of listeners and ordered folds.
    AddUp,
}

impl Task {
    const ALL: [Task; 5] = [Task::Mapped, Task::Sort, Task::Ordered, Task::Emitted, Task::AddUp];

    /// The tasks of a job, each with the partitions that are done apart. One that is done once for all has the number
    /// behind the last partition.
    fn of(job: &Job<'_>, partitions: usize) -> Vec<(Task, std::ops::Range<usize>)> {
        let once = partitions..partitions + 1;
        match (job.source, job.lane.merge, job.lane.spread) {
            // Written as they came.
            (_, _, Spread::Ascending | Spread::Heard) => Vec::new(),
            (_, Merge::Ordered, _) => vec![(Task::Sort, 0..partitions), (Task::Ordered, once)],
            (LaneSource::Blocks, ..) => vec![(Task::Mapped, 0..partitions)],
            (_, Merge::Add, _) => vec![(Task::AddUp, once)],
            _ => vec![(Task::Emitted, 0..partitions)],
        }
    }
}

/// A lane's partition to be worked on, and the bytes of its spill.
#[derive(Clone, Copy)]
struct Unit {
    task: Task,
    job: usize,
    partition: usize,
    bytes: u64,
}

/// State shared by threads.
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
            let name = spill_name(jobs[unit.job].lane);
            match unit.task {
                // Deltas of listeners are in files of other names, and each has parts of all partitions.
                Task::Mapped | Task::Emitted | Task::Sort => remove_partition(dir, &name, unit.partition),
                Task::Ordered => ordered::remove_sorted(dir, &name, partitions),
                Task::AddUp => (0..=partitions).try_for_each(|left| remove_partition(dir, &name, left)),
            }
        })
    }
}

/// Sorts, folds and writes every partition of every spilled lane. The manifest gets the files.
pub(crate) fn run(
    manifest: &mut Manifest,
    jobs: &[Job<'_>],
    times: &ChainTimes,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let (plan, dir) = (manifest.plan, manifest.dir().to_owned());
    let mut units = Vec::new();
    for (job, of) in jobs.iter().enumerate() {
        for (task, partitions) in Task::of(of, plan.partitions) {
            units.extend(partitions.map(|partition| Unit { task, job, partition, bytes: 0 }));
        }
    }
    let total = units.len() as u64;
    units.retain(|unit| !manifest.tables.contains(&(unit.job, unit.partition)));
    let done = total - units.len() as u64;
    let making = Making { dir: dir.clone(), memory: plan.sizes.sort_bytes, plan, jobs, times, progress };
    let shared = Mutex::new(Shared { manifest, saver: Saver::new(plan), fresh: Vec::new(), done });
    for task in Task::ALL {
        let mut wave: Vec<Unit> = units.iter().filter(|unit| unit.task == task).copied().collect();
        for unit in &mut wave {
            unit.bytes = partition_bytes(&dir, &spill_name(jobs[unit.job].lane), unit.partition)?;
        }
        // Spills go as their tables come, a part at a time, so that the disk never holds much of both.
        let much = wave.iter().map(|unit| unit.bytes).sum::<u64>() / 8;
        // One by one, so that no thread sits on a list while another has nothing to do.
        wave.par_iter().with_max_len(1).try_for_each(|unit| {
            let files = making.run(*unit)?;
            let mut shared = shared.lock();
            files.into_iter().try_for_each(|(family, name)| shared.manifest.add_file(family, name))?;
            shared.manifest.tables.push((unit.job, unit.partition));
            shared.fresh.push(*unit);
            shared.done += 1;
            if shared.saver.due() || shared.fresh.iter().map(|unit| unit.bytes).sum::<u64>() > much {
                shared.save(jobs)?;
            }
            step(progress, ProgressStep { phase: Phase::Tables, done: shared.done, total, bytes: 0, of_bytes: 0 })
        })?;
        if task == Task::Sort {
            shared.lock().save(jobs)?;
            let heard = jobs.iter().filter(|job| job.lane.merge == Merge::Ordered && job.source == LaneSource::Heard);
            heard.into_iter().try_for_each(|job| shuffle::remove_all(&dir, &spill_name(job.lane), plan.partitions))?;
        }
    }
    shared.into_inner().save(jobs)
}

/// Everything that making the files of a unit needs.
struct Making<'m> {
    dir: PathBuf,
    /// Bytes that a thread may take.
    memory: u64,
    plan: Plan,
    jobs: &'m [Job<'m>],
    times: &'m ChainTimes,
    progress: &'m dyn Progress,
}

impl Making<'_> {
    /// Does it, and gives the table files that were written.
    fn run(&self, unit: Unit) -> Result<Vec<(Family, String)>, PipelineError> {
        let (dir, job) = (&self.dir, &self.jobs[unit.job]);
        match unit.task {
            Task::Mapped | Task::Emitted => self.fold(job, unit),
            Task::Sort => ordered::sort(dir, job, &self.plan, unit.partition).map(|()| Vec::new()),
            Task::Ordered => ordered::fold(dir, job, &self.plan, self.times, self.progress).map(|()| Vec::new()),
            Task::AddUp => self.add_up(job),
        }
    }

    fn fold(&self, job: &Job<'_>, unit: Unit) -> Result<Vec<(Family, String)>, PipelineError> {
        let (dir, spill) = (&self.dir, spill_name(job.lane));
        let (context, by) =
            (HearContext { times: self.times, past: &NoPast }, Emitting::Listener { partition: unit.partition });
        let mut heard_by = Vec::new();
        for other in self.jobs.iter().filter(|other| other.lane_index == 0 && other.is_of_listener_of(job)) {
            if let Some(listener) = other.stage.listener(context) {
                heard_by.push(Hearing::new(listener, Outputs::open(dir, self.plan, other.stage, by)?));
            }
        }
        let rows = FileRows::new(dir, job.lane.name, unit.partition);
        let mut folding = Folding::new(job.stage, job.lane_index, GROUP_PART, rows).heard_by(heard_by, job.folds);
        if sorting_takes(unit.bytes) <= self.memory && unit.bytes <= u64::from(u32::MAX) {
            let bytes = read_partition(dir, &spill, unit.partition)?;
            let sorted = Sorted::new(&bytes).ok_or_else(|| damaged(dir, &spill, unit.partition))?;
            folding.take(sorted.iter(), false).map_err(unwrap_stage)?;
        } else {
            sort_file(&partition_path(dir, &spill, unit.partition), self.memory, |piece, more| {
                folding.take(records(piece), more).map_err(unwrap_stage)
            })?;
        }
        let (rows, heard_by) = folding.finish().map_err(unwrap_stage)?;
        let mut files = rows.finish()?;
        for hearing in heard_by {
            files.append(&mut hearing.finish(unit.partition)?);
        }
        Ok(files)
    }

    /// Makes rows of the sums that were left for each partition, and for all together.
    fn add_up(&self, job: &Job<'_>) -> Result<Vec<(Family, String)>, PipelineError> {
        let (name, mut sums) = (spill_name(job.lane), SumsByKey::default());
        for partition in 0..=self.plan.partitions {
            let bytes = read_partition(&self.dir, &name, partition)?;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (delta, after) = take_record(rest).ok_or_else(|| damaged(&self.dir, &name, partition))?;
                sums.add(job.lane.name, delta.key, delta.value).map_err(unwrap_stage)?;
                rest = after;
            }
        }
        let mut rows = FileRows::new(&self.dir, job.lane.name, 0);
        for (key, value) in sums.rows() {
            rows.put(job.lane.families[0], &key, &value).map_err(unwrap_stage)?;
        }
        rows.finish()
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
