//! `cairn events`: the imported documents, their origin and time. It also works while another process writes the index.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter},
    path::Path,
};

use cairn_events::{
    Body, Document, DocumentHash, Provenance,
    file::{self, FileError, FileWriter},
};
use cairn_reader::{Assembler, Reader, View, last_seq_of};
use cairn_tables::events::{EventRow, Events};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    claims::{ClaimRow, ListedRow},
    contests::ShownContest,
    db::open,
    operator::{now, operator},
    submit::submit,
};
use crate::{
    cli::{EventsCommand, EventsExport, EventsImport, EventsList, EventsShow, EventsWaiting, EventsWithdraw},
    exit::{Exit, Failure},
    out::{harmless, print, table, thousands, time},
    with_state::with_state,
};

pub(crate) fn events(command: &EventsCommand) -> Result<Exit, Failure> {
    match command {
        EventsCommand::List(args) => list(args),
        EventsCommand::Show(args) => show(args),
        EventsCommand::Withdraw(args) => withdraw(args),
        EventsCommand::Export(args) => export(args),
        EventsCommand::Import(args) => import(args),
        EventsCommand::Waiting(args) => waiting(args),
    }
}

/// A document of the ledger, as `--json` prints it.
#[derive(Serialize)]
struct ShownDocument {
    seq: u64,
    kind: &'static str,
    source: String,
    licence: String,
    origin: String,
    retrieved_at: String,
    received_at: String,
    rows: u32,
    repeated_rows: u32,
    document: String,
    /// Sequence number of the withdrawal; null if the document is not withdrawn.
    withdrawn_by: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdraws: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

fn listed(view: &View<'_>, seq: u64, row: &EventRow) -> Result<Option<ShownDocument>, Failure> {
    let (kind, provenance, received_at, rows, repeated_rows) = match row {
        EventRow::Quotes { .. } | EventRow::Claims { .. } | EventRow::Listing { .. } => return Ok(None),
        EventRow::Document { provenance, received_at, rows, repeated, .. } => {
            // The first row of the document shows its kind.
            let kind = match view.ledger().event(seq + 1)? {
                Some((_, EventRow::Claims { .. })) => "claims",
                Some((_, EventRow::Listing { rows, .. })) => rows.kind(),
                _ => "quotes",
            };
            (kind, provenance, *received_at, *rows, *repeated)
        }
        EventRow::Withdrawal { provenance, received_at, .. } => ("withdrawal", provenance, *received_at, 0, 0),
        EventRow::Contest { provenance, received_at, .. } => ("contest", provenance, *received_at, 0, 0),
    };
    let (withdraws, reason) = match row {
        EventRow::Withdrawal { document, reason, .. } => (Some(document.to_string()), Some(reason.clone())),
        _ => (None, None),
    };
    let state = view.ledger().document(&provenance.document)?.unwrap_or_default();
    Ok(Some(ShownDocument {
        seq,
        kind,
        source: provenance.source.to_string(),
        licence: provenance.licence.to_string(),
        origin: provenance.origin.clone(),
        retrieved_at: time(provenance.retrieved_at.into()),
        received_at: time(received_at.into()),
        rows,
        repeated_rows,
        document: provenance.document.to_string(),
        withdrawn_by: Some(state.withdrawn).filter(|seq| *seq != 0),
        withdraws,
        reason,
    }))
}

fn list(args: &EventsList) -> Result<Exit, Failure> {
    let reader = open(args.index.datadir()?)?;
    let view = reader.view()?;
    let (mut found, mut more) = (Vec::new(), false);
    for row in view.scan::<Events>(Some(&args.from))? {
        let (seq, row) = row?;
        let Some(listed) = listed(&view, seq, &row)? else { continue };
        let is_of = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|wanted| wanted == is);
        if !is_of(&args.source, &listed.source) || !is_of(&args.kind, listed.kind) {
            continue;
        }
        if found.len() == args.limit as usize {
            more = true;
            break;
        }
        found.push(listed);
    }
    if args.json {
        let lines: Result<Vec<String>, _> = found.iter().map(serde_json::to_string).collect();
        print(&lines.map_err(unprintable)?.iter().fold(String::new(), |text, line| text + line + "\n"))?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|of| {
            let kind = if of.withdrawn_by.is_some() { format!("{} (withdrawn)", of.kind) } else { of.kind.to_owned() };
            let rows = thousands(of.rows.into());
            let short = of.document.chars().take(16).collect();
            vec![of.seq.to_string(), kind, of.source.clone(), rows, of.received_at.clone(), short, harmless(&of.origin)]
        })
        .collect();
    print(&table(&[">seq", "kind", "source", ">rows", "received", "document", "origin"], &rows))?;
    if more {
        print(&format!("There are more than {}: see --limit and --from.\n", args.limit))?;
    }
    Ok(Exit::Done)
}

