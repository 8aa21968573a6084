//! The bulk driver: the whole chain into an empty index, or one stage out of the journal, without random reads.
//!
//! 1. **link**: blocks are decoded in parallel; txids and the outpoints that inputs name are spilled by txid. Txids and
//!    script prefixes are also noted in the order of the chain: later passes take them from there, so that each byte is
//!    hashed once.
//! 2. **join**: per range of txids, outpoints meet the numbers of their transactions and are spilled by spender, and
//!    once more by funding transaction: so it is known which outputs are spent in the end.
//! 3. **coins**: only for blocks without undo data: the coins that they spend are picked out of the blocks.
//! 4. **fold**: blocks are parsed once more, now with number (2) and value (undo data, or 3) of each spent coin, and
//!    mapped by the stages. Rows that rise with the chain are written at once, other deltas are spilled by key; those
//!    of coins that are spent in the end (`Merge::Coin`) are dropped.
//! 5. **tables**: per lane and range of keys, deltas are sorted, folded and written as table files. Stages that hear a
//!    lane get its sorted deltas, too. Their results become table files afterwards: sums that are added up, and deltas
//!    of lanes that are folded in order, by one thread, into deltas of more lanes.
//! 6. **ingest**: the files are taken into the database, one family at a time; the checkpoints come last and are the
//!    commit.
//!
//! Finished work is noted in a manifest, each phase at its end and every few seconds on the way; killed at any time,
//! the work continues after the last note. A partition that does not fit in memory is done in parts or sorted in runs.

mod coins;
mod file_rows;
mod fold;
mod join;
mod journal;
mod link;
mod manifest;
mod notes;
mod ordered;
mod outputs;
mod plan;
mod runs;
mod shuffle;
mod source;
mod spill;
mod streams;
mod tables;
mod write_behind;

use std::path::PathBuf;

use cairn_model::{BlockHash, Height};
use cairn_reader::{Facts, Reader, Tip};
use cairn_sources::{BlockFiles, Survey};
use cairn_stages::{CHAIN, ChainTimes, Lane, MapContext, Merge, Stage, StageError};
use cairn_tables::{
    checkpoints::{Checkpoint, Checkpoints},
    journal::Collisions as CollisionsTable,
};
use cairn_writer::Writer;
use sha2::{Digest, Sha256};

pub(crate) use self::manifest::remove_dir;
pub use self::plan::BulkSizes;
use self::{
    manifest::{BulkPhase, Manifest, Saver},
    plan::Plan,
};
use crate::{Phase, PipelineError, Progress, ProgressStep, times::IndexTimes};

/// Counts the forms that working files have had: a run does not go on with those of another form.
const WORKING_FILES: u32 = 5;

/// Options of bulk indexing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BulkOptions {
    /// Do not use undo data: pick spent coins out of the blocks instead.
    pub ignore_undo: bool,
    /// Height of the last block.
    pub to: Height,
}

/// The index that bulk work writes into.
pub(crate) struct BulkTarget<'e> {
    pub(crate) writer: &'e Writer,
    pub(crate) stages: &'e [Box<dyn Stage>],
    pub(crate) facts: &'e Facts,
    /// Folder for working files; removed when done.
    pub(crate) dir: PathBuf,
    pub(crate) sizes: BulkSizes,
}

/// A lane of a stage that takes part.
#[derive(Clone, Copy)]
pub(crate) struct Job<'e> {
    pub(crate) stage: &'e dyn Stage,
    pub(crate) lane_index: usize,
    pub(crate) lane: &'e Lane,
    /// Its rows are made. Otherwise it takes part because another stage hears it.
    pub(crate) folds: bool,
    pub(crate) source: LaneSource,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneSource {
    /// Its stage maps blocks to it.
    Blocks,
    /// Its stage hears another lane; if it has a lane that is folded in order, that fold may emit into it, too.
    Heard,
    /// It stands behind a lane that its stage maps blocks to and that is folded in order: only that fold emits into it.
    Ordered,
}

impl<'e> Job<'e> {
    fn new(stage: &'e dyn Stage, lane_index: usize, folds: bool) -> Self {
        let behind = stage.lanes()[..lane_index].iter().any(|lane| lane.merge == Merge::Ordered);
        let source = match stage.hears() {
            Some(_) => LaneSource::Heard,
            None if behind => LaneSource::Ordered,
            None => LaneSource::Blocks,
        };
        Job { stage, lane_index, lane: &stage.lanes()[lane_index], folds, source }
    }

