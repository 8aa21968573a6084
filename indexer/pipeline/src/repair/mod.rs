//! Repairs an index in place: damaged parts are made again from intact ones.
//!
//! Derived stages and look-ups are made from the journal; blocks of the journal are read again from the block files or
//! the node. If too much is damaged, the caller builds a new index. A process that is killed leaves an index with which
//! the next command that writes goes on.

mod blocks;
mod collisions;
mod headers;
mod ledger;
mod lookups;
mod shared;
mod source;
pub(crate) mod swap;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use cairn_events::DocumentHash;
use cairn_reader::{Facts, ReadError, Reader};
use cairn_tables::{Family, Table, live_quotes::LiveQuotes, mempool::MempoolSamples, stages::LATE, tx_nums::TxNums};
use cairn_writer::{WriteError, Writer};

use self::shared::Shared;
pub use self::source::{BlockSource, FileBlocks, FoundBlock};
use crate::{
    BulkSizes, Engine, PipelineError, Progress,
    background::Background,
    bulk,
    exchanges::FollowedFlows,
    labels,
    late::KeptFolds,
    ledger::{Archive, forget_waiting, indexed, missing_of_inbox},
    replica::refuse_replica,
    silent_payments::TweakMaking,
    verify::{Audit, RawCheck, Repair, audit_index},
};

/// Result of a repair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Repaired {
    /// The index is whole. Each line says what was done; none if nothing was damaged.
    Whole(Vec<String>),
    /// It cannot be mended in place, for this reason: index the blocks again.
    Anew(String),
}

/// Options of a repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepairOptions {
    /// Memory limit in bytes.
    pub memory: u64,
    /// Seconds of bulk work that a kill loses at most.
    pub save_seconds: u64,
    /// Blocks that are compared with the block files.
    pub raw: RawCheck,
    /// Goes on although input events are lost.
    pub without_events: bool,
}

/// Why something cannot be mended in place.
#[derive(Debug)]
pub(crate) struct Cannot(pub(crate) String);

/// A repair of a part failed.
#[derive(Debug)]
pub(crate) enum MendError {
    Cannot(Cannot),
    Failed(PipelineError),
}

impl From<Cannot> for MendError {
    fn from(cannot: Cannot) -> Self {
        MendError::Cannot(cannot)
    }
}

impl From<PipelineError> for MendError {
    fn from(error: PipelineError) -> Self {
        // A part that the repair needs is damaged too.
        if error.is_damage() { MendError::Cannot(Cannot(error.to_string())) } else { MendError::Failed(error) }
    }
}

impl From<ReadError> for MendError {
    fn from(error: ReadError) -> Self {
        PipelineError::from(error).into()
    }
}

impl From<WriteError> for MendError {
    fn from(error: WriteError) -> Self {
        PipelineError::from(error).into()
    }
}

/// Reads the family that small tables share.
///
/// # Errors
/// Fails if the family is damaged: only a repair mends it.
pub(crate) fn check_shared(writer: &Writer) -> Result<(), PipelineError> {
    match Shared::read(writer) {
        Ok(shared) if !shared.unreadable => Ok(()),
        Ok(_) => Err(ReadError::Broken("the family of small tables is damaged: run `cairn repair`".to_owned()).into()),
        Err(MendError::Cannot(Cannot(why))) => Err(ReadError::Broken(format!("{why}: run `cairn repair`")).into()),
        Err(MendError::Failed(error)) => Err(error),
    }
}

/// Finishes what an interrupted repair has begun, before anything else is done with an index.
pub(crate) fn go_on(writer: &Writer, datadir: &Path) -> Result<(), PipelineError> {
    swap::go_on(writer, datadir)?;
    if !Facts::is_being_repaired(writer.db())? {
        return Ok(());
    }
    let facts = writer.facts()?.ok_or(ReadError::Empty)?;
    match collisions::remake(writer, &facts) {
        Ok(()) => swap::finished(writer),
        Err(MendError::Failed(error)) => Err(error),
        Err(MendError::Cannot(Cannot(why))) => {
            Err(ReadError::Broken(format!("a repair was interrupted and cannot go on ({why}): run `cairn repair`"))
                .into())
        }
    }
}

/// Finishes the replacement of a family that an interrupted repair has begun, if there is one: until then the index may
/// lack its parameters.
pub fn finish_replacement(datadir: &Path, memory: u64) -> Result<(), PipelineError> {
    refuse_replica(datadir)?;
    let dir = datadir.join("index");
    if !swap::has_begun(datadir) || !dir.join("CURRENT").exists() {
        return Ok(());
    }
    swap::go_on(&Writer::open_damaged(&dir, memory * 3 / 16)?, datadir)
}

