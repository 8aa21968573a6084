//! The mark of a SQLite database: a small file beside it, `state.sqlite.mark`, that remembers which database is used
//! here and how many changes it has seen. Without it, a file that is gone or emptied would look like one that was never
//! made.
//!
//! ```text
//! id=<32 hex digits>          the database has the same
//! changes=<number>            it has seen at least this many
//! rows=<number> <SHA-256>     after this many changes, its rows had this hash
//! sha256 <SHA-256>            of the lines above
//! ```

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs, io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::StateError;

const SUFFIX: &str = ".mark";
/// How its last line begins.
const SEAL: &str = "sha256 ";
/// Writers of this process take turns.
static WRITING: Mutex<()> = Mutex::new(());

/// Id, changes and rows of a database, as its mark remembers them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub(crate) id: String,
    pub(crate) changes: u64,
    /// A number of changes, and the hash of the rows after them.
    pub(crate) rows: Option<(u64, String)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MarkFile {
    /// There is none: no database was used here.
    Nothing,
    /// It cannot be read. There was a database.
    Damaged,
    Database(Mark),
}

pub(crate) fn path_of(database: &Path) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(SUFFIX);
    PathBuf::from(name)
}

pub(crate) fn read(database: &Path) -> Result<MarkFile, StateError> {
    let path = path_of(database);
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(MarkFile::Nothing),
        Err(reason) => Err(StateError::File { path, reason }),
        Ok(bytes) => Ok(parse(&bytes).map_or(MarkFile::Damaged, MarkFile::Database)),
    }
}

fn parse(bytes: &[u8]) -> Option<Mark> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (lines, seal) = text.strip_suffix('\n')?.rsplit_once(SEAL)?;
    if seal != hex::encode(Sha256::digest(lines)) {
        return None;
    }
    let mut mark = Mark { id: String::new(), changes: 0, rows: None };
    for line in lines.lines() {
        match line.split_once('=')? {
            ("id", id) => mark.id = id.to_owned(),
            ("changes", changes) => mark.changes = changes.parse().ok()?,
            ("rows", rows) => {
                let (changes, hash) = rows.split_once(' ')?;
                mark.rows = Some((changes.parse().ok()?, hash.to_owned()));
            }
            // A newer program knows more.
            _ => {}
        }
    }
    Some(mark).filter(|mark| !mark.id.is_empty())
}

/// Writes it, readable only by its owner. It is on disk when this returns.
pub(crate) fn write(database: &Path, mark: &Mark) -> Result<(), StateError> {
    let _turn = WRITING.lock();
    let path = path_of(database);
    let mut text = format!("id={}\nchanges={}\n", mark.id, mark.changes);
    if let Some((changes, hash)) = &mark.rows {
        let _ = writeln!(text, "rows={changes} {hash}");
    }
    let seal = hex::encode(Sha256::digest(&text));
    let _ = writeln!(text, "{SEAL}{seal}");
    // Another process may write at the same time.
    let part = path.with_extension(format!("mark.{}", std::process::id()));
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::File::open(folder)?.sync_all()
    })();
    written.map_err(|reason| {
        let _ = fs::remove_file(&part);
        StateError::File { path, reason }
    })
}

pub(crate) fn forget(database: &Path) -> Result<(), StateError> {
    let path = path_of(database);
    match fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|reason| StateError::File { path, reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_any_other_byte_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("state.sqlite");
        assert_eq!(read(&database).unwrap(), MarkFile::Nothing);
        for rows in [None, Some((7, "ab".repeat(32)))] {
            let mark = Mark { id: "0f".repeat(16), changes: 9, rows };
            write(&database, &mark).unwrap();
            assert_eq!(read(&database).unwrap(), MarkFile::Database(mark));
        }
        let whole = fs::read(path_of(&database)).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(path_of(&database), &bytes).unwrap();
            assert_eq!(read(&database).unwrap(), MarkFile::Damaged, "byte {at}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        forget(&database).unwrap();
        forget(&database).unwrap();
        assert_eq!(read(&database).unwrap(), MarkFile::Nothing);
    }
}
