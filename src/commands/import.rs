//! Common steps of every import of a file or URL: fetch, unpack, hash, read, submit.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
    time::UNIX_EPOCH,
};

use cairn_events::{Body, Document, DocumentHash, Listing, Provenance, Slug};
use cairn_fetch::{Answer, Client, FetchError, FetchRecord, Fetched, Limits, Url, Validators, unpack};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    claims::ListKey,
    events::{DocumentState, EventRow},
    listings::{PoolTags, Profiles},
};
use sha2::{Digest, Sha256};

use super::{db::open, operator::now, submit::submit};
use crate::{
    cli::Import,
    exit::{Exit, Failure},
    out::{print, thousands, time},
    signals::Signals,
};

/// Reason why a file is refused.
pub(super) enum Refused {
    /// The file is at fault: the message follows its name.
    File(String),
    /// Something else is at fault.
    Failed(Failure),
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Refused::File(message)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Refused::Failed(failure)
    }
}

pub(super) struct Content {
    /// Bodies of the documents that the file becomes; empty if no row can be taken.
    pub(super) bodies: Vec<Body>,
    /// Source, if the file names it.
    pub(super) source: Option<Slug>,
    /// Licence, if the file names it.
    pub(super) licence: Option<Slug>,
}

/// Returns a setting of an import: the one of the command line, otherwise the one of the file itself.
fn given(flag: &str, example: &str, given: Option<&Slug>, said: Option<Slug>) -> Result<Slug, Failure> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    let said = said.ok_or_else(|| {
        Failure::usage(format!("--{flag} is missing, and the file does not name it"))
            .hint(format!("give the flag, for example --{flag} {example}"))
    })?;
    print(&format!("  {flag} {said}: the file says so\n"))?;
    Ok(said)
}

pub(super) struct Imported {
    pub(super) exit: Exit,
    /// The document that the file became, or the first one; `None` if nothing was to be written.
    pub(super) document: Option<DocumentHash>,
    /// Time when the publisher's file was last known to be this one, in seconds since 1970.
    pub(super) checked_at: u32,
}

/// Imports a file or URL. `read` returns its content, and prints a summary.
pub(super) fn import(
    args: &Import,
    source: Option<&Slug>,
    read: impl FnOnce(&mut dyn Read) -> Result<Content, Refused>,
) -> Result<Imported, Failure> {
    match url_of(&args.file)? {
        Some(url) => import_url(args, source, &url, read),
        None => import_file(args, source, read),
    }
}

/// Returns the URL, if the argument is one.
fn url_of(text: &Path) -> Result<Option<Url>, Failure> {
    let Some(text) = text.to_str().filter(|text| text.contains("://")) else { return Ok(None) };
    // The message does not repeat the text, because it may contain credentials.
    text.parse().map(Some).map_err(|error: cairn_fetch::UrlError| Failure::usage(error.to_string()))
}

fn import_file(
    args: &Import,
    source: Option<&Slug>,
    read: impl FnOnce(&mut dyn Read) -> Result<Content, Refused>,
) -> Result<Imported, Failure> {
    let path = &args.file;
    let file = File::open(path).map_err(Failure::io(path))?;
    let modified = file.metadata().and_then(|of| of.modified()).map_err(Failure::io(path))?;
    let modified = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let retrieved_at = u32::try_from(modified).unwrap_or(u32::MAX).min(now());
    let from = FileOrigin { origin: path.display().to_string(), retrieved_at, source };
    let (document, exit) = take(args, BufReader::new(file), from, read)?;
    Ok(Imported { exit, document: (!args.dry_run).then_some(document), checked_at: retrieved_at })
}

