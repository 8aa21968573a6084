//! Lanes whose groups are folded in order: the parts of each partition are sorted into a file, and then all partitions
//! are folded one after the other by one thread.

use std::{
    cell::RefCell,
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use cairn_stages::{ChainTimes, Delta, Scratch, Sequence, StageError, Workspace};
use cairn_writer::WriteError;

use super::{
    Job, LaneSource, Plan,
    fold::spill_name,
    manifest::remove_dir,
    outputs::{Emitting, Outputs},
    runs::{read_some, sort_file, sorting_takes},
    shuffle::gather,
    spill::{damaged, partition_bytes, partition_path, read_partition, remove},
};
use crate::{
    PipelineError, Progress,
    error::{as_stage_write, unwrap_stage},
    groups::same_group,
    records::{Sorted, put_record, take_record},
};

/// Groups between two looks at whether the work is cancelled.
const STEP: u64 = 4096;

/// Bytes of a sorted file that are read at a time.
const READ: usize = 1 << 20;

fn sorted_path(dir: &Path, name: &str, partition: usize) -> PathBuf {
    partition_path(dir, name, partition).with_extension("sorted")
}

/// Removes the sorted files of a lane.
pub(crate) fn remove_sorted(dir: &Path, name: &str, partitions: usize) -> Result<(), PipelineError> {
    (0..partitions).try_for_each(|partition| remove(&sorted_path(dir, name, partition)))
}

/// Sorts a partition within the plan's memory limit for sorting.
pub(crate) fn sort(dir: &Path, job: &Job<'_>, plan: &Plan, partition: usize) -> Result<(), PipelineError> {
    let (name, memory) = (spill_name(job.lane), plan.sizes.sort_bytes);
    let (path, unsorted) = (sorted_path(dir, &name, partition), partition_path(dir, &name, partition));
    let held = match job.source {
        LaneSource::Heard => gathered(dir, &name, plan, partition)?,
        _ if fits(partition_bytes(dir, &name, partition)?, memory) => Some(read_partition(dir, &name, partition)?),
        _ => None,
    };
    let mut file = create(&path)?;
    if let Some(bytes) = held {
        let sorted = Sorted::new(&bytes).ok_or_else(|| damaged(dir, &name, partition))?;
        let mut record = Vec::new();
        for delta in sorted.iter() {
            record.clear();
            put_record(&mut record, delta.key, delta.value);
            file.write_all(&record).map_err(PipelineError::io(&path))?;
        }
    } else {
        sort_file(&unsorted, memory, |piece, _| file.write_all(piece).map_err(PipelineError::io(&path)))?;
    }
    let file = file.into_inner().map_err(|error| PipelineError::io(&path)(error.into_error()))?;
    file.sync_data().map_err(PipelineError::io(&path))
}

/// Whether `bytes` bytes of records can be sorted in `memory` bytes.
fn fits(bytes: u64, memory: u64) -> bool {
    sorting_takes(bytes) <= memory && bytes <= u64::from(u32::MAX)
}

fn create(path: &Path) -> Result<BufWriter<File>, PipelineError> {
    let file = File::create(path).map_err(PipelineError::io(path))?;
    Ok(BufWriter::with_capacity(1 << 20, file))
}

/// The parts of a partition that a listener has emitted, together. `None` if they do not fit in memory: then they are
/// where a partition lies that blocks are mapped to.
fn gathered(dir: &Path, name: &str, plan: &Plan, partition: usize) -> Result<Option<Vec<u8>>, PipelineError> {
    let unsorted = partition_path(dir, name, partition);
    let (held, mut waiting) = (RefCell::new(Some(Vec::new())), None);
    gather(
        dir,
        name,
        plan,
        partition,
        |bytes| {
            if !fits(bytes, plan.sizes.sort_bytes) {
                held.replace(None);
            }
            Ok(())
        },
        |part| match held.borrow_mut().as_mut() {
            Some(bytes) => {
                bytes.extend_from_slice(part);
                Ok(())
            }
            None => {
                let file = match waiting.take() {
                    Some(file) => file,
                    None => create(&unsorted)?,
                };
                waiting.insert(file).write_all(part).map_err(PipelineError::io(&unsorted))
            }
        },
    )?;
    if let Some(mut waiting) = waiting {
        waiting.flush().map_err(PipelineError::io(&unsorted))?;
    }
    Ok(held.into_inner())
}

struct SortedLane<'s> {
    dir: &'s Path,
    name: String,
    job: &'s Job<'s>,
    plan: &'s Plan,
    progress: &'s dyn Progress,
    /// Why the work cannot go on, if it is not an error of the stage.
    failed: RefCell<Option<PipelineError>>,
}