    /// Whether it is the lane `lane_index` of the stage named `stage`.
    pub(crate) fn is(&self, stage: &str, lane_index: usize) -> bool {
        self.stage.name() == stage && self.lane_index == lane_index
    }

    /// Whether its stage hears the lane of `other`.
    pub(crate) fn is_of_listener_of(&self, other: &Job<'_>) -> bool {
        self.stage.hears().is_some_and(|heard| other.is(heard.stage.name(), heard.lane))
    }
}

fn jobs<'e>(stages: impl Iterator<Item = &'e dyn Stage>) -> Vec<Job<'e>> {
    let stages: Vec<&'e dyn Stage> = stages.collect();
    let lanes = |stage: &'e dyn Stage| (0..stage.lanes().len()).map(move |lane| Job::new(stage, lane, true));
    let mut jobs: Vec<Job<'e>> = stages.iter().flat_map(|stage| lanes(*stage)).collect();
    for heard in stages.iter().filter_map(|stage| stage.hears()) {
        if !jobs.iter().any(|job| job.is(heard.stage.name(), heard.lane)) {
            jobs.push(Job::new(heard.stage, heard.lane, false));
        }
    }
    jobs
}

/// Reports a step; an error if asked to stop.
pub(crate) fn step(progress: &dyn Progress, step: ProgressStep) -> Result<(), PipelineError> {
    progress.step(step);
    PipelineError::if_cancelled(progress.cancel_token())
}

/// Indexes the files' best chain up to `options.to` into an empty index. Returns the bytes of its blocks.
///
/// # Errors
/// Leaves the index empty. Finished phases are kept for the next try unless the files were at fault.
pub(crate) fn from_files(
    target: &BulkTarget<'_>,
    files: &BlockFiles,
    survey: &Survey,
    options: &BulkOptions,
    progress: &dyn Progress,
) -> Result<u64, PipelineError> {
    let result = match try_from_files(target, files, survey, options, progress) {
        // Undo data of a very old node, or of a sibling block: do without any.
        Err(e) if !options.ignore_undo && blames_undo(&e) => {
            tracing::warn!(%e, "undo data is unusable; indexing without it");
            let options = BulkOptions { ignore_undo: true, ..*options };
            try_from_files(target, files, survey, &options, progress)
        }
        other => other,
    };
    give_up_damaged(target, &result)?;
    result
}

/// With a damaged working file every further try would fail like this one: the next one starts from the beginning.
fn give_up_damaged<T>(target: &BulkTarget<'_>, result: &Result<T, PipelineError>) -> Result<(), PipelineError> {
    match result {
        Err(PipelineError::Spill { .. }) => remove_dir(&target.dir),
        _ => Ok(()),
    }
}

/// Whether wrong undo data may be the reason: a height that does not fit, amounts that do not add up, or a coin that
/// was spent with another value or script than it was made with.
fn blames_undo(e: &PipelineError) -> bool {
    matches!(
        e,
        PipelineError::UndoContradicts(_)
            | PipelineError::MakesMoney { .. }
            | PipelineError::Stage(StageError::Contradiction { stage: CHAIN, what: source::OTHER_COIN })
    )
}