fn unprintable(error: serde_json::Error) -> Failure {
    Failure::new(Exit::Other, error.to_string())
}

/// A row of quotes, as `--json` prints it.
#[derive(Serialize)]
struct Row {
    seq: u64,
    document_seq: u64,
    base: String,
    quote: String,
    interval_secs: u32,
    closes_at: String,
    close: String,
    open: Option<String>,
    high: Option<String>,
    low: Option<String>,
    volume: Option<String>,
    /// True if the row repeats the source's previous value.
    repeats: bool,
}

/// A claim, as `--json` prints it.
#[derive(Serialize)]
struct ShownClaim {
    seq: u64,
    /// True if the row repeats the list's previous statement.
    repeats: bool,
    list_is_complete: bool,
    #[serde(flatten)]
    claim: ClaimRow,
}

/// A tag of a mining pool or a profile, as `--json` prints it.
#[derive(Serialize)]
struct ShownListed {
    seq: u64,
    /// True if the row repeats the list's previous statement.
    repeats: bool,
    #[serde(flatten)]
    row: ListedRow,
}

fn show(args: &EventsShow) -> Result<Exit, Failure> {
    let reader = open(args.index.datadir()?)?;
    let view = reader.view()?;
    let seq = match args.event.parse::<u64>() {
        Ok(seq) => seq,
        Err(_) => document_seq(&view, &args.event)?,
    };
    let none = || {
        let message = format!("there is no event {seq}; the newest is {}", view.tip().seq);
        Failure::new(Exit::Other, message).hint("`cairn events list` prints the events")
    };
    let (first, row) = view.ledger().event(seq)?.ok_or_else(none)?;
    let text = match &row {
        EventRow::Quotes { document, repeats, rows } => {
            let at = usize::try_from(seq - first).unwrap_or(usize::MAX);
            let (row, repeats) = rows.get(at).zip(repeats.get(at)).ok_or_else(none)?;
            let range = row.quote.range;
            json(&Row {
                seq,
                document_seq: *document,
                base: row.series.base.to_string(),
                quote: row.series.quote.to_string(),
                interval_secs: row.series.interval.seconds(),
                closes_at: time(row.closes_at.into()),
                close: row.quote.close.to_string(),
                open: range.map(|range| range.open.to_string()),
                high: range.map(|range| range.high.to_string()),
                low: range.map(|range| range.low.to_string()),
                volume: row.quote.volume.map(|volume| volume.to_string()),
                repeats: *repeats,
            })?
        }
        EventRow::Claims { document, list, repeats, claims } => {
            let at = usize::try_from(seq - first).unwrap_or(usize::MAX);
            let (claim, repeats) = claims.get(at).zip(repeats.get(at)).ok_or_else(none)?;
            json(&ShownClaim {
                seq,
                repeats: *repeats,
                list_is_complete: list.is_complete,
                claim: ClaimRow::of(*document, &list.name, claim, view.facts().network),
            })?
        }
        EventRow::Listing { document, list, repeats, rows } => {
            let at = usize::try_from(seq - first).unwrap_or(usize::MAX);
            let row = ListedRow::of(*document, list, rows, at).ok_or_else(none)?;
            json(&ShownListed { seq, repeats: *repeats.get(at).ok_or_else(none)?, row })?
        }
        EventRow::Contest { received_at, provenance, contest } => {
            json(&ShownContest::of(seq, (provenance, *received_at), contest))?
        }
        EventRow::Document { .. } | EventRow::Withdrawal { .. } => json(&listed(&view, first, &row)?)?,
    };
    print(&text)?;
    Ok(Exit::Done)
}

fn json<T: Serialize>(value: &T) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(value).map_err(unprintable)? + "\n")
}

fn hash_of(text: &str) -> Result<DocumentHash, Failure> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).map_err(|_| {
        Failure::usage(format!(
            "{text:?} is neither a sequence number nor the SHA-256 of a document (64 hexadecimal digits)"
        ))
    })?;
    Ok(DocumentHash(hash))
}

fn document_seq(view: &View<'_>, text: &str) -> Result<u64, Failure> {
    let state = view.ledger().document(&hash_of(text)?)?.unwrap_or_default();
    match state.seq {
        0 => Err(Failure::new(Exit::Other, format!("the ledger has no document {text}"))
            .hint("`cairn events list --json` prints whole hashes")),
        seq => Ok(seq),
    }
}

