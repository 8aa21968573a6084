//! Brings an index to where a folder of block files is, and keeps it there.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use cairn_link::IndexSlot;
use cairn_model::{Height, Network, SourceKind, SourceStatus};
use cairn_pipeline::{Driver, Engine, PipelineError, SyncOptions, SyncReport, survey_memory};
use cairn_reader::Facts;
use cairn_sources::{BlockFiles, SourceError, Survey, SurveyStats};

use crate::{
    announce::Announce,
    config::Limits,
    exit::{Exit, Failure},
    footprint::{Footprint, Taken},
    out,
    progress::{Reporter, Screen, round},
    stop::Stop,
};

/// Time between two looks at the block files.
const POLL: Duration = Duration::from_secs(1);
/// How often in a row a block may have moved under our hands before that is an error: a node appends and, after a
/// crash, overwrites; it does not do so all the time.
const MOVES: u32 = 5;

/// When to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Until {
    /// When asked to stop.
    Stopped,
    /// At this height, waiting for it if need be.
    Height(Height),
    /// At the tip of the files as they are now, or at this height if that is lower.
    Tip {
        /// Highest height wanted.
        to: Option<Height>,
    },
}

/// An index, opened for writing, and the files it comes from.
pub(crate) struct Follower {
    files: BlockFiles,
    engine: Engine,
    datadir: PathBuf,
    slot: Arc<IndexSlot>,
    announce: Announce,
    /// First damaged record, if blocks lie behind it that the chain does not reach.
    cut_at: Option<String>,
    screen: Screen,
    stop: Stop,
}

impl Follower {
    /// Opens files and index; makes the index if there is none.
    ///
    /// # Errors
    /// Files or index cannot be used, or belong to other networks.
    pub(crate) fn open(
        network: Network,
        datadir: &Path,
        blocks: &Path,
        limits: Limits,
        screen: &Screen,
        stop: &Stop,
    ) -> Result<Self, Failure> {
        // The files first: no index is made for a folder that cannot fill it.
        let files = BlockFiles::open(blocks, network)?.with_survey_memory(survey_memory(limits.memory));
        let blocks_dir = blocks.canonicalize().map_err(Failure::io(blocks))?;
        let facts = Facts { blocks_dir: Some(blocks_dir), ..Facts::of(network) };
        let mut engine = Engine::open_within(datadir, &facts, limits.memory)?;
        limits.apply(&mut engine);
        let (height, version) = (engine.tip()?.map(|(height, _)| height), env!("CARGO_PKG_VERSION"));
        tracing::info!(version, %network, datadir = %datadir.display(), blocks_dir = %blocks.display(), height, "index opened");
        let slot = Arc::new(IndexSlot::with(engine.reader()));
        let announce = Announce::open(datadir, slot.pool());
        Ok(Follower {
            files,
            engine,
            datadir: datadir.to_owned(),
            slot,
            announce,
            cut_at: None,
            screen: screen.clone(),
            stop: stop.clone(),
        })
    }

    /// The index for requests: they see every commit, and how far the files go.
    pub(crate) fn slot(&self) -> Arc<IndexSlot> {
        Arc::clone(&self.slot)
    }

    /// Makes sure that the files' chain was not cut short by damage before it reached what was asked for.
    ///
    /// # Errors
    /// It was: names file and offset. What lies before is indexed.
    pub(crate) fn whole(&self, to: Option<Height>) -> Result<(), Failure> {
        let tip = self.engine.tip()?.map(|(height, _)| height);
        match &self.cut_at {
            Some(place) if to.is_none() || tip < to => {
                let height = tip.map_or("no block".to_owned(), |height| format!("height {height}"));
                let message = format!("a damaged record cuts the chain short: {place}; indexed up to {height}");
                Err(Failure::new(Exit::Corrupt, message)
                    .hint("copy this file again, or let the node repair it (bitcoind -reindex); then start again"))
            }
            _ => Ok(()),
        }
    }

    /// Takes it apart, for another source to go on.
    pub(crate) fn into_parts(self) -> (Engine, Arc<IndexSlot>, Announce) {
        (self.engine, self.slot, self.announce)
    }

    /// Indexes until the end that is asked for, or until asked to stop.
    ///
    /// # Errors
    /// Files, index or disk fail. What was committed stays.
    pub(crate) fn follow(&mut self, until: Until) -> Result<Exit, Failure> {
        let reporter = Reporter::new(&self.screen, &self.stop, None);
        let mut survey = self.files.survey(&|at| reporter.survey(at))?;
        drop(reporter);
        let stats = survey.stats();
        log_survey(&stats);
        self.cut_at = cut_at(&stats);
        let to = match until {
            Until::Stopped => None,
            Until::Height(to) => Some(to),
            Until::Tip { to } => to,
        };
        let (mut moves, mut unusable) = (0, 0);
        loop {
            let best = survey.tip().map(|tip| tip.height);
            self.slot.set_best_height(best);
            self.announce.best(best);
            self.tell_status(best);
            match self.sync(&survey, to) {
                Ok(()) => moves = 0,
                Err(PipelineError::Stopped) => return Ok(self.stopped()),
                Err(PipelineError::Source(error @ SourceError::BlockChanged { .. }))
                    if moves < MOVES && !matches!(until, Until::Tip { .. }) =>
                {
                    moves += 1;
                    tracing::warn!(%error, "looking at the files again");
                }
                Err(error) => return Err(error.into()),
            }
            if self.files.unusable_undo() > unusable {
                unusable = self.files.unusable_undo();
                tracing::warn!(blocks = unusable, "undo data of a very old node: read without it, which takes longer");
            }
            let height = self.engine.tip()?.map(|(height, _)| height);
            let arrived = match until {
                Until::Stopped => false,
                Until::Height(to) => height.is_some_and(|height| height >= to),
                Until::Tip { .. } => true,
            };
            if arrived {
                return Ok(Exit::Done);
            }
            if !self.wait_for_blocks(&mut survey, moves > 0)? {
                return Ok(self.stopped());
            }
        }
    }