fn try_from_files(
    target: &BulkTarget<'_>,
    files: &BlockFiles,
    survey: &Survey,
    options: &BulkOptions,
    progress: &dyn Progress,
) -> Result<u64, PipelineError> {
    let bytes: u64 = survey.blocks(0..options.to + 1).map(|b| u64::from(b.size)).sum();
    let Some(tip) = survey.block(options.to) else { return Ok(0) };
    let plan = Plan::of(target.sizes, bytes, tip.first_tx.0 + u64::from(tip.tx_count));
    let versions = versions(target.stages.iter().map(AsRef::as_ref));
    let layout = layout_digest(survey, options.to);
    let job = format!("{WORKING_FILES} {} {layout} {options:?} {versions}", tip.hash);
    let mut manifest = match Manifest::resume(&target.dir, &job, plan) {
        Some(manifest) => manifest,
        None => {
            // A try at another chain may have come as far as taking in table files.
            discard(target)?;
            Manifest::begin(&target.dir, &job, plan)?
        }
    };
    if !manifest.done(BulkPhase::Link) {
        link::run(&mut manifest, files, survey, target.facts, options, progress)?;
        manifest.finish(BulkPhase::Link)?;
    }
    if !manifest.done(BulkPhase::Join) {
        link::clean(&manifest)?;
        join::run(&mut manifest, survey, options, progress)?;
        manifest.finish(BulkPhase::Join)?;
    }
    if !manifest.done(BulkPhase::Coins) {
        coins::run(&mut manifest, files, survey, target.facts, options, progress)?;
        manifest.finish(BulkPhase::Coins)?;
    }
    let jobs = jobs(target.stages.iter().map(AsRef::as_ref));
    let times = ChainTimes::of(survey.blocks(0..options.to + 1).map(|block| (block.mono_time, block.first_tx)));
    if !manifest.done(BulkPhase::Fold) {
        let context = MapContext { txid_prefix: target.facts.txid_prefix, times: &times };
        let from = manifest.partway(BulkPhase::Fold).0;
        if from == 0 {
            manifest.fold = Default::default();
            manifest.collisions.clear();
        }
        let source = source::FileBlocks::new(&manifest, files, survey, target.facts, options, from as u32);
        let start = (from, survey.blocks(0..from as u32).map(|b| u64::from(b.size)).sum());
        let total = (u64::from(options.to) + 1, bytes);
        fold::run(&mut manifest, source, &jobs, &context, start, total, progress)?;
        manifest.finish(BulkPhase::Fold)?;
    }
    finish(target, &mut manifest, &jobs, &times, (options.to, tip.hash), progress)?;
    Ok(bytes)
}

/// Forgets unfinished work: removes the working folder, and rows of table files that were taken in without the commit.
/// Only for an empty index.
pub(crate) fn discard(target: &BulkTarget<'_>) -> Result<(), PipelineError> {
    remove_dir(&target.dir)?;
    let tables = target.stages.iter().flat_map(|stage| stage.tables());
    Ok(tables.into_iter().try_for_each(|table| target.writer.clear(table))?)
}

