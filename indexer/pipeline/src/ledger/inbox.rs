//! The inbox: a folder of files of events that wait for the writer of the index. A file is there as a whole or not at
//! all, and is removed only when its documents are on disk in the index. Taking it in twice changes nothing.

use cairn_model::DAY_SECS;
use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter},
    path::{Path, PathBuf},
    time::Duration,
};

use cairn_events::{
    Document,
    file::{self, FileError, FileWriter},
};

use super::{
    Applied, Ledger, LedgerError,
    waits::{self, INBOX, PART, WAITING},
};

/// Age at which such a file is no longer being written.
const LEFT: Duration = Duration::from_secs(DAY_SECS as u64);
/// How names of files end that were not taken.
const REFUSED: &str = "refused";

/// Puts documents into the inbox of a data folder, in one file. They are on disk when this returns.
///
/// # Errors
/// Passes on the error of `fill`; no file is left after any failure.
pub fn put_into_inbox<E: From<io::Error>>(
    datadir: &Path,
    fill: impl FnOnce(&mut dyn FnMut(&Document) -> io::Result<()>) -> Result<(), E>,
) -> Result<PathBuf, E> {
    let folder = datadir.join(INBOX);
    fs::create_dir_all(&folder)?;
    let part = folder.join(format!("{}.{PART}", uuid::Uuid::now_v7()));
    let written = (|| {
        let mut to = FileWriter::begin(BufWriter::new(File::create_new(&part)?))?;
        let mut lines = String::new();
        fill(&mut |document| {
            lines += &waits::line(document);
            to.add(document)
        })?;
        let (to, hash) = to.finish()?;
        to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        // Names sort by the time of their making, so that files are taken in this order.
        let stem = part.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = format!("{stem}-{}", hex::encode(&hash[..8]));
        let path = folder.join(format!("{stem}.{WAITING}"));
        waits::note(datadir, &stem, &lines)?;
        fs::rename(&part, &path)?;
        File::open(&folder)?.sync_all()?;
        Ok(path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// Puts a file of events into the inbox of a data folder, under a stem that sorts it among the others. The same stem
/// twice is one file. It is on disk when this returns, and is checked when it is taken.
pub fn put_file_into_inbox(datadir: &Path, stem: &str, file: &[u8]) -> io::Result<PathBuf> {
    let folder = datadir.join(INBOX);
    fs::create_dir_all(&folder)?;
    let (part, path) = (folder.join(format!("{stem}.{PART}")), folder.join(format!("{stem}.{WAITING}")));
    let written = (|| {
        let mut to = File::create(&part)?;
        io::Write::write_all(&mut to, file)?;
        to.sync_all()?;
        let mut lines = String::new();
        let documents = file::read(file, |document| {
            lines += &waits::line(&document);
            Ok::<(), FileError>(())
        });
        // One that cannot be read is refused when it is taken.
        if documents.is_ok() {
            waits::note(datadir, stem, &lines)?;
        }
        fs::rename(&part, &path)?;
        File::open(&folder)?.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.map(|()| path)
}

/// Number of files that wait in the inbox of a data folder.
pub fn waiting_in_inbox(datadir: &Path) -> io::Result<usize> {
    Ok(waiting(&datadir.join(INBOX))?.len())
}

/// A file that was not taken.
#[derive(Debug)]
pub struct Refused {
    /// Where it is now.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> LedgerError {
    let path = path.to_owned();
    move |error| LedgerError::Inbox { path, error }
}

/// The content of the inbox.
#[derive(Debug, Default)]
pub struct Drained {
    /// The result for each document, by file.
    pub files: Vec<(PathBuf, Vec<Applied>)>,
    /// Files that were not taken. They stay in the inbox under another name, with the reason in a file next to them.
    pub refused: Vec<Refused>,
    /// Documents that the index lacked and took from the archive of the ledger.
    pub restored: usize,
}

impl Drained {
    /// True if nothing was there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.refused.is_empty() && self.restored == 0
    }
}

fn waiting(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut found: Vec<PathBuf> = files.map(|file| Ok(file?.path())).collect::<io::Result<_>>()?;
    found.iter().filter(|path| is_left(path)).for_each(|path| drop(fs::remove_file(path)));
    found.retain(|path| path.extension().is_some_and(|e| e == WAITING));
    found.sort_unstable();
    Ok(found)
}

/// True for a file that a command began and, being killed, did not finish.
fn is_left(path: &Path) -> bool {
    let old = || fs::metadata(path).and_then(|of| of.modified()).ok()?.elapsed().ok().map(|age| age > LEFT);
    path.extension().is_some_and(|e| e == PART) && old().unwrap_or(false)
}

impl Ledger<'_> {
    /// As [`Engine::drain_inbox`](crate::Engine::drain_inbox).
    pub(super) fn drain_inbox(&self, now: u32) -> Result<Drained, LedgerError> {
        let mut drained = Drained::default();
        if self.engine.tip()?.is_none() {
            return Ok(drained);
        }
        drained.restored = self.match_archive_once(now)?;
        let files = waiting(&self.engine.datadir.join(INBOX)).map_err(unusable(&self.engine.datadir.join(INBOX)))?;
        for path in files {
            match self.take_file(&path, now) {
                Ok(applied) => {
                    fs::remove_file(&path).map_err(unusable(&path))?;
                    waits::end(&self.engine.datadir, &path).map_err(unusable(&path))?;
                    drained.files.push((path, applied));
                }
                Err(TakeError::Refused(reason)) => {
                    drained.refused.push(refuse(&path, reason)?);
                    waits::end(&self.engine.datadir, &path).map_err(unusable(&path))?;
                }
                Err(TakeError::Failed(error)) => return Err(error),
            }
        }
        Ok(drained)
    }

    fn take_file(&self, path: &Path, now: u32) -> Result<Vec<Applied>, TakeError> {
        // The hash is at the end: nothing is taken before it is known to be right. Mostly there is one document, which
        // is kept.
        let mut only = None;
        let documents = file::read(open(path)?, |document| {
            only = Some(document);
            Ok::<(), FileError>(())
        })?;
        if let Some(document) = only.filter(|_| documents == 1) {
            return Ok(vec![self.take_document(&document, now)?]);
        }
        let mut applied = Vec::new();
        file::read(open(path)?, |document| {
            applied.push(self.take_document(&document, now)?);
            Ok::<(), TakeError>(())
        })?;
        Ok(applied)
    }
}

fn open(path: &Path) -> Result<BufReader<File>, TakeError> {
    Ok(BufReader::new(File::open(path).map_err(FileError::Io)?))
}

/// Why a file was not taken as a whole.
enum TakeError {
    /// It is to blame.
    Refused(String),
    /// The index or the disk is to blame.
    Failed(LedgerError),
}

impl From<FileError> for TakeError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io(error) => TakeError::Failed(unusable(Path::new(INBOX))(error)),
            other => TakeError::Refused(other.to_string()),
        }
    }
}

impl From<LedgerError> for TakeError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Index(_)
            | LedgerError::Inbox { .. }
            | LedgerError::Archive { .. }
            | LedgerError::StillRead => TakeError::Failed(error),
            LedgerError::Bad(_) | LedgerError::Alike { .. } => TakeError::Refused(error.to_string()),
        }
    }
}

/// Sets a file aside, with the reason in a file next to it.
fn refuse(path: &Path, reason: String) -> Result<Refused, LedgerError> {
    let aside = path.with_extension(REFUSED);
    let why = path.with_extension("reason.txt");
    fs::write(&why, format!("{reason}\n")).map_err(unusable(&why))?;
    fs::rename(path, &aside).map_err(unusable(path))?;
    Ok(Refused { path: aside, reason })
}
