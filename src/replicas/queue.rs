//! Documents that are handed in on a replica: they wait in the database of the service state for the machine that
//! writes the index.

use std::{
    cell::Cell,
    io::{self, Write},
    mem,
    path::Path,
    rc::Rc,
    thread,
};

use cairn_clock::now_ms;
use cairn_events::{Document, file::FileWriter};
use cairn_model::ChainParams;
use cairn_reader::{REPLICA, replica_of};
use cairn_state::{MAX_WAITING_BYTES, NewEntry, StateError, StateUrl};

use crate::{config::StateDb, exit::Failure, with_state::with_state};

/// Bytes after which an entry takes no further document.
const ENTRY_BYTES: u64 = 4 << 20;

/// The database in which documents that are handed in here wait; `None` if the data folder is not a replica.
///
/// # Errors
/// Fails if the folder is a replica and no database is named.
pub(crate) fn shared_url(datadir: &Path, state: &StateDb) -> Result<Option<StateUrl>, Failure> {
    let Some(from) = replica_of(datadir).map_err(Failure::io(&datadir.join(REPLICA)))? else { return Ok(None) };
    match state.named()? {
        Some(url) => Ok(Some(url)),
        None => Err(Failure::usage(format!(
            "{} is a replica of {from}: what is handed in here waits in a database for the machine that writes the index",
            datadir.display()
        ))
        .hint("set --state-url, CAIRN_STATE_URL or state_url to the database that the writer uses, too")),
    }
}

/// Queues documents for the machine that writes the index of this network: all, or none. `origin` says who hands them
/// in. Returns their number.
///
/// # Errors
/// Fails if `fill` fails, too much waits, or the database fails.
pub(crate) fn queue<E: From<io::Error> + From<StateError> + Send>(
    url: &StateUrl,
    chain: ChainParams,
    origin: &str,
    fill: impl FnOnce(&mut dyn FnMut(&Document) -> io::Result<()>) -> Result<(), E>,
) -> Result<u64, E> {
    let mut entries = Entries::default();
    fill(&mut |document| entries.add(document))?;
    let entries = entries.finish()?;
    // A thread of its own: the caller may be one of a runtime.
    thread::scope(|scope| {
        let run = || -> Result<(), E> {
            with_state(url, async |state| Ok(state.queue_documents(chain.key(), origin, &entries, now_ms()).await?))
        };
        let panicked = |_| E::from(io::Error::other("the thread of the queue panicked; this is a bug"));
        thread::Builder::new().spawn_scoped(scope, run)?.join().map_err(panicked)?
    })?;
    Ok(entries.iter().map(|entry| u64::from(entry.documents)).sum())
}

/// Files of events in memory.
#[derive(Default)]
struct Entries {
    done: Vec<NewEntry>,
    open: Option<(FileWriter<Growing>, u32)>,
    /// Bytes of the open one.
    written: Rc<Cell<u64>>,
    /// Bytes of the others.
    before: u64,
}

impl Entries {
    fn add(&mut self, document: &Document) -> io::Result<()> {
        let (mut file, documents) = match self.open.take() {
            Some(open) => open,
            None => {
                self.written.set(0);
                (FileWriter::begin(Growing { bytes: Vec::new(), written: Rc::clone(&self.written) })?, 0)
            }
        };
        file.add(document)?;
        if self.before + self.written.get() > MAX_WAITING_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "the documents have more than {} MiB: import them on the machine that writes the index",
                    MAX_WAITING_BYTES >> 20
                ),
            ));
        }
        self.open = Some((file, documents + 1));
        if self.written.get() >= ENTRY_BYTES { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some((file, documents)) = self.open.take() {
            let (to, _) = file.finish()?;
            self.before += to.bytes.len() as u64;
            self.done.push(NewEntry { documents, payload: to.bytes });
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<Vec<NewEntry>> {
        self.close()?;
        Ok(mem::take(&mut self.done))
    }
}

/// Bytes whose number can be asked for while they are written.
struct Growing {
    bytes: Vec<u8>,
    written: Rc<Cell<u64>>,
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        self.written.set(self.bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cairn_events::{
        Body, DocumentHash, Provenance,
        file::{self, FileError},
    };

    use super::*;

    fn withdrawal(number: u32, reason: &str) -> Document {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&number.to_be_bytes());
        let slug = || "operator".parse().unwrap();
        let (source, licence, origin) = (slug(), slug(), String::new());
        let provenance = Provenance { source, licence, origin, retrieved_at: number, document: DocumentHash(hash) };
        let body = Body::Withdrawal { document: DocumentHash([9; 32]), reason: reason.to_owned() };
        Document { provenance, received_at: None, body }
    }

    #[test]
    fn documents_become_whole_files_of_bounded_length() {
        let long = "x".repeat(900);
        let mut entries = Entries::default();
        let count = (2 * ENTRY_BYTES / 900) as u32;
        (0..count).for_each(|number| entries.add(&withdrawal(number, &long)).unwrap());
        let entries = entries.finish().unwrap();
        assert!(entries.len() >= 2, "{}", entries.len());
        let mut found = Vec::new();
        for entry in &entries {
            assert!((entry.payload.len() as u64) < ENTRY_BYTES + 2_000, "{}", entry.payload.len());
            let before = found.len();
            file::read(entry.payload.as_slice(), |document| {
                found.push(document);
                Ok::<(), FileError>(())
            })
            .unwrap();
            assert_eq!(found.len() - before, entry.documents as usize);
        }
        assert!(found.iter().enumerate().all(|(at, of)| *of == withdrawal(at as u32, &long)));
        assert_eq!(found.len() as u32, count);
        assert!(Entries::default().finish().unwrap().is_empty());
    }
}
