//! Chains, folders and engines for the tests here.

use std::{
    env,
    panic::AssertUnwindSafe,
    path::Path,
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use cairn_chaingen::{
    Chain, EverythingOptions,
    corefiles::{Layout, write_chain},
    everything,
};
use cairn_model::{CancelToken, ChainParams, Height, Network};
use cairn_pipeline::{
    Driver, Engine, NoProgress, Phase, PipelineError, Progress, ProgressStep, RepairOptions, SyncOptions, SyncReport,
    verify::{self, RawCheck},
};
use cairn_reader::{Facts, TableSum, View};
use cairn_sources::{BlockFiles, Survey};
pub use cairn_support::forge::file_options;
use cairn_tables::stages::{CHAIN, STAGES};
use cairn_testkit::{Oracle, temp_dir};
use tempfile::TempDir;

/// Whether the long parameters are asked for.
pub fn long() -> bool {
    env::var_os("CAIRN_TEST_LONG").is_some_and(|v| v == "1")
}

/// A folder for an index: in memory where there is room, since what these tests wait for is mostly the disk.
pub fn scratch() -> TempDir {
    static IN_MEMORY: OnceLock<bool> = OnceLock::new();
    let memory = Path::new("/dev/shm");
    let roomy = IN_MEMORY.get_or_init(|| !long() && free_kilobytes(memory).is_some_and(|free| free > 2 << 20));
    let in_memory = roomy.then(|| TempDir::with_prefix_in("cairn-test-", memory).ok()).flatten();
    in_memory.unwrap_or_else(temp_dir)
}

fn free_kilobytes(path: &Path) -> Option<u64> {
    let output = Command::new("df").args(["-k", "--output=avail"]).arg(path).output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().nth(1)?.trim().parse().ok()
}

/// A chain in which everything occurs, small enough for many runs.
pub fn small_chain(seed: u64) -> Chain {
    everything(seed, &EverythingOptions { blocks: 150, max_txs: 8, forks: vec![1, 5], showpieces: false }).unwrap()
}

/// Names of the stages that are rebuilt from the journal: all but the journal's own.
pub fn rebuildable() -> impl Iterator<Item = &'static str> {
    STAGES.iter().map(|stage| stage.name).filter(|name| *name != CHAIN.name)
}

/// The oracle at the tip of the active chain.
pub fn oracle_of(chain: &Chain) -> Oracle {
    Oracle::of(Network::Regtest, chain.active().iter().map(|m| &m.block))
}

/// Writes the chain as a tidy folder of block files.
pub fn write_tidy(dir: &Path, chain: &Chain) {
    write_chain(dir, chain, &Layout::tidy(file_options())).unwrap();
}

/// Facts of a regtest index over `blocks`.
pub fn facts(blocks: &Path) -> Facts {
    Facts { blocks_dir: Some(blocks.to_owned()), ..Facts::of(Network::Regtest) }
}

pub fn options(memory: u64, save_seconds: u64, raw: RawCheck) -> RepairOptions {
    RepairOptions { memory, save_seconds, raw, without_events: false }
}

/// Opens a folder of block files and finds its chain.
pub fn survey(blocks: &Path, chain: impl Into<ChainParams>) -> (BlockFiles, Survey) {
    let files = BlockFiles::open(blocks, chain).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    (files, survey)
}

/// Brings an engine to what the folder holds.
pub fn sync(engine: &mut Engine, blocks: &Path, driver: Driver) -> SyncReport {
    let options = SyncOptions { driver, ..SyncOptions::default() };
    sync_with(engine, blocks, &options, &NoProgress).unwrap()
}

/// The same with other options.
pub fn sync_with(
    engine: &mut Engine,
    blocks: &Path,
    options: &SyncOptions,
    progress: &dyn Progress,
) -> Result<SyncReport, PipelineError> {
    let (files, survey) = survey(blocks, engine.facts().chain_params());
    engine.sync(&files, &survey, options, progress)
}

/// Connects blocks up to a height.
pub fn sync_to(index: &mut Index, blocks: &Path, to: u32) {
    let options = SyncOptions { to: Some(to), ..SyncOptions::default() };
    sync_with(&mut index.engine, blocks, &options, &NoProgress).unwrap();
}

/// An index in a folder of its own.
pub struct Index {
    pub engine: Engine,
    pub dir: TempDir,
}

impl Index {
    /// An empty one.
    pub fn new(facts: &Facts) -> Self {
        let dir = scratch();
        Index { engine: Engine::open(dir.path(), facts).unwrap(), dir }
    }

    /// One of what a regtest folder holds.
    pub fn of(blocks: &Path, driver: Driver) -> Self {
        let mut index = Index::new(&facts(blocks));
        index.sync(blocks, driver);
        index
    }

