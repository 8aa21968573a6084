//! `cairn prices import`: prices and exchange rates from a file or a URL.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
    time::UNIX_EPOCH,
};

use cairn_events::{Body, Document, DocumentHash, MAX_ROWS, Provenance, QuoteRow};
use cairn_fetch::{Answer, Client, FetchError, Fetched, Kept, Limits, Url, Validators, keep, kept, unpack};
use cairn_inputs::{Options, Report, read_quotes, sorted};
use sha2::{Digest, Sha256};

use super::{
    db::open,
    events::{now, submit},
    keys::time,
};
use crate::{
    cli::{PricesCommand, PricesImport},
    exit::{Exit, Failure},
    out::{print, thousands},
    signals::Signals,
};

/// Runs a subcommand.
pub(crate) fn prices(command: &PricesCommand) -> Result<Exit, Failure> {
    match command {
        PricesCommand::Import(args) => match url_of(&args.file)? {
            Some(url) => import_url(args, &url),
            None => import_file(args),
        },
    }
}

/// The URL, if the argument is one.
fn url_of(text: &Path) -> Result<Option<Url>, Failure> {
    let Some(text) = text.to_str().filter(|text| text.contains("://")) else { return Ok(None) };
    // The message does not repeat the text: it may have credentials in it.
    text.parse().map(Some).map_err(|error: cairn_fetch::UrlError| Failure::usage(error.to_string()))
}

fn import_file(args: &PricesImport) -> Result<Exit, Failure> {
    let path = &args.file;
    let file = File::open(path).map_err(Failure::io(path))?;
    let modified = file.metadata().and_then(|of| of.modified()).map_err(Failure::io(path))?;
    let modified = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let retrieved_at = u32::try_from(modified).unwrap_or(u32::MAX).min(now());
    let (_, exit) = import(args, BufReader::new(file), &path.display().to_string(), retrieved_at)?;
    Ok(exit)
}

fn import_url(args: &PricesImport, url: &Url) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let signals = Signals::take_over()?;
    let client = Client::new(signals.cancel_token(), args.addresses.allow_private_addresses);
    let limits = Limits { received: args.max_size, unpacked: args.max_unpacked, time: args.max_time };
    // The server is asked for changes only if the ledger still has what came last time.
    let last = if args.dry_run { None } else { kept(datadir, url).filter(|kept| has(datadir, kept)) };
    let validators = last.as_ref().map_or_else(Validators::default, |last| last.validators.clone());
    let answer = match client.fetch(url, limits, &validators)? {
        Fetched::Document(answer) => answer,
        Fetched::Unchanged => {
            let since = last.map(|last| time(last.fetched_at.into())).unwrap_or_default();
            print(&format!("{url} has not changed since it was fetched at {since}: nothing has changed\n"))?;
            return Ok(Exit::Done);
        }
    };
    let fetched_at = now();
    let Answer { body, validators, .. } = *answer;
    print(&format!("{} bytes received from {url}\n", thousands(body.received())))?;
    let (document, exit) = import(args, body.reader(), &url.shown(), fetched_at)?;
    if !args.dry_run && !validators.is_empty() {
        // Without it the next fetch brings the whole file, and that is all.
        if let Err(error) = keep(datadir, url, &Kept { validators, document, fetched_at }) {
            tracing::warn!(%error, "what the server told of the file cannot be kept");
        }
    }
    Ok(exit)
}

/// True if the ledger has the document of the last fetch.
fn has(datadir: &Path, kept: &Kept) -> bool {
    let found = || -> Result<bool, Failure> {
        let reader = open(datadir)?;
        let state = reader.view()?.document(&kept.document)?;
        Ok(state.is_some_and(|state| state.seq != 0))
    };
    found().unwrap_or(false)
}

/// Hashes what is read.
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

/// Reads prices and hands them in; the hash of the first document. What is packed counts as what it unpacks to.
fn import(
    args: &PricesImport,
    from: impl Read,
    origin: &str,
    retrieved_at: u32,
) -> Result<(DocumentHash, Exit), Failure> {
    let datadir = args.index.datadir()?;
    let wrong = |error: &dyn std::fmt::Display| Failure::new(Exit::Other, format!("{origin}: {error}"));
    let options = Options {
        pair: args.pair,
        interval: args.interval,
        zone: args.zone.clone(),
        layout: args.layout,
        map: args.map.clone(),
        source: Some(args.source.clone()),
        ..Options::new(now())
    };
    let unpacked = unpack(from, args.max_size, args.max_unpacked).map_err(|error| wrong(&error))?;
    let mut input = Hashed { from: unpacked, hash: Sha256::new() };
    let mut rows: Vec<QuoteRow> = Vec::new();
    let report = read_quotes(&mut input, &options, &mut |row| rows.push(row)).map_err(|error| wrong(&error))?;
    io::copy(&mut input, &mut io::sink()).map_err(|error| wrong(&error))?;
    let hash = DocumentHash(input.hash.finalize().into());
    print(&told(&report))?;
    let rows = sorted(rows);
    if rows.is_empty() {
        return Err(wrong(&"no row can be taken"));
    }
    if args.dry_run {
        print("nothing is written (--dry-run)\n")?;
        return Ok((hash, Exit::Done));
    }
    let (source, licence) = (args.source.clone(), args.licence.clone());
    let whole = Provenance { source, licence, origin: origin.to_owned(), retrieved_at, document: hash };
    let parts = rows.chunks(MAX_ROWS);
    let count = parts.len();
    let first = part_of(&whole, 0, count).document;
    let submitted = submit(datadir, |add| {
        for (part, rows) in (0u32..).zip(parts) {
            let provenance = part_of(&whole, part, count);
            let document = Document { provenance, received_at: None, body: Body::Quotes(rows.to_vec()) };
            document.check().map_err(|error| wrong(&error))?;
            add(&document)?;
        }
        Ok(())
    })?;
    Ok((first, submitted.tell()?))
}
/// Where a part of a long file comes from. The hash of a part is that of the file and its number.
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

/// What was read, in words.
fn told(report: &Report) -> String {
    let mut text = format!(
        "layout {}: {} rows read, {} taken, {} left out\n",
        report.layout,
        thousands(report.rows),
        thousands(report.taken),
        thousands(report.refused)
    );
    for of in &report.series {
        let pair = format!("{}/{}", of.series.base, of.series.quote);
        let (first, last) = (time(of.first.into()), time(of.last.into()));
        text += &format!("  {pair}, {} rows, from {first} to {last}", thousands(of.taken));
        if let Some(longest) = &of.gaps.longest {
            let (gaps, missing) = (thousands(of.gaps.count), thousands(of.gaps.missing));
            let (after, until) = (time(longest.after.into()), time(longest.until.into()));
            text += &format!("; {gaps} gaps, {missing} candles missing, the longest from {after} to {until}");
        }
        text.push('\n');
    }
    for (code, count) in &report.by_code {
        text += &format!("  {}: {}\n", code.as_str(), thousands(*count));
    }
    for row in &report.bad_rows {
        text += &format!("  {row}\n");
    }
    if report.is_other_source {
        text += "  warning: the layout is another publisher's than --source says\n";
    }
    text
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