fn import_url(
    args: &Import,
    source: Option<&Slug>,
    url: &Url,
    read: impl FnOnce(&mut dyn Read) -> Result<Content, Refused>,
) -> Result<Imported, Failure> {
    let datadir = args.index.datadir()?;
    let signals = Signals::take_over()?;
    let client = Client::new(signals.cancel_token(), args.addresses.allow_private_addresses);
    let limits = Limits { received: args.max_size, unpacked: args.max_unpacked, time: args.max_time };
    // Ask the server for changes only if the ledger still has the document of the last fetch.
    let last = if args.dry_run { None } else { FetchRecord::load(datadir, url).filter(|record| has(datadir, record)) };
    let validators = last.as_ref().map_or_else(Validators::default, |last| last.validators.clone());
    let answer = match client.fetch(url, limits, &validators)? {
        Fetched::Document(answer) => answer,
        Fetched::Unchanged => {
            let since = last.as_ref().map(|last| time(last.fetched_at.into())).unwrap_or_default();
            print(&format!("{url} has not changed since it was fetched at {since}: nothing has changed\n"))?;
            let document = last.map(|last| last.document);
            return Ok(Imported { exit: Exit::Done, document, checked_at: now() });
        }
    };
    let fetched_at = now();
    let Answer { body, validators, .. } = *answer;
    print(&format!("{} bytes received from {url}\n", thousands(body.received())))?;
    let from = FileOrigin { origin: url.shown(), retrieved_at: fetched_at, source };
    let (document, exit) = take(args, body.reader(), from, read)?;
    if !args.dry_run && !validators.is_empty() {
        // Without the record, the next fetch only downloads the whole file again.
        let record = FetchRecord { validators, document, fetched_at };
        if let Err(error) = record.store(datadir, url) {
            tracing::warn!(%error, "the server's validators of the file cannot be stored");
        }
    }
    Ok(Imported { exit, document: (!args.dry_run).then_some(document), checked_at: fetched_at })
}

/// True if the ledger has the document of the last fetch.
fn has(datadir: &Path, record: &FetchRecord) -> bool {
    let found = || -> Result<bool, Failure> {
        let reader = open(datadir)?;
        let state = reader.view()?.ledger().document(&record.document)?;
        Ok(state.is_some_and(|state| state.seq != 0))
    };
    found().unwrap_or(false)
}

/// Hashes the bytes that are read.
struct Hashed<R> {
    from: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.hash.update(to.get(..read).unwrap_or_default());
        Ok(read)
    }
}

struct FileOrigin<'f> {
    origin: String,
    retrieved_at: u32,
    source: Option<&'f Slug>,
}

/// Reads a file and hands it in. Returns the hash of the first document. A packed file counts as its content.
fn take(
    args: &Import,
    input: impl Read,
    from: FileOrigin<'_>,
    read: impl FnOnce(&mut dyn Read) -> Result<Content, Refused>,
) -> Result<(DocumentHash, Exit), Failure> {
    let datadir = args.index.datadir()?;
    let wrong = |error: &dyn std::fmt::Display| Failure::new(Exit::Other, format!("{}: {error}", from.origin));
    let unpacked = unpack(input, args.max_size, args.max_unpacked).map_err(|error| wrong(&error))?;
    let mut input = Hashed { from: unpacked, hash: Sha256::new() };
    let Content { bodies, source, licence } = read(&mut input).map_err(|refused| match refused {
        Refused::File(message) => wrong(&message),
        Refused::Failed(failure) => failure,
    })?;
    io::copy(&mut input, &mut io::sink()).map_err(|error| wrong(&error))?;
    let hash = DocumentHash(input.hash.finalize().into());
    if bodies.is_empty() {
        return Err(wrong(&"no row can be taken"));
    }
    if args.dry_run {
        print("nothing is written (--dry-run)\n")?;
        return Ok((hash, Exit::Done));
    }
    let source = given("source", "kraken", from.source, source)?;
    let licence = given("licence", "cc-by-4.0", args.licence.as_ref(), licence)?;
    let whole =
        Provenance { source, licence, origin: from.origin.clone(), retrieved_at: from.retrieved_at, document: hash };
    let is_tags = |body: &Body| matches!(body, Body::Listing { rows: Listing::PoolTags(_), .. });
    let count = bodies.iter().filter(|body| !is_tags(body)).count();
    let mut documents = Vec::with_capacity(bodies.len());
    {
        let reader = open(datadir)?;
        // An index without blocks has no documents either.
        let view = match reader.view() {
            Err(ReadError::Empty) => None,
            view => Some(view?),
        };
        for (part, body) in (0u32..).zip(bodies) {
            let provenance = if is_tags(&body) { tags_of(&whole) } else { part_of(&whole, part, count) };
            let provenance = match &view {
                Some(view) => again_of(view, provenance, &body)?,
                None => provenance,
            };
            let document = Document { provenance, received_at: None, body };
            document.check().map_err(|error| wrong(&error))?;
            documents.push(document);
        }
    }
    let first = documents.first().map_or(whole.document, |document| document.provenance.document);
    // Each document is dropped once it is written.
    let submitted = submit(datadir, &args.state, &from.origin, |add| {
        Ok(documents.into_iter().try_for_each(|document| add(&document))?)
    })?;
    Ok((first, submitted.tell()?))
}