/// Repairs the index in `datadir`. `facts` are its parameters, which it has itself if they are not lost. `source` gives
/// blocks of the active chain; derived tables need none. `raw` says which blocks are compared with the block files: a
/// difference there is mended, too.
///
/// # Errors
/// Returns [`PipelineError::EventsLost`] if input events are missing, unless the options allow it; fails also if the
/// index is in use. After [`PipelineError::Stopped`], the next repair goes on.
pub fn repair(
    datadir: &Path,
    facts: &Facts,
    options: RepairOptions,
    source: &dyn BlockSource,
    progress: &dyn Progress,
) -> Result<Repaired, PipelineError> {
    let RepairOptions { memory, .. } = options;
    refuse_replica(datadir)?;
    let dir = datadir.join("index");
    if !dir.join("CURRENT").exists() {
        return Ok(Repaired::Anew("the index is gone, or the file CURRENT in it".to_owned()));
    }
    let writer = match Writer::open_damaged(&dir, memory * 3 / 16) {
        Ok(writer) => writer,
        Err(WriteError::Locked(path)) => return Err(WriteError::Locked(path).into()),
        Err(WriteError::DiskFull(what)) => return Err(WriteError::DiskFull(what).into()),
        Err(WriteError::Read(error @ (ReadError::NewerFormat { .. } | ReadError::NewerTables(_)))) => {
            return Err(error.into());
        }
        Err(error) => return Ok(Repaired::Anew(format!("the list of its files is damaged ({error})"))),
    };
    match (Mending { datadir, lost_facts: facts, options, source, progress, done: Vec::new() }).run(writer) {
        Ok(done) => Ok(Repaired::Whole(done)),
        Err(MendError::Cannot(Cannot(why))) => Ok(Repaired::Anew(why)),
        Err(MendError::Failed(error)) => Err(error),
    }
}

/// Sets a damaged index aside, so that a new one can be made. The new one takes its input events from the archive of
/// the ledger; those that only the damaged index has wait in the inbox. Returns where the damaged index is now, and
/// what is missing, in words.
///
/// # Errors
/// Returns [`PipelineError::EventsLost`] if input events are missing, unless `without_events` is set; nothing is
/// changed then.
pub fn set_aside(datadir: &Path, without_events: bool) -> Result<(PathBuf, Vec<String>), PipelineError> {
    refuse_replica(datadir)?;
    let index = datadir.join("index");
    let writer = match index.join("CURRENT").exists().then(|| Writer::open_damaged(&index, SALVAGE_MEMORY)) {
        Some(Err(error @ WriteError::Locked(_))) => return Err(error.into()),
        opened => opened.and_then(Result::ok),
    };
    let gathered = match ledger::gather(writer.as_ref(), datadir, without_events) {
        Ok(gathered) => gathered,
        Err(MendError::Failed(error)) => return Err(error),
        Err(MendError::Cannot(Cannot(why))) => return Err(ReadError::Broken(why).into()),
    };
    drop(writer);
    if without_events {
        let archive = Archive::new(datadir);
        archive.forget_missing().map_err(PipelineError::io(archive.folder()))?;
    }
    // Rows that wait for the damaged index must not come into the new one.
    bulk::remove_dir(&datadir.join("repair"))?;
    bulk::remove_dir(&datadir.join("bulk"))?;
    let names = (1..).map(|at| if at == 1 { "index.damaged".to_owned() } else { format!("index.damaged.{at}") });
    let aside = names.map(|name| datadir.join(name)).find(|path| !path.exists()).unwrap_or_default();
    if index.exists() {
        std::fs::rename(&index, &aside).map_err(PipelineError::io(&index))?;
    }
    Ok((aside, gathered.missing))
}

/// Memory of the database while a damaged index is read.
const SALVAGE_MEMORY: u64 = 48 << 20;

struct Mending<'m> {
    datadir: &'m Path,
    /// Parameters of the index, if it has lost them.
    lost_facts: &'m Facts,
    options: RepairOptions,
    source: &'m dyn BlockSource,
    progress: &'m dyn Progress,
    done: Vec<String>,
}

/// Rounds of auditing and mending: the derived tables are compared only when the journal is whole, and once more at
/// the end.
const ROUNDS: usize = 4;