impl SortedLane<'_> {
    /// The reason is kept; what stages get is thrown away.
    fn fail(&self, error: PipelineError) -> StageError {
        self.failed.replace(Some(error));
        StageError::Contradiction { stage: self.job.lane.name, what: "stopped" }
    }

    /// Shows the groups of one file; false if no more are wanted.
    fn groups_of(
        &self,
        path: PathBuf,
        from: &[u8],
        shown: &mut u64,
        show: &mut dyn FnMut(&[Delta<'_>]) -> Result<bool, StageError>,
    ) -> Result<bool, StageError> {
        let mut file = File::open(&path).map_err(|error| self.fail(PipelineError::io(&path)(error)))?;
        let (mut bytes, mut filled, mut whole) = (vec![0; READ], 0, false);
        while !whole {
            let read = read_some(&mut file, &mut bytes[filled..]);
            let read = read.map_err(|error| self.fail(PipelineError::io(&path)(error)))?;
            (filled, whole) = (filled + read, read == 0);
            let mut group: Vec<Delta<'_>> = Vec::new();
            // Where the group begins, and where the records end that were looked at.
            let (mut start, mut end) = (0, 0);
            while let Some((delta, rest)) = take_record(&bytes[end..filled]) {
                if group.first().is_some_and(|first| !same_group(self.job.lane, first.key, delta.key)) {
                    if !self.show(&group, shown, show)? {
                        return Ok(false);
                    }
                    group.clear();
                }
                if group.is_empty() {
                    start = end;
                }
                end = filled - rest.len();
                if delta.key >= from {
                    group.push(delta);
                } else {
                    start = end;
                }
            }
            if whole {
                if end < filled {
                    return Err(self.fail(PipelineError::Spill { path, what: "a record ends early" }));
                }
                return if group.is_empty() { Ok(true) } else { self.show(&group, shown, show) };
            }
            // The last group may go on.
            bytes.copy_within(start..filled, 0);
            filled -= start;
            if filled == bytes.len() {
                bytes.resize(filled * 2, 0);
            }
        }
        Ok(true)
    }

    fn show(
        &self,
        group: &[Delta<'_>],
        shown: &mut u64,
        show: &mut dyn FnMut(&[Delta<'_>]) -> Result<bool, StageError>,
    ) -> Result<bool, StageError> {
        *shown += 1;
        if shown.is_multiple_of(STEP) && self.progress.cancel_token().is_cancelled() {
            return Err(self.fail(PipelineError::Stopped));
        }
        show(group)
    }
}

impl Sequence for SortedLane<'_> {
    fn groups(
        &self,
        from: &[u8],
        show: &mut dyn FnMut(&[Delta<'_>]) -> Result<bool, StageError>,
    ) -> Result<(), StageError> {
        let mut shown = 0u64;
        for partition in self.plan.partition(self.job.lane.spread, from)..self.plan.partitions {
            let path = sorted_path(self.dir, &self.name, partition);
            if path.exists() && !self.groups_of(path, from, &mut shown, show)? {
                break;
            }
        }
        Ok(())
    }
}

/// Bytes of the buffer of a file in the folder.
const BUFFER: usize = 256 << 10;

/// A folder for the files of an ordered fold. Nothing of it outlives the process.
struct ScratchFolder<'s>(&'s Path);

impl ScratchFolder<'_> {
    fn wrap<T>(&self, name: &str, result: std::io::Result<T>) -> Result<T, StageError> {
        result.map_err(|error| as_stage_write(WriteError::io(self.0.join(name))(error)))
    }
}

impl Scratch for ScratchFolder<'_> {
    fn create(&self, name: &str) -> Result<Box<dyn Write>, StageError> {
        let file = self.wrap(name, File::create(self.0.join(name)))?;
        Ok(Box::new(BufWriter::with_capacity(BUFFER, file)))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read>, StageError> {
        let file = self.wrap(name, File::open(self.0.join(name)))?;
        Ok(Box::new(BufReader::with_capacity(BUFFER, file)))
    }

    fn remove(&self, name: &str) -> Result<(), StageError> {
        self.wrap(name, std::fs::remove_file(self.0.join(name)))
    }
}

/// Folds a lane that is sorted. Nothing else is done at the time, so that it may take the memory of all threads.
pub(crate) fn fold(
    dir: &Path,
    job: &Job<'_>,
    plan: &Plan,
    times: &ChainTimes,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let name = spill_name(job.lane);
    let scratch = dir.join(format!("{name}.windows"));
    remove_dir(&scratch)?;
    std::fs::create_dir_all(&scratch).map_err(PipelineError::io(&scratch))?;
    let memory = plan.sizes.sort_bytes.saturating_mul(rayon::current_num_threads() as u64);
    let work = Workspace { memory, scratch: &ScratchFolder(&scratch) };
    let lane = SortedLane { dir, name, job, plan, progress, failed: RefCell::new(None) };
    let mut outputs = Outputs::open(dir, *plan, job.stage, Emitting::Ordered { lane: job.lane_index })?;
    let folded = job.stage.fold_sequence(job.lane_index, &lane, &work, times, &mut |index, key, value| {
        if lane.failed.borrow().is_none()
            && let Err(error) = outputs.put(index, key, value)
        {
            lane.failed.replace(Some(unwrap_stage(error)));
        }
    });
    match lane.failed.take() {
        Some(error) => return Err(error),
        None => folded.map_err(unwrap_stage)?,
    }
    outputs.finish(plan.partitions)?;
    remove_dir(&scratch)
}
