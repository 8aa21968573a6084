//! The engine: holds the index for writing and brings it to where the source is.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_model::{BlockHash, Height};
use cairn_reader::{Facts, ReadError, Reader};
use cairn_sources::{BlockFiles, BlockRef, Survey};
use cairn_stages::{CHAIN, Order, Settings, Stage, Way};
use cairn_tables::{TableInfo, journal::Checkpoint, journal::Collisions as CollisionsTable};
use cairn_writer::{WriteError, Writer};

use crate::{
    BulkOptions, Phase, PipelineError, Progress, Step, bulk,
    collisions::Collisions,
    resolve::{Place, resolve, unresolved},
    tip,
};

/// Blocks between two flushes while catching up. A flush of all families costs some 30 ms, a block much less.
const FLUSH_BLOCKS: u32 = 256;
/// Time between two flushes while catching up.
const FLUSH_TIME: Duration = Duration::from_secs(10);

/// Which driver indexes.
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

/// How far and how to index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SyncOptions {
    /// Which driver.
    pub driver: Driver,
    /// Stop at this height.
    pub to: Option<Height>,
    /// Bulk only: do not use the files' undo data.
    pub ignore_undo: bool,
}

/// What a sync did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SyncReport {
    /// Blocks connected.
    pub connected: u64,
    /// Blocks disconnected.
    pub disconnected: u64,
    /// Bytes of block data of the connected blocks.
    pub bytes: u64,
    /// Whether bulk indexing did it.
    pub bulk: bool,
    /// The tip now.
    pub tip: Option<(Height, BlockHash)>,
}

/// A stage and how far it has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageState {
    /// Its name.
    pub name: &'static str,
    /// Version of what this program writes.
    pub version: u32,
    /// Whether it sees blocks in any order.
    pub order: Order,
    /// Its newest block; `None` if it has to be rebuilt.
    pub checkpoint: Option<Checkpoint>,
    /// Its tables.
    pub tables: &'static [TableInfo],
}

/// Holds an index for writing.
pub struct Engine {
    writer: Writer,
    facts: Facts,
    datadir: PathBuf,
    stages: Vec<Box<dyn Stage>>,
    reader: Arc<Reader>,
}

impl Engine {
    /// Opens the index in `datadir`, or makes one for `facts`.
    ///
    /// # Errors
    /// It belongs to another network, another process writes it, or the disk refuses.
    pub fn open(datadir: &Path, facts: &Facts) -> Result<Self, PipelineError> {
        Self::open_with(datadir, Some(facts), cairn_stages::all())
    }

    /// Opens an index that exists.
    ///
    /// # Errors
    /// There is none, another process writes it, or the disk refuses.
    pub fn open_existing(datadir: &Path) -> Result<Self, PipelineError> {
        let dir = datadir.join("index");
        if !dir.join("CURRENT").exists() {
            return Err(ReadError::Unusable(format!("no index in {}", datadir.display())).into());
        }
        Self::open_with(datadir, None, cairn_stages::all())
    }

