//! The scrubber: reads all table files slowly, so that damage is found before a request needs the row.

use std::{
    hash::{BuildHasher, RandomState},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cairn_clock::now_ms;
use cairn_follow::{round as round_to, size};
use cairn_model::CancelToken;
use cairn_reader::{Damages, FileCheck, IndexFolder, ReadError, TableFile, table_files_in};

use crate::config::Scrub;

/// Interval between checks for an index.
const LOOK: Duration = Duration::from_secs(1);
/// Damage of the file list is reported under this pseudo table name.
const LIST: &str = "manifest";

pub(crate) struct Scrubber(Option<JoinHandle<()>>);

struct Stopped;

impl Scrubber {
    /// Starts the scrubber for the index in `dir`, which may not exist yet. Starts nothing if the scrubber is switched
    /// off.
    pub(crate) fn start(dir: &Path, settings: &Scrub, damages: Arc<Damages>, cancel: &CancelToken) -> io::Result<Self> {
        if settings.scrub_rate == 0 {
            tracing::warn!("the scrubber is off: damage of the disk shows only when a request reads it");
            return Ok(Scrubber(None));
        }
        damages.scrub_waits();
        let scrubbing = Scrubbing {
            dir: dir.to_owned(),
            rate: settings.scrub_rate,
            period: Duration::from_secs(settings.scrub_period),
            damages,
            cancel: cancel.clone(),
        };
        let thread = thread::Builder::new().name("scrubber".to_owned());
        Ok(Scrubber(Some(thread.spawn(move || {
            // It ends with the process.
            let _ = scrubbing.run();
        })?)))
    }

    /// Waits until the thread ends after cancellation. Returns false if it panicked.
    #[must_use]
    pub(crate) fn join(self) -> bool {
        self.0.is_none_or(|thread| thread.join().is_ok())
    }
}

struct Scrubbing {
    dir: PathBuf,
    /// Bytes per second.
    rate: u64,
    period: Duration,
    damages: Arc<Damages>,
    cancel: CancelToken,
}

impl Scrubbing {
    fn run(&self) -> Result<(), Stopped> {
        loop {
            while !self.dir.join("CURRENT").exists() {
                self.wait(LOOK)?;
            }
            let displaced = self.scrub()?;
            self.wait(if displaced { LOOK } else { self.period })?;
        }
    }

    fn wait(&self, time: Duration) -> Result<(), Stopped> {
        if self.cancel.wait(time) { Err(Stopped) } else { Ok(()) }
    }

    /// Reads every table file that the index has now. Leaves files that are created meanwhile to the next scrub.
    /// Returns true if another index has taken its place: that one is scrubbed next.
    fn scrub(&self) -> Result<bool, Stopped> {
        let began = Instant::now();
        self.damages.scrub_begins();
        let listed = IndexFolder::open(&self.dir).and_then(|folder| Ok((table_files_in(folder.path())?, folder)));
        let (mut files, folder) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                self.unlisted(&error);
                self.damages.scrub_waits();
                return Ok(false);
            }
        };
        // Begin at a random file: a process may never run long enough for all files, and then each run checks other
        // ones.
        let from = RandomState::new().hash_one(0) % (files.len() as u64).max(1);
        files.rotate_left(from as usize);
        let mut round = Round { of: self, folder: &folder, due: began, now: None, damaged: 0, unread: 0 };
        for file in &files {
            round.check(file)?;
            if !folder.is_in_place() {
                self.damages.scrub_waits();
                tracing::info!("another index takes the place of the one that was scrubbed: it is scrubbed next");
                return Ok(true);
            }
        }
        let (bytes, seconds) = (files.iter().map(TableFile::bytes).sum::<u64>(), began.elapsed().as_secs_f64());
        let (files, damaged, bytes, seconds) = (files.len(), round.damaged, size(bytes), round_to(seconds));
        if round.unread > 0 {
            self.damages.scrub_waits();
            tracing::warn!(files, unreadable = round.unread, damaged, bytes, seconds, "the scrub is incomplete");
        } else {
            self.damages.scrub_ends(now_ms() / 1000);
            tracing::info!(files, damaged, bytes, seconds, "all table files are scrubbed");
        }
        Ok(false)
    }

    /// Reports that the list of files cannot be read.
    fn unlisted(&self, error: &ReadError) {
        if !error.is_damage() {
            tracing::warn!(%error, "the scrubber cannot open the index; it tries again later");
        } else if self.damages.note_file(LIST) {
            tracing::error!(%error, "the list of table files is damaged: `cairn verify` reports how to repair it");
        }
    }
}

struct Round<'s> {
    of: &'s Scrubbing,
    folder: &'s IndexFolder,
    /// Earliest time at which the bytes read so far fit into the configured rate.
    due: Instant,
    /// Files at the last look, if there was one.
    now: Option<Vec<TableFile>>,
    damaged: u64,
    unread: u64,
}

impl Round<'_> {
    fn check(&mut self, file: &TableFile) -> Result<(), Stopped> {
        let (scrubbing, due) = (self.of, &mut self.due);
        let check = file.check(|bytes| {
            scrubbing.damages.scrub_reads(bytes);
            *due = (*due).max(Instant::now()) + Duration::from_secs_f64(bytes as f64 / scrubbing.rate as f64);
            scrubbing.wait(due.saturating_duration_since(Instant::now()))
        })?;
        let how = match check {
            FileCheck::Whole => return Ok(()),
            FileCheck::Unreadable(error) => {
                self.unread += 1;
                tracing::warn!(file = file.name(), %error, "a table file cannot be read");
                return Ok(());
            }
            FileCheck::Gone => "it is missing".to_owned(),
            FileCheck::Damaged(how) => how,
        };
        if self.was_replaced(file) {
            return Ok(());
        }
        self.damaged += 1;
        let (table, name) = (file.table(), file.name());
        if self.of.damages.note_file(table) {
            tracing::error!(
                table,
                file = name,
                "the file of a table is damaged: {how}; `cairn verify` reports how much, and how to repair it"
            );
        }
        Ok(())
    }

    /// True if the index no longer has the file: a compaction or a rebuild has removed it, or another index has its
    /// place.
    fn was_replaced(&mut self, file: &TableFile) -> bool {
        if !self.folder.is_in_place() {
            return true;
        }
        let lacks = |now: &Vec<TableFile>| !now.contains(file);
        if self.now.as_ref().is_some_and(lacks) {
            return true;
        }
        match table_files_in(self.folder.path()) {
            Ok(now) => lacks(self.now.insert(now)),
            // An index that was set aside has no list any more.
            Err(_) if !self.folder.is_in_place() => true,
            Err(error) => {
                self.of.unlisted(&error);
                false
            }
        }
    }
}
