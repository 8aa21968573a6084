//! The engine: has the index open for writing and brings it to the tip of the source.

use std::{
    cmp::Ordering,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use bitcoin::{constants::genesis_block, hashes::Hash};
use cairn_model::{BlockHash, Height, TxNum};
use cairn_reader::{ChainIndex, Facts, ReadError, Reader};
use cairn_sources::{BlockFiles, BlockRef, Decoded, Survey};
use cairn_stages::{CHAIN, FoldDirection, MapContext, Stage, StageInfo, Times};
use cairn_tables::{checkpoints::Checkpoint, journal::Collisions as CollisionsTable};
use cairn_writer::Writer;

use crate::{
    BulkOptions, BulkSizes, Phase, PipelineError, Progress, ProgressStep,
    background::Background,
    bulk,
    collisions::Collisions,
    exchanges::FollowedFlows,
    late::KeptFolds,
    ledger::Archive,
    resolve::{ChainPosition, resolve, unresolved},
    silent_payments::{TweakMaking, WholeBlocks},
    times::IndexTimes,
    tip,
    watchlist::NewWatchlist,
};

/// Blocks between two flushes while catching up. A flush of all families costs some 30 ms, a block much less.
pub(crate) const FLUSH_BLOCKS: u32 = 256;
/// Time between two flushes while catching up.
const FLUSH_TIME: Duration = Duration::from_secs(10);

/// Selection of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Driver {
    /// Bulk into an empty index, block by block otherwise.
    #[default]
    Auto,
    /// Bulk; only into an empty index.
    Bulk,
    /// Block by block, even from genesis.
    Tip,
}

/// Options of a sync.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SyncOptions {
    /// Which driver.
    pub driver: Driver,
    /// Stop at this height.
    pub to: Option<Height>,
    /// Bulk only: do not use the files' undo data.
    pub ignore_undo: bool,
}

/// Result of a sync.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SyncReport {
    /// Blocks connected.
    pub connected: u64,
    /// Blocks disconnected.
    pub disconnected: u64,
    /// Bytes of block data of the connected blocks.
    pub bytes: u64,
    /// True for bulk indexing.
    pub bulk: bool,
    /// The new tip.
    pub tip: Option<(Height, BlockHash)>,
}

/// Minimum memory of indexing in bytes, besides the list of blocks.
const WORKING_MEMORY: u64 = 88 << 20;

/// Memory limit of a survey of block files in bytes, derived from the limit of indexing. The index also stores data of
/// each block, a fifth of the survey's.
#[must_use]
pub fn survey_memory(memory: u64) -> u64 {
    memory.saturating_sub(WORKING_MEMORY) / 6 * 5
}

/// An index, open for writing.
pub struct Engine {
    pub(crate) writer: Writer,
    pub(crate) facts: Facts,
    pub(crate) datadir: PathBuf,
    pub(crate) stages: Vec<Box<dyn Stage>>,
    pub(crate) reader: Arc<Reader>,
    /// Memory limit of indexing in bytes.
    pub(crate) memory: u64,
    pub(crate) save_seconds: u64,
    /// Sizes that override those derived from the memory limit.
    pub(crate) sizes: Option<BulkSizes>,
    /// Folds of late stages, kept in memory.
    pub(crate) folds: KeptFolds,
    pub(crate) watchlist: Background<NewWatchlist>,
    /// Flows of exchanges that are being made.
    pub(crate) flows: FollowedFlows,
    /// Tweaks of silent payments that are being made.
    pub(crate) tweaks: TweakMaking,
    /// The second copy of the ledger.
    pub(crate) archive: Archive,
    /// True when the archive and the index have had the same documents since the engine was opened.
    pub(crate) archive_matches: AtomicBool,
}

impl Engine {
    /// Sets how many seconds of bulk work a kill loses at most.
    pub fn set_save_seconds(&mut self, seconds: u64) {
        self.save_seconds = seconds;
    }

    /// Changes how much bulk indexing takes at a time. Finished work of an interrupted run with another number of
    /// partitions is lost.
    pub fn set_bulk_sizes(&mut self, sizes: BulkSizes) {
        self.sizes = Some(sizes);
    }

