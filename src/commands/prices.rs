//! `cairn prices import`: prices and exchange rates from a file.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    time::UNIX_EPOCH,
};

use cairn_events::{Body, Document, DocumentHash, MAX_ROWS, Provenance, QuoteRow};
use cairn_inputs::{Options, Report, read_quotes, sorted};
use sha2::{Digest, Sha256};

use super::{
    events::{now, submit},
    keys::time,
};
use crate::{
    cli::{PricesCommand, PricesImport},
    exit::{Exit, Failure},
    out::{print, thousands},
};

/// Runs a subcommand.
pub(crate) fn prices(command: &PricesCommand) -> Result<Exit, Failure> {
    match command {
        PricesCommand::Import(args) => import(args),
    }
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

fn import(args: &PricesImport) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let path = &args.file;
    let file = File::open(path).map_err(Failure::io(path))?;
    let modified = file.metadata().and_then(|of| of.modified()).map_err(Failure::io(path))?;
    let modified = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = now();
    let options = Options {
        pair: args.pair,
        interval: args.interval,
        zone: args.zone.clone(),
        layout: args.layout,
        map: args.map.clone(),
        source: Some(args.source.clone()),
        ..Options::new(now)
    };
    let mut input = Hashed { from: BufReader::new(file), hash: Sha256::new() };
    let mut rows: Vec<QuoteRow> = Vec::new();
    let report = read_quotes(&mut input, &options, &mut |row| rows.push(row))
        .map_err(|error| Failure::new(Exit::Other, format!("{}: {error}", path.display())))?;
    io::copy(&mut input, &mut io::sink()).map_err(Failure::io(path))?;
    let hash: [u8; 32] = input.hash.finalize().into();
    print(&told(&report))?;
    let rows = sorted(rows);
    if rows.is_empty() {
        return Err(Failure::new(Exit::Other, format!("{}: no row can be taken", path.display())));
    }
    if args.dry_run {
        print("nothing is written (--dry-run)\n")?;
        return Ok(Exit::Done);
    }
    let provenance = Provenance {
        source: args.source.clone(),
        licence: args.licence.clone(),
        origin: path.display().to_string(),
        retrieved_at: u32::try_from(modified).unwrap_or(u32::MAX).min(now),
        document: DocumentHash(hash),
    };
    submit(datadir, |add| {
        let parts = rows.chunks(MAX_ROWS);
        let count = parts.len();
        for (part, rows) in (0u32..).zip(parts) {
            let provenance = part_of(&provenance, part, count);
            let document = Document { provenance, received_at: None, body: Body::Quotes(rows.to_vec()) };
            document.check().map_err(|error| Failure::new(Exit::Other, format!("{}: {error}", path.display())))?;
            add(&document)?;
        }
        Ok(())
    })?
    .tell()
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