    /// As [`Engine::open`], with other stages than the usual ones. The first is the journal's.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_with(
        datadir: &Path,
        wanted: Option<&Facts>,
        stages: Vec<Box<dyn Stage>>,
    ) -> Result<Self, PipelineError> {
        let writer = Writer::open(&datadir.join("index"))?;
        let facts = match (writer.facts()?, wanted) {
            (Some(found), Some(wanted)) => {
                if found.network != wanted.network {
                    return Err(PipelineError::WrongNetwork { expected: wanted.network, found: found.network });
                }
                // The block folder may have moved; everything else is fixed for good.
                let facts =
                    Facts { blocks_dir: wanted.blocks_dir.clone().or(found.blocks_dir.clone()), ..found.clone() };
                if facts != found {
                    writer.put_facts(&facts)?;
                }
                facts
            }
            (Some(found), None) => found,
            (None, Some(wanted)) => {
                writer.put_facts(wanted)?;
                wanted.clone()
            }
            (None, None) => return Err(ReadError::Empty.into()),
        };
        for stage in &stages {
            let found = writer.checkpoint(stage.name())?;
            if let Some(found) = found.filter(|c| c.version != stage.version() && stage.name() == CHAIN) {
                let (stage, expected) = (stage.name(), stage.version());
                return Err(PipelineError::Version { stage, found: found.version, expected });
            }
        }
        let reader = Arc::new(Reader::shared(Arc::clone(writer.db()))?);
        Ok(Engine { writer, facts, datadir: datadir.to_owned(), stages, reader })
    }

    /// What the index was made for.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The newest block of the journal.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn tip(&self) -> Result<Option<(Height, BlockHash)>, PipelineError> {
        Ok(self.writer.checkpoint(CHAIN)?.map(|c| (c.height, BlockHash(c.hash))))
    }

    /// A reader that shares the handle: its views see every commit at once.
    #[must_use]
    pub fn reader(&self) -> Arc<Reader> {
        Arc::clone(&self.reader)
    }

    /// The stages and how far they have come.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn stages(&self) -> Result<Vec<StageState>, PipelineError> {
        let state = |stage: &Box<dyn Stage>| {
            Ok(StageState {
                name: stage.name(),
                version: stage.version(),
                order: stage.order(),
                checkpoint: self.writer.checkpoint(stage.name())?,
                tables: stage.tables(),
            })
        };
        self.stages.iter().map(state).collect()
    }

    fn settings(&self) -> Settings {
        Settings { txid_prefix: self.facts.txid_prefix }
    }

    /// Brings the index to the best chain of the files: in bulk if it is empty, else block by block, reorgs included.
    /// Stages that have to be rebuilt are rebuilt first.
    ///
    /// # Errors
    /// What was committed before the error stays. [`PipelineError::Stopped`] if asked to stop.
    pub fn sync(
        &mut self,
        files: &BlockFiles,
        survey: &Survey,
        options: &SyncOptions,
        progress: &dyn Progress,
    ) -> Result<SyncReport, PipelineError> {
        let last = survey.tip().map_or(0, |tip| tip.height);
        let to = options.to.map_or(last, |to| to.min(last));
        let mut report = SyncReport::default();
        if self.tip()?.is_none() && options.driver != Driver::Tip {
            let bulk = BulkOptions { ignore_undo: options.ignore_undo, to };
            report.bytes = bulk::from_files(&self.bulk_target(), files, survey, &bulk, progress)?;
            report.connected = u64::from(to) + 1;
            report.bulk = true;
        }
        self.repair(progress)?;
        self.follow(files, survey, to, &mut report, progress)?;
        report.tip = self.tip()?;
        Ok(report)
    }

    fn bulk_target(&self) -> bulk::Target<'_> {
        bulk::Target { writer: &self.writer, stages: &self.stages, facts: &self.facts, dir: self.datadir.join("bulk") }
    }

    /// Rebuilds stages without a checkpoint or of another version, and lets those behind the journal catch up.
    fn repair(&mut self, progress: &dyn Progress) -> Result<(), PipelineError> {
        let Some((height, _)) = self.tip()? else { return Ok(()) };
        for i in 1..self.stages.len() {
            let stage = &self.stages[i];
            let found = self.writer.checkpoint(stage.name())?;
            match found {
                Some(c) if c.version == stage.version() && c.height == height => {}
                Some(c) if c.version == stage.version() && c.height < height && stage.order() == Order::Ordered => {
                    self.replay(i, c.height + 1, height, progress)?;
                }
                _ => self.rebuild(i, progress)?,
            }
        }
        Ok(())
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
                if self.work_above(fork)? >= work_above(survey, fork) {
                    let files = survey.tip().map_or(0, |tip| tip.height);
                    return Err(PipelineError::LessWork { files, index: height });
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
            if progress.stopped() {
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
            progress.step(Step { phase: Phase::Connect, done, total: u64::from(to - from) + 1, bytes: report.bytes });
        }
        Ok(())
    }

    /// The highest block that index and files have in common. Genesis is common: the network is.
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
        let mut decoded = files.read_decoded(at, self.facts.script_prefix, buf)?;
        let place = Place { height: at.height, first_tx: at.first_tx, mono_time: at.mono_time };
        let block = if at.height == 0 {
            unresolved(&mut decoded, at, place)
        } else {
            let view = self.reader.view()?;
            if view.tip().hash != at.previous() || view.tip().tx_end != at.first_tx {
                return Err(ReadError::Broken(format!("block {} does not follow the tip", at.hash)).into());
            }
            resolve(&view, &mut decoded, at, place, collisions)?
        };
        let stages: Vec<&dyn Stage> = self.stages.iter().map(AsRef::as_ref).collect();
        tip::apply(&self.writer, &stages, &self.settings(), &block, Way::Forward, Some(collisions))
    }

    /// Disconnects blocks until the tip is at `to`.
    ///
    /// # Errors
    /// `to` is above the tip, or the database fails. [`PipelineError::Stopped`] if asked to stop: the index is
    /// then at some height between.
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
            if progress.stopped() {
                self.writer.flush()?;
                return Err(PipelineError::Stopped);
            }
            let view = self.reader.view()?;
            let block =
                view.journal_block(height)?.ok_or_else(|| ReadError::Broken("a block is missing".to_owned()))?;
            drop(view);
            let prefixes = block.outputs.iter().filter(|o| o.spendable).map(|o| o.id.prefix);
            collisions.forget_from(block.first_tx, prefixes);
            tip::apply(&self.writer, &stages, &self.settings(), &block, Way::Back, Some(&mut collisions))?;
            let done = u64::from(tip - height) + 1;
            progress.step(Step { phase: Phase::Unwind, done, total: u64::from(tip - to), bytes: 0 });
            if done.is_multiple_of(u64::from(FLUSH_BLOCKS)) || flushed.elapsed() > FLUSH_TIME {
                self.writer.flush()?;
                flushed = Instant::now();
            }
        }
        Ok(self.writer.flush()?)
    }

    /// Drops a stage's tables and rebuilds them from the journal; the block files are not needed.
    ///
    /// # Errors
    /// There is no such stage, or it is the journal itself, or the database fails. A rebuild that is cut short
    /// starts again with the next [`Engine::sync`], [`Engine::unwind`] or [`Engine::reindex`].
    pub fn reindex(&mut self, stage: &str, progress: &dyn Progress) -> Result<(), PipelineError> {
        if stage == CHAIN {
            return Err(PipelineError::ChainIsTheJournal);
        }
        self.tip()?.ok_or(ReadError::Empty)?;
        let found = self.stages.iter().position(|s| s.name() == stage);
        let index = found.ok_or_else(|| PipelineError::UnknownStage(stage.to_owned()))?;
        self.rebuild(index, progress)
    }

    fn rebuild(&self, index: usize, progress: &dyn Progress) -> Result<(), PipelineError> {
        let stage = self.stages[index].as_ref();
        // Without its checkpoint, a half-rebuilt stage is known as such.
        self.writer.commit::<WriteError>(|batch| {
            batch.delete_row::<cairn_tables::journal::Checkpoints>(&stage.name().to_owned());
            Ok(())
        })?;
        self.writer.flush()?;
        for table in stage.tables() {
            self.writer.clear(table)?;
        }
        match stage.order() {
            Order::Free => {
                let view = self.reader.view()?;
                bulk::from_journal(&self.bulk_target(), index, &view, progress)
            }
            Order::Ordered => {
                let height = self.tip()?.map_or(0, |(height, _)| height);
                self.replay(index, 0, height, progress)
            }
        }
    }

    /// Applies journal blocks to one stage, block by block.
    fn replay(&self, index: usize, from: Height, to: Height, progress: &dyn Progress) -> Result<(), PipelineError> {
        let view = self.reader.view()?;
        let stage = self.stages[index].as_ref();
        for block in view.journal(from, to)? {
            if progress.stopped() {
                self.writer.flush()?;
                return Err(PipelineError::Stopped);
            }
            let block = block?;
            tip::apply(&self.writer, &[stage], &self.settings(), &block, Way::Forward, None)?;
            if block.height % FLUSH_BLOCKS == 0 {
                self.writer.flush()?;
            }
            let (done, total) = (u64::from(block.height - from) + 1, u64::from(to - from) + 1);
            progress.step(Step { phase: Phase::Fold, done, total, bytes: 0 });
        }
        Ok(self.writer.flush()?)
    }
}

fn work_above(survey: &Survey, fork: Height) -> u128 {
    let blocks = survey.blocks(fork + 1..survey.len() as Height);
    blocks.fold(0, |sum, b| {
        let bits = u32::from_le_bytes([b.header[72], b.header[73], b.header[74], b.header[75]]);
        sum.saturating_add(cairn_sources::work_of(bits))
    })
}
