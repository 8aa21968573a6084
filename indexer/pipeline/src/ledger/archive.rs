//! The archive of the ledger: a second copy of every document, in a folder of its own beside the index. Input events
//! come from nobody a second time, so they survive the loss of everything else in the data folder.
//!
//! ```text
//! ledger/<seq, 12 digits>-<hash of the document>.events   the document, as `cairn events export` writes it
//! ledger/list                                             a line for each document, and the SHA-256 of these lines
//! ledger/facts                                            the parameters of the index, and the SHA-256 of these lines
//! ```
//!
//! Each file is written as a whole and renamed into its place. The list names documents whose file is gone.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{self, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use cairn_events::{
    Body, Document, DocumentHash,
    file::{self, FileError, FileWriter},
};
use cairn_reader::Facts;
use cairn_tables::facts::Fact;
use sha2::{Digest, Sha256};

/// Name of the folder in the data folder.
const FOLDER: &str = "ledger";
const LIST: &str = "list";
const FACTS: &str = "facts";
/// How names of documents end.
const EVENTS: &str = "events";
/// How the last line of a sealed file begins.
const SEAL: &str = "sha256 ";

#[derive(Clone, Debug)]
pub(crate) struct Archive {
    folder: PathBuf,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ListedDocument {
    pub(crate) seq: u64,
    pub(crate) hash: DocumentHash,
    /// Its description, in words.
    pub(crate) what: String,
}

impl ListedDocument {
    pub(crate) fn new(seq: u64, document: &Document) -> Self {
        let Document { provenance, body, .. } = document;
        let rows = document.count();
        let kind = match body {
            Body::Quotes(_) => format!("{rows} quotes"),
            Body::Claims { list, .. } => format!("{rows} claims of list {}", list.name),
            Body::Listing { list, .. } => format!("{rows} rows of list {list}"),
            Body::Withdrawal { .. } => "a withdrawal".to_owned(),
            Body::Contest(_) => "a contest".to_owned(),
        };
        ListedDocument { seq, hash: provenance.document, what: format!("{kind} from {}", provenance.source) }
    }
}

impl fmt::Display for ListedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document {} (event {}, {})", self.hash, self.seq, self.what)
    }
}

pub(crate) enum List {
    /// There is none: no program has written the archive yet, or it is gone.
    Absent,
    /// It cannot be read.
    Damaged,
    Whole(Vec<ListedDocument>),
}

/// Documents by hash, each with the sequence number and the path of its file.
pub(crate) type Files = BTreeMap<DocumentHash, (u64, PathBuf)>;

impl Archive {
    pub(crate) fn new(datadir: &Path) -> Self {
        Archive { folder: datadir.join(FOLDER) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, seq: u64, hash: &DocumentHash) -> PathBuf {
        self.folder.join(format!("{seq:012}-{hash}.{EVENTS}"))
    }

    /// The files of documents. Their content is not read.
    pub(crate) fn files(&self) -> io::Result<Files> {
        let mut found = Files::new();
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            let stem = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .filter(|_| path.extension().is_some_and(|e| e == EVENTS));
            let Some((seq, hash)) = stem.and_then(|stem| stem.split_once('-')) else { continue };
            if let (Ok(seq), Ok(hash)) = (seq.parse(), hash.parse()) {
                found.insert(hash, (seq, path));
            }
        }
        Ok(found)
    }

    /// Writes a document. It is on disk when this returns.
    pub(crate) fn put(&self, seq: u64, document: &Document) -> io::Result<()> {
        self.replace(&self.path(seq, &document.provenance.document), |to| {
            let mut to = FileWriter::begin(to)?;
            to.add(document)?;
            to.finish().map(drop)
        })
    }

    /// Renames the file of a document whose sequence number is another now.
    pub(crate) fn renumber(&self, from: &Path, seq: u64, hash: &DocumentHash) -> io::Result<()> {
        fs::rename(from, self.path(seq, hash))?;
        File::open(&self.folder)?.sync_all()
    }

