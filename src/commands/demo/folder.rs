//! The folder of a demo: block files, index, unconfirmed transactions, and a file that identifies them.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use cairn_demo::{
    DEMO_BLOCKS, END_TIME, Mined, actors, chain_and_mempool,
    corefiles::{FileOptions, Layout, append_block, write_chain},
    labelled_cases, showcase,
};
use cairn_follow::{Until, round};
use cairn_model::{BlockHash, CancelToken, MempoolDelta, Network};
use cairn_pipeline::{INBOX, put_into_inbox};
use cairn_reader::Reader;
use cairn_tables::{
    labels::joined_at,
    stages::{LATE, STAGES},
};
use serde::{Deserialize, Serialize};

use super::{errors::generator, labels, mempool, pools, prices, profiles};
use crate::{
    commands::db,
    config::{Limits, Starters},
    exit::{Exit, Failure},
    indexing::{Indexing, Sources},
    progress::Screen,
    signals::Signals,
};

const SEED: u64 = 1;
/// The files are obfuscated like a node's.
const XOR_KEY: [u8; 8] = *b"cairn \x01\x02";
/// Marks a folder as a demo's folder. No other folder is ever emptied.
const NOTE: &str = "demo.json";
const MEMPOOL: &str = "mempool.deltas";
/// Lock that is held while the folder is filled.
const LOCK: &str = "demo.lock";
/// Lock of the process that adds blocks.
const OWNER: &str = "owner.lock";
const PAYMENTS: &str = "payments";

/// The service state and what belongs to it.
const STATE: [&str; 4] = ["state.sqlite", "state.sqlite-wal", "state.sqlite-shm", "payments.mark"];

/// Identifies the content of a demo's folder.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
struct Note {
    /// The chain and the version that generated it.
    chain: String,
    /// Hash of the tip; set when everything is indexed.
    tip: Option<String>,
    /// True if blocks may have been added on top of it.
    #[serde(default)]
    grows: bool,
}

pub(super) struct DemoFolder {
    dir: PathBuf,
}

