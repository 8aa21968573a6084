//! Which documents wait in the inbox: a sealed file for each file of the inbox, in the folder of the archive. So a file
//! that disappears before a writer has taken it is reported, with its documents.
//!
//! ```text
//! ledger/<stem of the file in the inbox>.waits    a line for each document, and the SHA-256 of these lines
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use cairn_events::{Document, DocumentHash};

use super::archive::{Archive, ListedDocument};

/// Name of the inbox in the data folder.
pub const INBOX: &str = "inbox";
/// How names of files end that wait in it.
pub(super) const WAITING: &str = "events";
/// How names of files end that are being written.
pub(super) const PART: &str = "part";

/// How names of these files end.
const WAITS: &str = "waits";

/// The line that is noted for one document.
pub(super) fn line(document: &Document) -> String {
    let ListedDocument { hash, what, .. } = ListedDocument::new(0, document);
    format!("{hash} {what}\n")
}

/// Notes the documents of a file of the inbox, a [`line`] for each, before the file takes its name.
pub(super) fn note(datadir: &Path, stem: &str, lines: &str) -> io::Result<()> {
    match Archive::new(datadir).seal(&format!("{stem}.{WAITS}"), lines) {
        // A server may be allowed to write into the inbox alone.
        Err(error) if [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem].contains(&error.kind()) => {
            tracing::warn!(%error, "what waits in the inbox cannot be noted beside it");
            Ok(())
        }
        noted => noted,
    }
}

/// Notes that a file of the inbox is gone: its documents are in the index, it was refused, or its writer took it back.
pub(crate) fn end(datadir: &Path, file: &Path) -> io::Result<()> {
    let Some(stem) = file.file_stem().and_then(|stem| stem.to_str()) else { return Ok(()) };
    match fs::remove_file(Archive::new(datadir).folder().join(format!("{stem}.{WAITS}"))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Files of the inbox that were noted and are gone: the path of the note, and its documents that the index lacks, in
/// words.
fn gone(datadir: &Path, is_known: &dyn Fn(&DocumentHash) -> bool) -> io::Result<Vec<(PathBuf, Vec<String>)>> {
    let (archive, inbox) = (Archive::new(datadir), datadir.join(INBOX));
    let entries = match fs::read_dir(archive.folder()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if path.extension().is_none_or(|e| e != WAITS) {
            continue;
        }
        // It is still being written under one of these names, or waits. In this order: it takes its name in between.
        let begun = stem.rsplit_once('-').map_or(stem, |(begun, _)| begun);
        let names = [format!("{begun}.{PART}"), format!("{stem}.{PART}"), format!("{stem}.{WAITING}")];
        if names.iter().any(|name| inbox.join(name).exists()) {
            continue;
        }
        let file = inbox.join(&names[2]);
        let lacks = match archive.sealed(&format!("{stem}.{WAITS}"))? {
            // A command has taken it back meanwhile, or a writer has taken it.
            None => continue,
            Some(None) => vec![format!("what waited in {}", file.display())],
            Some(Some(text)) => {
                let lines = text.lines().filter_map(|line| line.split_once(' '));
                let lacking = lines.filter(|(hash, _)| !hash.parse().is_ok_and(|hash| is_known(&hash)));
                lacking.map(|(hash, what)| format!("document {hash} ({what}, waited in {})", file.display())).collect()
            }
        };
        found.push((path, lacks));
    }
    Ok(found)
}

/// Documents that waited in files of the inbox that are gone, and that the index lacks, in words.
pub(crate) fn missing(datadir: &Path, is_known: impl Fn(&DocumentHash) -> bool) -> io::Result<Vec<String>> {
    Ok(gone(datadir, &is_known)?.into_iter().flat_map(|(_, lacks)| lacks).collect())
}

/// Forgets files that are gone if the index has all of their documents, imported once more perhaps; with `all`, those
/// whose documents are missing as well.
pub(crate) fn forget(datadir: &Path, is_known: impl Fn(&DocumentHash) -> bool, all: bool) -> io::Result<()> {
    let gone = gone(datadir, &is_known)?.into_iter().filter(|(_, lacks)| all || lacks.is_empty());
    gone.map(|(path, _)| path).try_for_each(fs::remove_file)
}
