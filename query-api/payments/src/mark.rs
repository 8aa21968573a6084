//! The counters as a data folder remembers them: a file with the next index of each descriptor, next to the index. A
//! database that was restored from a backup, or replaced, lacks addresses that were given out since; they are not on
//! the chain before they are paid, so only this file knows.
//!
//! ```text
//! <SHA-256 of the descriptor> <run id of the counter> <next index>
//! sha256 <SHA-256 of the lines above>
//! ```

use std::{fs, io, io::Write as _, os::unix::fs::OpenOptionsExt, path::PathBuf};

use cairn_state::PaymentCounter;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Name of the file in the data folder.
const NAME: &str = "payments.mark";
/// How its last line begins.
const SEAL: &str = "sha256 ";
/// Lines that are read: descriptors that an operator has used.
const MAX_LINES: usize = 1_000;
/// Writers of this process take turns.
static WRITING: Mutex<()> = Mutex::new(());

/// A counter as the data folder remembers it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownCounter {
    /// SHA-256 of the descriptor in hex.
    pub descriptor: String,
    /// Run id of the counter.
    pub run: String,
    /// The next index.
    pub next_index: u32,
}

/// The file of a data folder.
#[derive(Clone, Debug)]
pub struct PaymentMark(PathBuf);

impl PaymentMark {
    /// The file in this folder.
    #[must_use]
    pub fn in_folder(folder: &std::path::Path) -> Self {
        PaymentMark(folder.join(NAME))
    }

    /// The counter of a descriptor, as it is remembered; `None` if it is not, or if the file is damaged. Read it before
    /// the counter of the database, so that a request meanwhile does not look like a restore.
    pub fn read(&self, descriptor: &str) -> io::Result<Option<KnownCounter>> {
        Ok(self.all()?.into_iter().find(|known| known.descriptor == descriptor))
    }

    fn all(&self) -> io::Result<Vec<KnownCounter>> {
        match fs::read(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
            Ok(bytes) => Ok(parse(&bytes).unwrap_or_default()),
        }
    }

    /// Remembers a counter. An index below the remembered one of the same run changes nothing. It is on disk when this
    /// returns.
    pub fn remember(&self, counter: &KnownCounter) -> io::Result<()> {
        let _turn = WRITING.lock();
        let mut all = self.all()?;
        match all.iter_mut().find(|known| known.descriptor == counter.descriptor) {
            Some(known) if known.run == counter.run && known.next_index >= counter.next_index => return Ok(()),
            Some(known) => *known = counter.clone(),
            None => all.push(counter.clone()),
        }
        let mut text = String::new();
        for KnownCounter { descriptor, run, next_index } in &all {
            text += &format!("{descriptor} {run} {next_index}\n");
        }
        let seal = hex::encode(Sha256::digest(&text));
        text += &format!("{SEAL}{seal}\n");
        // Another process may write at the same time.
        let part = self.0.with_extension(format!("mark.{}", std::process::id()));
        let written = (|| {
            let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&part, &self.0)?;
            self.0.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
        })();
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written
    }
}

impl KnownCounter {
    /// True if the database lacks addresses that may have been given out: it is an older copy, or another database.
    #[must_use]
    pub fn is_restored(known: Option<&KnownCounter>, stored: Option<&PaymentCounter>) -> bool {
        match (known, stored) {
            (None, None) => false,
            // Another data folder, which may not be the one that gave the last ones out.
            (None, Some(stored)) => stored.next_index > 0,
            (Some(_), None) => true,
            (Some(known), Some(stored)) => known.run != stored.run || known.next_index > stored.next_index,
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Vec<KnownCounter>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (lines, seal) = text.strip_suffix('\n')?.rsplit_once(SEAL)?;
    if seal != hex::encode(Sha256::digest(lines)) {
        return None;
    }
    let counter = |line: &str| {
        let mut parts = line.split(' ');
        let (descriptor, run, next) = (parts.next()?, parts.next()?, parts.next()?);
        Some(KnownCounter { descriptor: descriptor.to_owned(), run: run.to_owned(), next_index: next.parse().ok()? })
    };
    lines.lines().take(MAX_LINES).map(counter).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn known(descriptor: &str, run: &str, next_index: u32) -> KnownCounter {
        KnownCounter { descriptor: descriptor.to_owned(), run: run.to_owned(), next_index }
    }

    #[test]
    fn counters_are_remembered_and_never_go_back() {
        let folder = tempfile::tempdir().unwrap();
        let mark = PaymentMark::in_folder(folder.path());
        assert_eq!(mark.read("d").unwrap(), None);
        for next in [3, 2, 7] {
            mark.remember(&known("d", "r", next)).unwrap();
        }
        mark.remember(&known("e", "r", 1)).unwrap();
        assert_eq!(mark.read("d").unwrap(), Some(known("d", "r", 7)));
        assert_eq!(mark.read("e").unwrap(), Some(known("e", "r", 1)));
        // Another run begins where it begins.
        mark.remember(&known("d", "s", 2)).unwrap();
        assert_eq!(mark.read("d").unwrap(), Some(known("d", "s", 2)));
        let mut bytes = fs::read(&mark.0).unwrap();
        bytes[0] ^= 1;
        fs::write(&mark.0, bytes).unwrap();
        assert_eq!(mark.read("e").unwrap(), None, "a damaged file knows nothing");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_counter_that_was_set_back_is_found() {
        let stored = |run: &str, next_index| PaymentCounter { run: run.to_owned(), next_index };
        for (mark, counter, restored) in [
            (None, None, false),
            (None, Some(stored("r", 0)), false),
            (None, Some(stored("r", 4)), true),
            (Some(known("d", "r", 4)), None, true),
            (Some(known("d", "r", 4)), Some(stored("r", 4)), false),
            (Some(known("d", "r", 4)), Some(stored("r", 5)), false),
            (Some(known("d", "r", 4)), Some(stored("r", 3)), true),
            (Some(known("d", "r", 4)), Some(stored("s", 9)), true),
        ] {
            assert_eq!(KnownCounter::is_restored(mark.as_ref(), counter.as_ref()), restored, "{mark:?} {counter:?}");
        }
    }
}