    /// Says that blocks come from files that could be read, and that nobody watches a mempool.
    fn tell_status(&self, blocks: Option<Height>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let status = SourceStatus {
            kind: SourceKind::Files,
            at: now,
            reachable: true,
            last_answer: Some(now),
            blocks,
            ..SourceStatus::default()
        };
        self.announce.source(&status);
        self.slot.set_source(Some(status));
    }

    /// Waits until the chain in the files is another; false if asked to stop.
    fn wait_for_blocks(&self, survey: &mut Survey, now: bool) -> Result<bool, Failure> {
        loop {
            if self.stop.wait(POLL) {
                return Ok(false);
            }
            let changed = survey.refresh(&self.files)?.changed();
            self.tell_status(survey.tip().map(|tip| tip.height));
            if changed || now {
                return Ok(true);
            }
        }
    }

    fn sync(&mut self, survey: &Survey, to: Option<Height>) -> Result<(), PipelineError> {
        let started = Instant::now();
        let reporter = Reporter::new(&self.screen, &self.stop, self.engine.tip()?.map(|(height, _)| height));
        let options = SyncOptions { driver: Driver::Auto, to, ignore_undo: false };
        // What an index costs is told where one is made from nothing.
        let footprint = self.engine.tip()?.is_none().then(|| Footprint::watch(&self.datadir));
        let report = self.engine.sync(&self.files, survey, &options, &reporter)?;
        drop(reporter);
        self.announce.tip(report.tip);
        log_sync(&report, started.elapsed());
        if let Some(footprint) = footprint.filter(|_| report.bulk) {
            log_cost(&report, started.elapsed(), footprint.taken());
        }
        Ok(())
    }

    fn stopped(&self) -> Exit {
        if let Ok(Some((height, hash))) = self.engine.tip() {
            tracing::info!(height, %hash, "stopped; the next start goes on from here");
        }
        self.stop.asked().unwrap_or(Exit::Interrupted)
    }
}

/// Where damage cuts the chain short: a damaged record, and blocks without their ancestors.
fn cut_at(found: &SurveyStats) -> Option<String> {
    let first = found.damaged_places.first().filter(|_| found.damaged > 0 && found.orphan_blocks > 0)?;
    Some(format!("blk{:05}.dat, offset {}", first.file, first.offset))
}

fn log_sync(report: &SyncReport, took: Duration) {
    let Some((height, hash)) = report.tip else { return };
    let seconds = round(took.as_secs_f64());
    let SyncReport { connected, disconnected, bytes, bulk, .. } = *report;
    if disconnected > 0 {
        tracing::warn!(disconnected, connected, height, %hash, seconds, "reorganization");
    } else if bulk {
        tracing::info!(connected, height, %hash, bytes, seconds, "indexed in bulk");
    } else if connected > 0 {
        tracing::info!(connected, height, %hash, bytes, seconds, "indexed");
    } else {
        tracing::info!(height, %hash, "the index is at the tip");
    }
}

/// Says what bulk indexing took, for each byte of block data where that is what counts.
fn log_cost(report: &SyncReport, took: Duration, taken: Taken) {
    let per_byte = |bytes: u64| (bytes as f64 * 1_000.0 / report.bytes.max(1) as f64).round() / 1_000.0;
    tracing::info!(
        mb_per_second = round(report.bytes as f64 / 1e6 / took.as_secs_f64()),
        index = out::size(taken.disk),
        index_per_block_byte = per_byte(taken.disk),
        most_disk_of_index = (taken.most_disk as f64 * 100.0 / taken.disk.max(1) as f64).round() / 100.0,
        written_per_block_byte = taken.written.map(per_byte),
        most_memory = taken.most_memory.map(out::size),
        "cost"
    );
}

/// Says what the files hold; what needs a look, as a warning of its own.
fn log_survey(found: &SurveyStats) {
    tracing::info!(
        files = found.files,
        size = out::size(found.bytes),
        chain_blocks = found.chain_blocks,
        stale_blocks = found.stale_blocks,
        duplicates = found.duplicates,
        half_written = found.half_written,
        unfinished = found.unfinished,
        missing_undo = found.missing_undo,
        "block files surveyed"
    );
    if found.missing_files > 0 {
        tracing::warn!(files = found.missing_files, "block files are missing between the first and the last");
    }
    if found.orphan_blocks > 0 {
        let first = found.missing_parents.first().map(ToString::to_string);
        tracing::warn!(
            blocks = found.orphan_blocks,
            missing_parent = first,
            "blocks without their ancestors: the chain may end too early"
        );
    }
    if found.damaged > 0 {
        let first = found.damaged_places.first().map(|at| format!("blk{:05}.dat, offset {}", at.file, at.offset));
        tracing::warn!(records = found.damaged, first, "damaged records");
    }
    if found.missing_undo > 0 {
        tracing::warn!(
            blocks = found.missing_undo,
            files = found.missing_undo_files,
            "blocks without undo data (rev*.dat): the coins that they spend are joined from the chain, which takes longer"
        );
    }
}