/// Returns the provenance of the tags of a pools file. The document of its payout addresses already has the hash of the
/// file.
fn tags_of(whole: &Provenance) -> Provenance {
    let mut hasher = Sha256::new();
    hasher.update(whole.document.0);
    hasher.update(b"tags of pools");
    Provenance {
        origin: format!("{} (tags of coinbases, SHA-256 of the file: {})", whole.origin, whole.document),
        document: DocumentHash(hasher.finalize().into()),
        ..whole.clone()
    }
}

/// Returns the provenance of a list that its publisher changed and changed back: the ledger has the document, but a
/// later one replaced it. With a new hash the list is in force again. Any other list keeps its provenance.
fn again_of(view: &View<'_>, provenance: Provenance, body: &Body) -> Result<Provenance, Failure> {
    let list = |name: &Slug| ListKey { source: provenance.source.clone(), list: name.clone() };
    let newest = match body {
        Body::Claims { list: of, .. } => view.claims().newest_of_list(&list(&of.name))?,
        Body::Listing { list: of, rows: Listing::PoolTags(_) } => {
            view.ledger().listing::<PoolTags>(&list(of))?.map(|of| of.version)
        }
        Body::Listing { list: of, rows: Listing::Profiles(_) } => {
            view.ledger().listing::<Profiles>(&list(of))?.map(|of| of.version)
        }
        Body::Quotes(_) | Body::Withdrawal { .. } | Body::Contest(_) => None,
    };
    let Some(newest) = newest else { return Ok(provenance) };
    let DocumentState { seq, withdrawn } = view.ledger().document(&provenance.document)?.unwrap_or_default();
    let before = match view.ledger().event(seq)? {
        Some((first, EventRow::Document { provenance, .. })) if first == seq && withdrawn == 0 => {
            provenance.retrieved_at
        }
        _ => return Ok(provenance),
    };
    if before >= newest.retrieved_at || provenance.retrieved_at <= newest.retrieved_at {
        return Ok(provenance);
    }
    let again_at = |time: u32| {
        let mut hasher = Sha256::new();
        hasher.update(provenance.document.0);
        hasher.update(b"again");
        hasher.update(time.to_be_bytes());
        DocumentHash(hasher.finalize().into())
    };
    // The newest document may be this list, with the hash that it got then.
    let newest_again = again_at(newest.retrieved_at);
    if newest_again.0.starts_with(&newest.document) {
        return Ok(Provenance { document: newest_again, ..provenance });
    }
    let origin = format!("{} (as it was before, SHA-256: {})", provenance.origin, provenance.document);
    Ok(Provenance { origin, document: again_at(provenance.retrieved_at), ..provenance })
}

/// Returns the provenance of a part of a long file. The hash of a part covers the hash of the file and the number of
/// the part.
fn part_of(whole: &Provenance, part: u32, count: usize) -> Provenance {
    if count == 1 {
        return whole.clone();
    }
    let mut hasher = Sha256::new();
    hasher.update(whole.document.0);
    hasher.update(part.to_be_bytes());
    Provenance {
        origin: format!("{} (part {} of {count}, SHA-256 of the file: {})", whole.origin, part + 1, whole.document),
        document: DocumentHash(hasher.finalize().into()),
        ..whole.clone()
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        let exit = if matches!(error, FetchError::Cancelled) { Exit::Interrupted } else { Exit::Other };
        let failure = Failure::new(exit, error.to_string());
        match error {
            FetchError::TooLong { .. } => failure.hint("allow more with --max-size"),
            FetchError::TimedOut { .. } => failure.hint("allow more with --max-time"),
            FetchError::Status { retry_after: Some(wait), .. } => {
                failure.hint(format!("the server asks to wait {} s", wait.as_secs()))
            }
            _ => failure,
        }
    }
}