/// Which places of the files the chain's blocks and their undo data lie at: rows and spills depend on it.
fn layout_digest(survey: &Survey, to: Height) -> String {
    let mut hash = Sha256::new();
    for block in survey.blocks(0..to + 1) {
        let undo = block.undo.map_or([u64::MAX, 0], |undo| [undo.offset, undo.size.into()]);
        for number in [block.file.into(), block.offset, undo[0], undo[1]] {
            hash.update(number.to_le_bytes());
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Names and versions of stages: another version makes other rows.
fn versions<'s>(stages: impl IntoIterator<Item = &'s dyn Stage>) -> String {
    stages.into_iter().map(|stage| format!("{}:{} ", stage.name(), stage.version())).collect()
}

/// Rebuilds stages, whose tables are empty, from the journal.
///
/// # Errors
/// Leaves the stages without checkpoint.
pub(crate) fn from_journal(
    target: &BulkTarget<'_>,
    stages: &[usize],
    reader: &Reader,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let stages: Vec<&dyn Stage> = stages.iter().map(|stage| target.stages[*stage].as_ref()).collect();
    let result = try_from_journal(target, &stages, reader, progress);
    give_up_damaged(target, &result)?;
    result
}

fn try_from_journal(
    target: &BulkTarget<'_>,
    stages: &[&dyn Stage],
    reader: &Reader,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let tip = *reader.view()?.tip();
    let mut manifest = journal_manifest(target, stages, &tip)?;
    let jobs = jobs(stages.iter().copied());
    let times = IndexTimes(reader.view()?.chain().clone()).compact();
    fold_journal(&mut manifest, target, &jobs, &times, reader, progress)?;
    finish(target, &mut manifest, &jobs, &times, (tip.height, tip.hash), progress)
}

fn journal_manifest(target: &BulkTarget<'_>, stages: &[&dyn Stage], tip: &Tip) -> Result<Manifest, PipelineError> {
    // Rows of the journal are about a third of the blocks' bytes; a transaction has some 560 bytes.
    let plan = Plan::of(target.sizes, tip.tx_end.0 * 560, tip.tx_end.0);
    let job = format!("{WORKING_FILES} {} {}", versions(stages.iter().copied()), tip.hash);
    // The tables were emptied just now. So an earlier try is of use only as long as none of its files was taken in.
    match Manifest::resume(&target.dir, &job, plan).filter(Manifest::has_all_files) {
        Some(manifest) => Ok(manifest),
        None => Manifest::begin(&target.dir, &job, plan),
    }
}

/// The table files of a stage, made from the journal and not taken in. They stay in the working folder.
///
/// # Errors
/// Keeps finished work; the next try goes on.
pub(crate) fn table_files(
    target: &BulkTarget<'_>,
    stage: &dyn Stage,
    reader: &Reader,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>, PipelineError> {
    let mut manifest = journal_manifest(target, &[stage], reader.view()?.tip())?;
    let jobs = jobs(std::iter::once(stage));
    let times = IndexTimes(reader.view()?.chain().clone()).compact();
    let result = fold_journal(&mut manifest, target, &jobs, &times, reader, progress).and_then(|()| {
        if !manifest.done(BulkPhase::Tables) {
            tables::run(&mut manifest, &jobs, &times, progress)?;
            manifest.finish(BulkPhase::Tables)?;
        }
        Ok(cairn_tables::Family::ALL.iter().flat_map(|family| manifest.waiting(*family)).collect())
    });
    give_up_damaged(target, &result)?;
    result
}

/// Maps the blocks of the journal, as far as an earlier try has not.
fn fold_journal(
    manifest: &mut Manifest,
    target: &BulkTarget<'_>,
    jobs: &[Job<'_>],
    times: &ChainTimes,
    reader: &Reader,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let tip = *reader.view()?.tip();
    let context = MapContext { txid_prefix: target.facts.txid_prefix, times };
    if !manifest.done(BulkPhase::Fold) {
        let coins = jobs.iter().any(|job| matches!(job.lane.merge, Merge::Coin { .. }));
        if coins && !manifest.done(BulkPhase::Join) {
            journal::spill_spent(manifest, &reader.view()?, progress)?;
            manifest.finish(BulkPhase::Join)?;
        }
        let from = manifest.partway(BulkPhase::Fold).0;
        let source = journal::JournalSource::new(reader, manifest, coins, from as u32)?;
        fold::run(manifest, source, jobs, &context, (from, 0), (u64::from(tip.height) + 1, 0), progress)?;
        manifest.finish(BulkPhase::Fold)?;
    }
    Ok(())
}

/// Sorts and writes the tables of a chain up to that block, takes them in, and commits.
fn finish(
    target: &BulkTarget<'_>,
    manifest: &mut Manifest,
    jobs: &[Job<'_>],
    times: &ChainTimes,
    (height, hash): (Height, BlockHash),
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    if !manifest.done(BulkPhase::Tables) {
        tables::run(manifest, jobs, times, progress)?;
        manifest.finish(BulkPhase::Tables)?;
    }
    tables::ingest(target.writer, manifest, progress)?;
    let chain = jobs.iter().any(|j| j.stage.name() == CHAIN);
    let seq = target.writer.last_event()?;
    target.writer.commit::<PipelineError>(|batch| {
        for job in jobs.iter().filter(|job| job.folds) {
            let stage = job.stage.info();
            let checkpoint = Checkpoint::of(&stage, height, hash).with_events(&stage, seq);
            batch.put_row::<Checkpoints>(&stage.name.to_owned(), &checkpoint);
        }
        if chain {
            manifest.collision_rows().for_each(|(prefix, row)| batch.put_row::<CollisionsTable>(&prefix, &row));
        }
        Ok(())
    })?;
    target.writer.flush()?;
    manifest.remove()
}

/// True if a block is indexed without undo data; shared by join and coins.
pub(crate) fn lacks_undo(files_undo: bool, height: Height, options: &BulkOptions) -> bool {
    height > 0 && (options.ignore_undo || !files_undo)
}

/// Reports that a phase works on block `at` of `total`.
pub(crate) fn blocks_step(
    progress: &dyn Progress,
    phase: Phase,
    (done, total): (u64, u64),
    (bytes, of_bytes): (u64, u64),
) -> Result<(), PipelineError> {
    step(progress, ProgressStep { phase, done, total, bytes, of_bytes })
}