impl Mending<'_> {
    fn run(mut self, writer: Writer) -> Result<Vec<String>, MendError> {
        swap::go_on(&writer, self.datadir)?;
        self.foundation(&writer)?;
        let reader = Arc::new(Reader::shared(Arc::clone(writer.db()))?);
        let facts = reader.facts().clone();
        let mut engine = Engine {
            writer,
            facts,
            datadir: self.datadir.to_owned(),
            stages: cairn_stages::all(),
            reader,
            memory: self.options.memory,
            save_seconds: self.options.save_seconds,
            sizes: None::<BulkSizes>,
            folds: KeptFolds::default(),
            watchlist: Background::default(),
            flows: FollowedFlows::default(),
            tweaks: TweakMaking::default(),
            archive: Archive::new(self.datadir),
            archive_matches: AtomicBool::new(false),
        };
        for _ in 0..ROUNDS {
            let audit = audit_index(&engine.reader, self.options.raw, self.progress)?;
            if !audit.damages.iter().any(|damage| damage.repair.command().is_some()) {
                engine.repair(self.progress)?;
                // Tables that follow the chain after its blocks are made, too, where a repair or a kill left them
                // behind.
                if engine.follow_up(self.progress, true)? {
                    engine.settle()?;
                }
                self.archive(&engine)?;
                return Ok(self.done);
            }
            self.round(&mut engine, &audit)?;
        }
        Err(Cannot("it is still damaged after it was mended".to_owned()).into())
    }

    /// Makes sure that the small tables and the headers can be read: without them there is no view of the index.
    fn foundation(&mut self, writer: &Writer) -> Result<(), MendError> {
        let shared = Shared::read(writer)?;
        let (mut headers, damaged) = headers::readable(writer)?;
        if damaged || shared.tip().is_some_and(|tip| headers.keys().next_back() < Some(&tip)) {
            let tip = shared.tip().ok_or_else(|| Cannot("headers and tip are damaged".to_owned()))?;
            let made = headers::mend(writer, self.datadir, tip, headers, self.source)?;
            self.done.push(format!("headers: {made} rows made again from the blocks"));
            headers = headers::readable(writer)?.0;
        }
        if shared.damaged || shared.tip().is_none() || !shared.has_facts() {
            shared.replace(writer, self.datadir, &headers, self.lost_facts)?;
            self.done.push("small tables: what could be read is kept, look-ups are made again".to_owned());
        }
        if Facts::is_being_repaired(writer.db())? {
            let facts = writer.facts()?.ok_or(ReadError::Empty)?;
            collisions::remake(writer, &facts)?;
            swap::finished(writer)?;
        }
        Ok(())
    }

    fn round(&mut self, engine: &mut Engine, audit: &Audit) -> Result<(), MendError> {
        let blocks = || audit.damages.iter().filter(|damage| damage.repair == Repair::Blocks);
        if !audit.damaged_heights.is_empty() || blocks().any(|damage| damage.what.contains("above the tip")) {
            let view = engine.reader.view()?;
            let heights = &audit.damaged_heights;
            blocks::mend(&engine.writer, self.datadir, &view, heights, self.options.memory / 2, self.source)?;
            self.done.push(format!("journal: {} blocks read again", heights.len()));
            // Now that the journal is whole, the rest can be compared with it.
            return Ok(());
        }
        if let Some(damage) = blocks().next() {
            return Err(Cannot(format!("{}: {}", damage.place, damage.what)).into());
        }
        let tables: BTreeSet<(&str, _)> = audit
            .damages
            .iter()
            .map(|damage| (damage.place.as_str(), damage.repair))
            .filter_map(|(place, repair)| match repair {
                Repair::Stage(stage) => Some((stage, None)),
                Repair::LookUp | Repair::Dropped | Repair::Index => Some((place, Some(repair == Repair::LookUp))),
                Repair::Blocks
                | Repair::BlockFile
                | Repair::Ledger
                | Repair::Archive
                | Repair::Labels
                | Repair::Late
                | Repair::Tweaks => None,
            })
            .collect();
        let stages: Vec<&str> = tables.iter().filter(|(_, look_up)| look_up.is_none()).map(|(name, _)| *name).collect();
        if !stages.is_empty() {
            engine.reindex(&stages, self.progress)?;
            self.done.extend(stages.iter().map(|name| format!("stage {name}: rebuilt from the journal")));
        }
        if audit.damages.iter().any(|damage| damage.repair == Repair::Ledger) {
            let now = u32::try_from(cairn_clock::now_secs()).unwrap_or(u32::MAX);
            let gathered = ledger::mend(engine, now, self.options.without_events)?;
            self.done.push(format!("ledger of input events: {} documents taken in again", gathered.kept));
            self.done.extend(gathered.missing.iter().map(|what| format!("lost: {what}")));
        }
        if audit.damages.iter().any(|damage| damage.repair == Repair::Labels) {
            labels::forget(&engine.writer)?;
            engine.follow_claims(self.progress)?;
            engine.settle()?;
            self.done.push("labels and entities: made again from the claims and the blocks".to_owned());
        }
        if audit.damages.iter().any(|damage| damage.repair == Repair::Late) {
            (0..).zip(LATE).try_for_each(|(place, stage)| engine.forget_late(place, stage))?;
            engine.forget_generations()?;
            engine.follow_up(self.progress, true)?;
            engine.settle()?;
            self.done.push("late stages: made again from the tables of others".to_owned());
        }
        if audit.damages.iter().any(|damage| damage.repair == Repair::Tweaks) {
            engine.forget_silent_payments()?;
            engine.settle()?;
            self.done.push("tweaks of silent payments: removed; `--silent-payments` makes them again".to_owned());
        }
        for (name, look_up) in tables {
            match look_up {
                None => {}
                Some(true) => self.look_up(engine, name)?,
                Some(false) => self.rest(engine, name)?,
            }
        }
        Ok(())
    }

    /// Now that the index is whole, the archive of the ledger is made the same.
    fn archive(&mut self, engine: &Engine) -> Result<(), MendError> {
        let now = u32::try_from(cairn_clock::now_secs()).unwrap_or(u32::MAX);
        let ledger = engine.ledger();
        let done = ledger.match_archive(now).and_then(|taken| Ok((taken, ledger.write_archive(true)?)));
        let (taken, written) = done.map_err(|error| match error {
            crate::LedgerError::Index(error) => MendError::from(*error),
            other => MendError::Cannot(Cannot(other.to_string())),
        })?;
        if taken > 0 {
            self.done.push(format!("ledger of input events: {taken} documents taken from its archive"));
        }
        if written > 0 {
            self.done.push(format!("archive of the ledger: {written} documents written again"));
        }
        let known = indexed(&engine.reader.view()?)?;
        let is_known = |hash: &DocumentHash| known.contains_key(hash);
        let mut missing = engine.archive.missing()?;
        missing.extend(missing_of_inbox(self.datadir, is_known)?);
        forget_waiting(self.datadir, is_known, self.options.without_events)?;
        if missing.is_empty() {
            return Ok(());
        }
        if !self.options.without_events {
            return Err(MendError::Failed(PipelineError::EventsLost { missing }));
        }
        engine.archive.forget_missing()?;
        self.done.extend(missing.into_iter().map(|what| format!("lost: {what}")));
        Ok(())
    }

    fn look_up(&mut self, engine: &mut Engine, table: &str) -> Result<(), MendError> {
        if table == TxNums::NAME {
            let files =
                bulk::table_files(&engine.bulk_target(0), &lookups::TxNumsAlone, &engine.reader, self.progress)?;
            let files = files.iter().filter_map(|file| file.strip_prefix(self.datadir).ok().map(Path::to_owned));
            swap::swap(&engine.writer, self.datadir, TxNums::FAMILY, files.collect())?;
            bulk::remove_dir(&engine.bulk_dir())?;
        } else {
            self.again(engine)?;
        }
        self.done.push(format!("table {table}: made again from the journal"));
        Ok(())
    }

    /// Makes the look-ups in the shared family again.
    fn again(&self, engine: &Engine) -> Result<(), MendError> {
        let (headers, _) = headers::readable(&engine.writer)?;
        Shared::read(&engine.writer)?.replace(&engine.writer, self.datadir, &headers, &engine.facts)?;
        collisions::remake(&engine.writer, &engine.facts)?;
        Ok(swap::finished(&engine.writer)?)
    }

    /// Mends the tables besides those of the chain.
    fn rest(&mut self, engine: &Engine, table: &str) -> Result<(), MendError> {
        let of_shared = cairn_tables::TABLES.iter().any(|info| info.name == table && info.family == Family::SHARED);
        if of_shared {
            self.again(engine)?;
        } else {
            engine.mend_mempool()?;
        }
        let is_observation = [MempoolSamples::NAME, LiveQuotes::NAME].contains(&table);
        let dropped = if is_observation || !of_shared {
            "rows that could not be read are dropped; observations cannot be rebuilt"
        } else {
            "made again"
        };
        self.done.push(format!("table {table}: {dropped}"));
        Ok(())
    }
}
