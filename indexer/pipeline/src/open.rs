//! Opening an engine.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use cairn_reader::{Facts, ReadError, Reader};
use cairn_stages::{CHAIN, Stage};
use cairn_writer::Writer;

use crate::{
    BulkSizes, Engine, PipelineError, background::Background, exchanges::FollowedFlows, late::KeptFolds,
    ledger::Archive, repair, replica::refuse_replica, silent_payments::TweakMaking,
};

/// Default memory limit of indexing in bytes.
pub const DEFAULT_MEMORY: u64 = 4 << 30;

impl Engine {
    /// Opens the index in `datadir`, or creates one with `facts`.
    pub fn open(datadir: &Path, facts: &Facts) -> Result<Self, PipelineError> {
        Self::open_within(datadir, facts, DEFAULT_MEMORY)
    }

    /// Opens an existing index.
    pub fn open_existing(datadir: &Path) -> Result<Self, PipelineError> {
        Self::open_existing_within(datadir, DEFAULT_MEMORY)
    }

    /// As [`Engine::open`], with a memory limit of indexing in bytes: caches and buffers of the database, data that
    /// bulk indexing sorts, and queues between its steps. At least 256 MiB; below that, blocks and headers exceed the
    /// limit.
    pub fn open_within(datadir: &Path, facts: &Facts, memory: u64) -> Result<Self, PipelineError> {
        Self::open_serving(datadir, facts, memory, 0)
    }

    /// As [`Engine::open_within`], with `cache` bytes more for requests that read through this handle.
    pub fn open_serving(datadir: &Path, facts: &Facts, memory: u64, cache: u64) -> Result<Self, PipelineError> {
        Self::open_all(datadir, Some(facts), cairn_stages::all(), (memory, cache))
    }

    /// As [`Engine::open_existing`], with the memory limit of [`Engine::open_within`].
    pub fn open_existing_within(datadir: &Path, memory: u64) -> Result<Self, PipelineError> {
        let dir = datadir.join("index");
        if !dir.join("CURRENT").exists() {
            return Err(ReadError::Unusable(format!("no index in {}", datadir.display())).into());
        }
        Self::open_all(datadir, None, cairn_stages::all(), (memory, 0))
    }

    /// As [`Engine::open`], with other stages than the default ones. The first must be the journal's.
    pub fn open_with(
        datadir: &Path,
        wanted: Option<&Facts>,
        stages: Vec<Box<dyn Stage>>,
    ) -> Result<Self, PipelineError> {
        Self::open_all(datadir, wanted, stages, (DEFAULT_MEMORY, 0))
    }

    fn open_all(
        datadir: &Path,
        wanted: Option<&Facts>,
        stages: Vec<Box<dyn Stage>>,
        (memory, cache): (u64, u64),
    ) -> Result<Self, PipelineError> {
        refuse_replica(datadir)?;
        // Bulk indexing hardly reads the database, and what reads it at the tip needs little else.
        let writer = Writer::open_serving(&datadir.join("index"), memory * 3 / 16, cache)?;
        repair::go_on(&writer, datadir)?;
        let found = writer.facts()?;
        let is_new = found.is_none();
        let facts = match (found, wanted) {
            (Some(found), Some(wanted)) => {
                if found.chain_params() != wanted.chain_params() {
                    return Err(PipelineError::WrongNetwork {
                        expected: wanted.chain_params(),
                        found: found.chain_params(),
                    });
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
                return Err(ReadError::StageVersion { stage, found: found.version, expected }.into());
            }
        }
        let archive = Archive::new(datadir);
        if is_new {
            archive.begin().map_err(PipelineError::io(archive.folder()))?;
        }
        let archived = archive.facts().map_err(PipelineError::io(archive.folder()))?;
        if let Some(archived) = archived.filter(|archived| archived.chain_params() != facts.chain_params()) {
            return Err(PipelineError::ForeignLedger { ledger: archived.chain_params(), index: facts.chain_params() });
        }
        archive.put_facts(&facts).map_err(PipelineError::io(archive.folder()))?;
        let reader = Arc::new(Reader::shared(Arc::clone(writer.db()))?);
        let save_seconds = BulkSizes::default().save_seconds;
        let folds = KeptFolds::default();
        Ok(Engine {
            writer,
            facts,
            datadir: datadir.to_owned(),
            stages,
            reader,
            memory,
            save_seconds,
            sizes: None,
            folds,
            watchlist: Background::default(),
            flows: FollowedFlows::default(),
            tweaks: TweakMaking::default(),
            archive,
            archive_matches: AtomicBool::new(false),
        })
    }
}