fn withdraw(args: &EventsWithdraw) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let document = hash_of(&args.document)?;
    if open(datadir)?.view()?.ledger().document(&document)?.unwrap_or_default().seq == 0 && !args.unseen {
        return Err(Failure::new(Exit::Other, format!("the ledger has no document {document}"))
            .hint("with --unseen it is withdrawn before it arrives"));
    }
    let retrieved_at = now();
    let mut hasher = Sha256::new();
    hasher.update(b"withdrawal");
    hasher.update(document.0);
    hasher.update(retrieved_at.to_be_bytes());
    hasher.update(args.reason.as_bytes());
    let provenance = Provenance {
        source: operator()?,
        licence: operator()?,
        origin: "cairn events withdraw".to_owned(),
        retrieved_at,
        document: DocumentHash(hasher.finalize().into()),
    };
    let body = Body::Withdrawal { document, reason: args.reason.clone() };
    let withdrawal = Document { provenance, received_at: None, body };
    withdrawal.check().map_err(|error| Failure::usage(error.to_string()))?;
    submit(datadir, &args.state, "cairn events withdraw", |add| Ok(add(&withdrawal)?))?.tell()
}

fn export(args: &EventsExport) -> Result<Exit, Failure> {
    let WrittenLedger { documents, events, hash } = write_events(&args.index.datadir()?.join("index"), &args.file)?;
    let (events, hash) = (thousands(events), hex::encode(hash));
    print(&format!("{documents} documents with {events} events; SHA-256 at the end of the file: {hash}\n"))?;
    Ok(Exit::Done)
}

/// Counts and hash of the written documents.
pub(super) struct WrittenLedger {
    documents: u64,
    events: u64,
    hash: [u8; 32],
}

pub(super) fn write_events(index: &Path, file: &Path) -> Result<WrittenLedger, Failure> {
    let reader = Reader::open(index)?;
    let view = reader.view()?;
    let failed = |error: io::Error| Failure::io(file)(error);
    let to = File::create_new(file).map_err(failed)?;
    let mut to = FileWriter::begin(BufWriter::new(to)).map_err(failed)?;
    let (mut assembler, mut documents, mut last) = (Assembler::default(), 0u64, 0);
    for row in view.scan::<Events>(None)? {
        let (seq, row) = row?;
        last = last_seq_of(seq, &row);
        if let Some(document) = assembler.push(seq, row) {
            to.add(&document).map_err(failed)?;
            documents += 1;
        }
    }
    if assembler.broken() > 0 || last != view.tip().seq {
        return Err(Failure::new(Exit::Index, "the ledger of events is damaged").hint("run `cairn repair`"));
    }
    let (to, hash) = to.finish().map_err(failed)?;
    to.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
    Ok(WrittenLedger { documents, events: last, hash })
}

fn import(args: &EventsImport) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let opened = || File::open(&args.file).map(BufReader::new).map_err(Failure::io(&args.file));
    let broken = |error: FileError| Failure::new(Exit::Other, format!("{}: {error}", args.file.display()));
    // The hash is at the end of the file: check it before any document is handed in.
    file::read(opened()?, |_| Ok::<(), FileError>(())).map_err(broken)?;
    submit(datadir, &args.state, "cairn events import", |add| {
        file::read(opened()?, |document| Ok::<(), SubmitError>(add(&document)?)).map_err(|error| match error {
            SubmitError::File(error) => broken(error),
            SubmitError::Failed(failure) => failure,
        })?;
        Ok(())
    })?
    .tell()
}

enum SubmitError {
    File(FileError),
    Failed(Failure),
}

impl From<FileError> for SubmitError {
    fn from(error: FileError) -> Self {
        SubmitError::File(error)
    }
}

impl From<io::Error> for SubmitError {
    fn from(error: io::Error) -> Self {
        SubmitError::Failed(error.into())
    }
}

fn waiting(args: &EventsWaiting) -> Result<Exit, Failure> {
    let url = args.state.url(&args.index)?;
    let found: Vec<_> =
        with_state(&url, async |state| Ok::<_, Failure>(state.waiting(args.limit.saturating_add(1)).await?))?;
    let rows: Vec<Vec<String>> = found
        .iter()
        .take(args.limit as usize)
        .map(|of| {
            let (documents, bytes) = (thousands(of.documents), thousands(of.bytes));
            vec![time(of.queued_at), harmless(&of.network), documents, bytes, harmless(&of.origin), harmless(&of.id)]
        })
        .collect();
    print(&table(&["handed in", "network", ">documents", ">bytes", "by", "entry"], &rows))?;
    if found.len() > rows.len() {
        print(&format!("There are more than {}: see --limit.\n", args.limit))?;
    }
    Ok(Exit::Done)
}