impl DemoFolder {
    /// Names the folder of a demo. Opens nothing yet.
    pub(super) fn at(dir: PathBuf) -> Self {
        DemoFolder { dir }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns true if blocks may have been added to the chain.
    pub(super) fn is_grown(&self) -> Result<bool, Failure> {
        Ok(self.note()?.is_some_and(|note| note.grows))
    }

    /// Opens the finished demo of this version; `None` if the folder has no such demo. With `is_still`, it takes only a
    /// demo without further blocks.
    ///
    /// # Errors
    /// Fails if the folder has other content.
    pub(super) fn open(&self, is_still: bool) -> Result<Option<Reader>, Failure> {
        let Some(Note { chain, tip: Some(tip), grows }) = self.note()? else { return Ok(None) };
        if is_still && grows || chain != identity()? {
            return Ok(None);
        }
        let reader = db::open(&self.dir).map_err(|failure| self.spoiled(failure))?;
        let found = reader.view().map_err(|error| self.spoiled(error.into()))?.tip().hash.to_string();
        Ok((found == tip || grows).then_some(reader))
    }

    /// Takes the lock of the process that adds blocks; `None` if another process has it.
    pub(super) fn own(&self) -> Result<Option<File>, Failure> {
        let path = self.dir.join(OWNER);
        let file = File::create(&path).map_err(Failure::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(Failure::io(&path)(error)),
        }
    }

    /// Adds a block to the files. [`DemoFolder::follow`] indexes it.
    pub(super) fn append(&self, mined: &Mined) -> Result<(), Failure> {
        if let Some(note) = self.note()?.filter(|note| !note.grows) {
            self.write_note(note.tip, true)?;
        }
        let options = FileOptions::new(Network::Regtest.to_bitcoin(), XOR_KEY);
        append_block(&self.dir.join("blocks"), options, mined).map_err(generator)
    }

    /// Indexes the blocks of the files that are not indexed yet.
    pub(super) fn follow(&self, screen: &Screen, cancel: &CancelToken) -> Result<Exit, Failure> {
        let (memory, none) = (Limits::default().into(), Starters::NONE);
        let sources = Sources::files(self.dir.join("blocks")).with_silent_payments(true);
        let indexing = Indexing::open(Network::Regtest, &self.dir, sources, memory, none, screen, cancel)?;
        indexing.follow(Until::Tip { to: None })
    }

    /// Generates the chain, writes its block files and indexes them.
    ///
    /// # Errors
    /// Fails if the folder has other content, another process uses it, or the disk fails.
    pub(super) fn make(&self, screen: &Screen, signals: &Signals) -> Result<Exit, Failure> {
        fs::create_dir_all(&self.dir).map_err(Failure::io(&self.dir))?;
        let known = self.note()?.is_some();
        if !known && fs::read_dir(&self.dir).map_err(Failure::io(&self.dir))?.next().is_some() {
            return Err(Failure::usage(format!("{} is not empty and not a demo folder", self.dir.display()))
                .hint("give --datadir an empty folder, or one that does not exist"));
        }
        if self.is_grown()? {
            // It names blocks and payments that the generated chain does not have.
            for file in STATE {
                let path = self.dir.join(file);
                unless_missing(&path, fs::remove_file(&path))?;
            }
        }
        self.write_note(None, false)?;
        let _lock = self.lock()?;
        for part in ["blocks", "index", "bulk", "ledger", INBOX, PAYMENTS] {
            let path = self.dir.join(part);
            unless_missing(&path, fs::remove_dir_all(&path))?;
        }
        let started = Instant::now();
        tracing::info!(blocks = DEMO_BLOCKS, "generating the demo chain (only on the first start)");
        let (made, waiting) = chain_and_mempool(SEED).map_err(generator)?;
        let network = Network::Regtest;
        let blocks = self.dir.join("blocks");
        let layout = Layout::tidy(FileOptions::new(network.to_bitcoin(), XOR_KEY));
        write_chain(&blocks, &made, &layout).map_err(generator)?;
        let path = self.dir.join(MEMPOOL);
        fs::write(&path, mempool::encode(&waiting)?).map_err(Failure::io(&path))?;
        let tip = made.tip().hash().to_string();
        let seconds = round(started.elapsed().as_secs_f64());
        tracing::info!(blocks = made.arrivals().len(), unconfirmed = waiting.len(), seconds, "block files written");
        put_into_inbox::<Failure>(&self.dir, |add| {
            let mut documents = prices::documents(SEED)?;
            documents.push(pools::document(END_TIME)?);
            let mut named = actors().map_err(generator)?;
            named.extend(labelled_cases().map_err(generator)?);
            documents.extend(labels::documents(&named)?);
            documents.push(profiles::document(END_TIME)?);
            Ok(documents.iter().try_for_each(add)?)
        })?;
        let exit = self.follow(screen, signals.cancel_token())?;
        if exit == Exit::Done {
            self.write_note(Some(tip), false)?;
        }
        Ok(exit)
    }

    /// Reads the unconfirmed transactions of the finished demo. The newest was first seen at `now_ms` (milliseconds
    /// since 1970).
    pub(super) fn unconfirmed(&self, now_ms: u64) -> Result<Vec<MempoolDelta>, Failure> {
        let path = self.dir.join(MEMPOOL);
        let bytes = fs::read(&path).map_err(Failure::io(&path));
        bytes.and_then(|bytes| mempool::decode(&bytes, now_ms)).map_err(|failure| self.spoiled(failure))
    }

    /// Adds the hint to a failure that the folder's content causes.
    pub(super) fn spoiled(&self, failure: Failure) -> Failure {
        failure.hint(format!("delete {} to start over", self.dir.display()))
    }

    /// Returns the folder with orders for payments; `None` if this is not a demo's folder.
    pub(super) fn payments(&self) -> Result<Option<PathBuf>, Failure> {
        Ok(self.note()?.map(|_| self.dir.join(PAYMENTS)))
    }

    fn note(&self) -> Result<Option<Note>, Failure> {
        let path = self.dir.join(NOTE);
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::io(&path)(error)),
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| self.spoiled(Failure::new(Exit::Other, format!("{}: {error}", path.display())))),
        }
    }

    fn write_note(&self, tip: Option<String>, grows: bool) -> Result<(), Failure> {
        let note = Note { chain: identity()?, tip, grows };
        let text = serde_json::to_vec_pretty(&note).map_err(|e| Failure::new(Exit::Other, e.to_string()))?;
        // A rename is atomic: no process ever reads a partial file.
        let (path, part) = (self.dir.join(NOTE), self.dir.join("demo.json.part"));
        fs::write(&part, text).and_then(|()| fs::rename(&part, &path)).map_err(Failure::io(&path))
    }

    fn lock(&self) -> Result<File, Failure> {
        let path = self.dir.join(LOCK);
        let file = File::create(&path).map_err(Failure::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(Failure::new(
                Exit::Index,
                format!("{}: another process is filling this folder", self.dir.display()),
            )
            .hint("wait until it is done, or use another --datadir")),
            Err(TryLockError::Error(error)) => Err(Failure::io(&path)(error)),
        }
    }
}

/// Accepts that a file or folder was not there to be removed.
fn unless_missing(path: &Path, removed: io::Result<()>) -> Result<(), Failure> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::io(path)(error)),
        _ => Ok(()),
    }
}

/// Returns the identity of this program's demo. It changes with version, seed, length, actors and the content of the
/// tables, so that the folder of an earlier program is generated again.
fn identity() -> Result<String, Failure> {
    let showcase = showcase().map_err(generator)?.map(|s| s.address.to_string()).join(" ");
    let version = env!("CARGO_PKG_VERSION");
    let stages: Vec<String> =
        STAGES.iter().chain(LATE).map(|stage| format!("{} {}", stage.name, stage.version)).collect();
    let joined = joined_at(0, BlockHash([0; 32])).version;
    Ok(format!(
        "cairn {version} seed {SEED} blocks {DEMO_BLOCKS} until {END_TIME} a mempool, prices, pools, labels, profiles, a contest, a day of cases and a theft {showcase} tables {} labels {joined}",
        stages.join(", ")
    ))
}