    /// Has tweaks of silent payments made from now on, or not.
    pub fn set_silent_payments(&mut self, is_on: bool) {
        self.tweaks.is_on = is_on;
    }

    /// Takes whole blocks from here that the block files do not have.
    pub fn set_whole_blocks(&self, whole_blocks: Arc<dyn WholeBlocks>) {
        *self.tweaks.whole_blocks.lock() = Some(whole_blocks);
    }

    /// Parameters of the index.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The newest block of the journal.
    pub fn tip(&self) -> Result<Option<(Height, BlockHash)>, PipelineError> {
        Ok(self.writer.checkpoint(CHAIN)?.map(|c| (c.height, c.hash)))
    }

    /// A reader that shares the handle: its views see every commit at once.
    #[must_use]
    pub fn reader(&self) -> Arc<Reader> {
        Arc::clone(&self.reader)
    }

    /// Its stages, each with its checkpoint; a stage without one must be rebuilt.
    pub fn stages(&self) -> Result<Vec<(StageInfo, Option<Checkpoint>)>, PipelineError> {
        let of = |stage: &dyn Stage| Ok((stage.info(), self.writer.checkpoint(stage.name())?));
        self.stages.iter().map(|stage| of(stage.as_ref())).collect()
    }

    /// Context of the stages' mapping, with the block times of a view.
    pub(crate) fn context<'c>(&self, times: &'c dyn Times) -> MapContext<'c> {
        MapContext { txid_prefix: self.facts.txid_prefix, times }
    }

    /// Brings the index to the best chain of the files: in bulk if it is empty, otherwise block by block, including
    /// reorgs. Stages that must be rebuilt are rebuilt first.
    ///
    /// # Errors
    /// Returns [`PipelineError::Stopped`] if cancelled. Earlier commits stay.
    pub fn sync(
        &mut self,
        files: &BlockFiles,
        survey: &Survey,
        options: &SyncOptions,
        progress: &dyn Progress,
    ) -> Result<SyncReport, PipelineError> {
        let listed = survey.memory() / 5 * 6;
        self.writer.leave(listed);
        let last = survey.tip().map_or(0, |tip| tip.height);
        let to = options.to.map_or(last, |to| to.min(last));
        let mut report = SyncReport::default();
        match (self.tip()?, options.driver) {
            (Some(_), _) => {}
            (None, Driver::Tip) => bulk::discard(&self.bulk_target(0))?,
            (None, _) => {
                let bulk = BulkOptions { ignore_undo: options.ignore_undo, to };
                let target = self.bulk_target(listed);
                report.bytes = bulk::from_files(&target, files, survey, &bulk, progress)?;
                report.connected = u64::from(to) + 1;
                report.bulk = true;
            }
        }
        self.repair(progress)?;
        self.follow(files, survey, to, &mut report, progress)?;
        report.tip = self.tip()?;
        Ok(report)
    }

    pub(crate) fn bulk_dir(&self) -> PathBuf {
        self.datadir.join("bulk")
    }

    /// Target of bulk work, when `taken` bytes of memory are in use already.
    pub(crate) fn bulk_target(&self, taken: u64) -> bulk::BulkTarget<'_> {
        let (writer, stages, facts) = (&self.writer, &self.stages, &self.facts);
        let sizes = self.sizes.unwrap_or_else(|| {
            let memory = self.memory.saturating_sub(taken);
            BulkSizes { save_seconds: self.save_seconds, ..BulkSizes::of_memory(memory, rayon::current_num_threads()) }
        });
        bulk::BulkTarget { writer, stages, facts, dir: self.bulk_dir(), sizes }
    }

    /// Connects and disconnects blocks until the tip is the files' block at `to`.
    fn follow(
        &mut self,
        files: &BlockFiles,
        survey: &Survey,
        to: Height,
        report: &mut SyncReport,
        progress: &dyn Progress,
    ) -> Result<(), PipelineError> {
        if let Some((height, _)) = self.tip()? {
            let fork = self.fork(survey, height)?;
            // Blocks that the index has and the files' branch does not are undone only for more work.
            if fork < height && survey.len() as u64 > u64::from(fork) + 1 {
                match work_above(survey, fork).cmp(&self.work_above(fork)?) {
                    Ordering::Greater => {}
                    // As a node does: the branch that was there first stays.
                    Ordering::Equal => return Ok(()),
                    Ordering::Less => {
                        let files = survey.tip().map_or(0, |tip| tip.height);
                        return Err(PipelineError::LessWork { files, index: height });
                    }
                }
                report.disconnected += u64::from(height - fork);
                self.unwind(fork, progress)?;
            } else if fork < height {
                return Ok(());
            }
        }
        let from = self.tip()?.map_or(0, |(height, _)| height + 1);
        if from > to {
            return Ok(());
        }
        let mut collisions = self.collisions()?;
        let (mut buf, mut since, mut flushed) = (Vec::new(), 0, Instant::now());
        for at in survey.blocks(from..to + 1) {
            if progress.cancel_token().is_cancelled() {
                self.writer.flush()?;
                return Err(PipelineError::Stopped);
            }
            self.connect(files, &at, &mut collisions, &mut buf)?;
            report.connected += 1;
            report.bytes += u64::from(at.size);
            since += 1;
            if since >= FLUSH_BLOCKS || flushed.elapsed() > FLUSH_TIME || at.height == to {
                self.writer.flush()?;
                (since, flushed) = (0, Instant::now());
            }
            let done = u64::from(at.height - from) + 1;
            progress.step(ProgressStep {
                phase: Phase::Connect,
                done,
                total: u64::from(to - from) + 1,
                bytes: report.bytes,
                of_bytes: 0,
            });
        }
        Ok(())
    }

    /// The highest common block of index and files. Genesis is always common, since the network is the same.
    fn fork(&self, survey: &Survey, tip: Height) -> Result<Height, PipelineError> {
        let view = self.reader.view()?;
        let mut height = tip.min(survey.tip().map_or(0, |t| t.height));
        while height > 0 {
            let ours = view.header(height)?.ok_or_else(|| ReadError::Broken("a header is missing".to_owned()))?;
            if survey.block(height).is_some_and(|b| b.hash == ours.hash) {
                break;
            }
            height -= 1;
        }
        Ok(height)
    }

    fn work_above(&self, fork: Height) -> Result<u128, PipelineError> {
        let view = self.reader.view()?;
        let mut work = 0u128;
        for row in view.scan::<cairn_tables::headers::Headers>(Some(&(fork + 1)))? {
            work = work.saturating_add(cairn_sources::work_of(row?.1.bits()));
        }
        Ok(work)
    }

    fn collisions(&self) -> Result<Collisions, PipelineError> {
        if self.tip()?.is_none() {
            return Ok(Collisions::default());
        }
        let view = self.reader.view()?;
        let rows = view.scan::<CollisionsTable>(None)?.collect::<Result<Vec<_>, _>>()?;
        Ok(Collisions::of_rows(rows.into_iter()))
    }

    fn connect(
        &self,
        files: &BlockFiles,
        at: &BlockRef,
        collisions: &mut Collisions,
        buf: &mut Vec<u8>,
    ) -> Result<(), PipelineError> {
        let decoded = files.read_decoded(at, self.facts.script_prefix, buf)?;
        self.connect_decoded(decoded, ChainPosition::of(at), collisions)
    }

    /// Connects a block to the tip; it is not durable until the writer flushes.
    fn connect_decoded(
        &self,
        mut decoded: Decoded,
        place: ChainPosition,
        collisions: &mut Collisions,
    ) -> Result<(), PipelineError> {
        let stages: Vec<&dyn Stage> = self.stages.iter().map(AsRef::as_ref).collect();
        let (block, times, labels) = if place.height == 0 {
            (unresolved(&mut decoded, place), ChainIndex::default(), None)
        } else {
            let view = self.reader.view()?;
            let follows = decoded.header[4..36] == view.tip().hash.0 && view.tip().tx_end == place.first_tx;
            if !follows || view.tip().height + 1 != place.height {
                return Err(ReadError::Broken(format!("block {} does not follow the tip", decoded.hash)).into());
            }
            let block = resolve(&self.reader, &view, &mut decoded, place, collisions)?;
            let labels = self.labels_of_block(&view, &block, FoldDirection::Forward)?;
            (block, view.chain().clone(), labels)
        };
        let times = IndexTimes(times);
        let context = self.context(&times);
        tip::apply(
            (&self.writer, &self.reader),
            &stages,
            &context,
            &block,
            FoldDirection::Forward,
            (collisions, labels),
        )
    }

    /// Connects a block without a file position to the tip. Visible at once, durable with the next [`Engine::settle`].
    ///
    /// # Errors
    /// Fails if the block does not follow the tip, or spends a missing coin; nothing is written then.
    pub fn extend(&mut self, decoded: Decoded) -> Result<(), PipelineError> {
        let time = decoded.header.get(68..72).and_then(|b| b.first_chunk::<4>()).map_or(0, |b| u32::from_le_bytes(*b));
        let place = match self.tip()? {
            None => ChainPosition { height: 0, first_tx: TxNum(0), mono_time: time, position: None },
            Some(_) => {
                let tip = *self.reader.view()?.tip();
                ChainPosition {
                    height: tip.height + 1,
                    first_tx: tip.tx_end,
                    mono_time: tip.mono_time.max(time),
                    position: None,
                }
            }
        };
        if place.height == 0
            && decoded.hash.0 != genesis_block(self.facts.network.to_bitcoin()).block_hash().to_byte_array()
        {
            return Err(ReadError::Broken(format!("block {} is not genesis", decoded.hash)).into());
        }
        let mut collisions = self.collisions()?;
        self.connect_decoded(decoded, place, &mut collisions)
    }

    /// Makes all connected blocks durable, atomically.
    ///
    /// # Errors
    /// Fails if the disk fails; earlier flushes stay durable.
    pub fn settle(&self) -> Result<(), PipelineError> {
        Ok(self.writer.flush()?)
    }

    /// Rebuilds stages that must be rebuilt before blocks can be connected or disconnected.
    pub fn prepare(&mut self, progress: &dyn Progress) -> Result<(), PipelineError> {
        self.repair(progress)
    }

    /// Disconnects blocks until the tip is at `to`.
    ///
    /// # Errors
    /// Fails if `to` is above the tip; returns [`PipelineError::Stopped`] if cancelled: the index is then at a height
    /// in between.
    pub fn unwind(&mut self, to: Height, progress: &dyn Progress) -> Result<(), PipelineError> {
        let tip = self.tip()?.ok_or(ReadError::Empty)?.0;
        if to > tip {
            return Err(PipelineError::AboveTip { tip, to });
        }
        self.repair(progress)?;
        let mut collisions = self.collisions()?;
        let stages: Vec<&dyn Stage> = self.stages.iter().map(AsRef::as_ref).collect();
        let mut flushed = Instant::now();
        for height in (to + 1..=tip).rev() {
            if progress.cancel_token().is_cancelled() {
                self.writer.flush()?;
                return Err(PipelineError::Stopped);
            }
            // Before the block: what late stages say is never of a block that is gone.
            self.undo_late(height)?;
            let view = self.reader.view()?;
            let block =
                view.journal_block(height)?.ok_or_else(|| ReadError::Broken("a block is missing".to_owned()))?;
            let labels = self.labels_of_block(&view, &block, FoldDirection::Back)?;
            let times = IndexTimes(view.chain().clone());
            drop(view);
            let prefixes = block.outputs.iter().filter(|o| o.spendable).map(|o| o.id.prefix);
            collisions.forget_from(block.first_tx, prefixes);
            let context = self.context(&times);
            tip::apply(
                (&self.writer, &self.reader),
                &stages,
                &context,
                &block,
                FoldDirection::Back,
                (&mut collisions, labels),
            )?;
            let done = u64::from(tip - height) + 1;
            progress.step(ProgressStep {
                phase: Phase::Unwind,
                done,
                total: u64::from(tip - to),
                bytes: 0,
                of_bytes: 0,
            });
            if done.is_multiple_of(u64::from(FLUSH_BLOCKS)) || flushed.elapsed() > FLUSH_TIME {
                self.writer.flush()?;
                flushed = Instant::now();
            }
        }
        Ok(self.writer.flush()?)
    }
}

fn work_above(survey: &Survey, fork: Height) -> u128 {
    let blocks = survey.blocks(fork + 1..survey.len() as Height);
    blocks.fold(0, |sum, b| sum.saturating_add(cairn_sources::work_of(b.bits)))
}