    /// One of what a regtest folder holds up to a height.
    pub fn up_to(blocks: &Path, driver: Driver, to: Height) -> Self {
        let mut index = Index::new(&facts(blocks));
        let options = SyncOptions { driver, to: Some(to), ..SyncOptions::default() };
        sync_with(&mut index.engine, blocks, &options, &NoProgress).unwrap();
        index
    }

    /// Brings it to what the folder holds.
    pub fn sync(&mut self, blocks: &Path, driver: Driver) -> SyncReport {
        sync(&mut self.engine, blocks, driver)
    }

    /// The folder, which holds `index` and, while something is done in bulk, `bulk`.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Closes and opens it.
    pub fn reopened(self) -> Self {
        let Index { engine, dir } = self;
        drop(engine);
        Index { engine: Engine::open_existing(dir.path()).unwrap(), dir }
    }

    /// Reads.
    pub fn view<T>(&self, read: impl FnOnce(&View<'_>) -> T) -> T {
        let reader = self.engine.reader();
        read(&reader.view().unwrap())
    }

    /// Height of the tip.
    pub fn height(&self) -> Option<Height> {
        self.engine.tip().unwrap().map(|(height, _)| height)
    }

    /// Checksums of all tables that blocks are folded into.
    pub fn sums(&self) -> Sums {
        Sums(self.view(|view| view.tables().checksums().unwrap()))
    }

    /// Fails unless the audit finds nothing and the stages stand at the tip.
    pub fn assert_sound(&self) {
        let audit = self.view(|view| verify::audit(view, &NoProgress).unwrap());
        assert!(audit.ok(), "{:#?}", audit.checks);
    }
}

/// Checksums of an index's tables.
#[derive(Clone)]
pub struct Sums(pub Vec<(&'static str, TableSum)>);

impl Sums {
    /// Fails with the names of the tables that differ.
    pub fn assert_equal(&self, expected: &Sums, what: &str) {
        self.assert_equal_but(expected, &[], what);
    }

    /// The same, some tables left out.
    pub fn assert_equal_but(&self, expected: &Sums, but: &[&str], what: &str) {
        assert_eq!(self.0.len(), expected.0.len());
        let pairs = self.0.iter().zip(&expected.0);
        let differ: Vec<String> = pairs
            .filter(|(a, b)| !but.contains(&a.0) && a != b)
            .map(|(a, b)| format!("{}: {} rows, expected {}", a.0, a.1.rows, b.1.rows))
            .collect();
        assert!(differ.is_empty(), "{what}: tables differ: {differ:?}");
    }

    /// Rows of a table.
    pub fn rows(&self, table: &str) -> u64 {
        self.0.iter().find(|(name, _)| *name == table).map(|(_, sum)| sum.rows).expect("a table")
    }
}

/// The payload of a [`Cut`]'s panic.
struct Died;

/// Runs something that a [`Cut`] may cut; true if it did.
///
/// # Panics
/// If it failed in another way.
pub fn is_cut<T>(run: impl FnOnce() -> Result<T, PipelineError>) -> bool {
    match std::panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(_)) => false,
        Ok(Err(PipelineError::Stopped)) => true,
        Ok(Err(e)) => panic!("neither done nor cut: {e}"),
        Err(panic) if panic.is::<Died>() => true,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Asks to stop, or panics as if the process died there, once `after` steps were done.
pub struct Cut {
    after: u64,
    dies: bool,
    steps: AtomicU64,
    only: Option<Phase>,
    cancel: CancelToken,
}

impl Cut {
    /// Asks to stop after this many steps.
    pub fn stop(after: u64) -> Self {
        let cancel = CancelToken::new();
        if after == 0 {
            cancel.cancel();
        }
        Cut { after, dies: false, steps: AtomicU64::new(0), only: None, cancel }
    }

    /// Panics at the step after this many.
    pub fn die(after: u64) -> Self {
        Cut { dies: true, cancel: CancelToken::never(), ..Cut::stop(after) }
    }

    /// Counts steps of one phase only.
    pub fn of(self, phase: Phase) -> Self {
        Cut { only: Some(phase), ..self }
    }
}

impl Progress for Cut {
    fn step(&self, step: ProgressStep) {
        if self.only.is_none_or(|phase| phase == step.phase) {
            let before = self.steps.fetch_add(1, Ordering::Relaxed);
            if self.dies && before >= self.after {
                // As a panic, but without a word: this one is wanted.
                std::panic::resume_unwind(Box::new(Died));
            }
            if before + 1 >= self.after {
                self.cancel.cancel();
            }
        }
    }

    fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }
}