    pub(crate) fn list(&self) -> io::Result<List> {
        let Some(text) = self.sealed(LIST)? else { return Ok(List::Absent) };
        let listed = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let (seq, hash, what) = (words.next()?, words.next()?, words.next()?);
            Some(ListedDocument { seq: seq.parse().ok()?, hash: hash.parse().ok()?, what: what.to_owned() })
        };
        let all: Option<Vec<ListedDocument>> = text.and_then(|text| text.lines().map(listed).collect());
        Ok(all.map_or(List::Damaged, List::Whole))
    }

    pub(crate) fn put_list(&self, listed: &[ListedDocument]) -> io::Result<()> {
        let line = |of: &ListedDocument| format!("{} {} {}\n", of.seq, of.hash, of.what);
        self.seal(LIST, &listed.iter().map(line).collect::<String>())
    }

    /// Notes that a new index has no documents, unless there is a list already.
    pub(crate) fn begin(&self) -> io::Result<()> {
        match self.list()? {
            List::Absent if self.files()?.is_empty() => self.put_list(&[]),
            _ => Ok(()),
        }
    }

    /// Documents that the list names and no file has, in words.
    pub(crate) fn missing(&self) -> io::Result<Vec<String>> {
        let files = self.files()?;
        let List::Whole(listed) = self.list()? else { return Ok(Vec::new()) };
        Ok(listed.iter().filter(|of| !files.contains_key(&of.hash)).map(ListedDocument::to_string).collect())
    }

    /// Takes documents that cannot be read out of the list. Their files are renamed, so that nobody reads them again.
    pub(crate) fn forget_missing(&self) -> io::Result<()> {
        let mut files = self.files()?;
        for (_, (_, path)) in files.iter().filter(|(hash, (_, path))| read(path, hash).is_err()) {
            fs::rename(path, path.with_extension("damaged"))?;
        }
        files.retain(|_, (_, path)| path.exists());
        match self.list()? {
            List::Whole(mut listed) => {
                listed.retain(|of| files.contains_key(&of.hash));
                self.put_list(&listed)
            }
            List::Absent | List::Damaged => Ok(()),
        }
    }

    /// The parameters of the index; `None` if they are missing or damaged.
    pub(crate) fn facts(&self) -> io::Result<Option<Facts>> {
        let Some(Some(text)) = self.sealed(FACTS)? else { return Ok(None) };
        let row = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), Fact(value.to_owned())));
        let rows: Option<Vec<(String, Fact)>> = text.lines().map(row).collect();
        Ok(rows.and_then(|rows| Facts::from_rows(rows).ok().flatten()))
    }

    /// Writes the parameters of the index, if the archive has others.
    pub(crate) fn put_facts(&self, facts: &Facts) -> io::Result<()> {
        // A path with a line break is left out: it has to be given again.
        let rows = facts.rows().into_iter().filter(|(_, Fact(value))| !value.contains(['\n', '\r']));
        let text: String = rows.map(|(name, Fact(value))| format!("{name}={value}\n")).collect();
        if matches!(self.sealed(FACTS)?, Some(Some(found)) if found == text) {
            return Ok(());
        }
        self.seal(FACTS, &text)
    }

    /// The lines of a sealed file: `None` if there is no such file, `Some(None)` if its seal does not match.
    pub(super) fn sealed(&self, name: &str) -> io::Result<Option<Option<String>>> {
        let bytes = match fs::read(self.folder.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        let text = String::from_utf8(bytes).ok();
        Ok(Some(text.and_then(|text| {
            let (lines, seal) = text.strip_suffix('\n')?.rsplit_once(SEAL)?;
            (hex::encode(Sha256::digest(lines)) == seal).then(|| lines.to_owned())
        })))
    }

    pub(super) fn seal(&self, name: &str, lines: &str) -> io::Result<()> {
        let seal = hex::encode(Sha256::digest(lines));
        self.replace(&self.folder.join(name), |to| writeln!(to, "{lines}{SEAL}{seal}"))
    }

    /// Writes a file as a whole, or leaves the one that is there.
    fn replace(&self, path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let part = path.with_extension("part");
        let written = (|| {
            let mut to = BufWriter::new(File::create(&part)?);
            fill(&mut to)?;
            to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&part, path)?;
            File::open(&self.folder)?.sync_all()
        })();
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written
    }
}

/// Reads a document from its file, and compares the hash at its end and the hash in its name.
pub(crate) fn read(path: &Path, hash: &DocumentHash) -> Result<Document, FileError> {
    let mut found = None;
    let documents = file::read(BufReader::new(File::open(path)?), |document| {
        found = Some(document);
        Ok::<(), FileError>(())
    })?;
    found.filter(|of| documents == 1 && of.provenance.document == *hash).ok_or(FileError::Damaged)
}
