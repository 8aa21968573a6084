//! Compares the archive of the ledger with the index.

use std::{io, path::Path};

use cairn_reader::{ReadError, View};

use super::{Audit, Check, Damage, Finding, Repair};
use crate::{
    PipelineError,
    ledger::{Archive, List, documents, indexed, missing_of_inbox, read_archived},
};

/// Name of the check, and of the place of its damages.
const NAME: &str = "the archive of the ledger has every document";
const PLACE: &str = "archive of the ledger";

/// Reads the archive of the ledger in `datadir`, and adds what is wrong with it to `audit`. An index without one gets
/// it from the next command that writes.
pub fn audit_archive(datadir: &Path, view: &View<'_>, audit: &mut Audit) -> Result<(), PipelineError> {
    let archive = Archive::new(datadir);
    let failed = |error: io::Error| PipelineError::io(archive.folder())(error);
    let known = match indexed(view) {
        // The audit of the tables has reported it.
        Err(error) if error.is_damage() => {
            let detail = "not compared: the ledger in the index is damaged".to_owned();
            audit.checks.push(Check { name: NAME, ok: true, detail });
            return Ok(());
        }
        known => known?,
    };
    let files = archive.files().map_err(failed)?;
    let list = archive.list().map_err(failed)?;
    let lost = missing_of_inbox(datadir, |hash| known.contains_key(hash)).map_err(failed)?;
    if matches!(list, List::Absent) && files.is_empty() && lost.is_empty() {
        let detail = "none yet: the next command that writes the index makes it".to_owned();
        audit.checks.push(Check { name: NAME, ok: true, detail });
        return Ok(());
    }
    let mut finding = Finding::new(NAME);
    lost.into_iter().for_each(|what| finding.expect(false, || format!("{what} is gone")));
    // A text that a redaction has blanked in the index must not come back from an older file.
    let mut differ = Vec::new();
    let compared = documents::<ReadError>(view, 0, |_, document| {
        let hash = document.provenance.document;
        if let Some((_, path)) = files.get(&hash)
            && read_archived(path, &hash).is_ok_and(|archived| archived != document)
        {
            differ.push(path);
        }
        Ok(true)
    });
    match compared {
        // Damage of the ledger in the index is found where it is read.
        Err(error) if !error.is_damage() => return Err(error.into()),
        _ => {}
    }
    differ.iter().for_each(|path| finding.expect(false, || format!("{} is not as in the index", path.display())));
    for (hash, (seq, path)) in &files {
        let of_index = known.get(hash);
        finding.expect(of_index == Some(seq), || match of_index {
            Some(other) => format!("document {hash} is event {other} in the index, and {seq} in the archive"),
            None => format!("the index lacks document {hash} (event {seq})"),
        });
        if let Err(error) = read_archived(path, hash) {
            finding.expect(false, || format!("{}: {error}", path.display()));
        }
    }
    for (hash, seq) in &known {
        finding.expect(files.contains_key(hash), || format!("document {hash} (event {seq}) has no file"));
    }
    match list {
        List::Whole(listed) => {
            for of in listed {
                let there = known.contains_key(&of.hash) || files.contains_key(&of.hash);
                finding.expect(there, || format!("{of} is nowhere"));
            }
        }
        List::Absent | List::Damaged => {
            finding.expect(false, || "the list of documents is missing or damaged".to_owned())
        }
    }
    let check = finding.into_check(format!("{} documents", files.len()));
    if !check.ok {
        let what = check.detail.clone();
        audit.damages.push(Damage { place: PLACE.to_owned(), height: None, what, repair: Repair::Archive });
        audit.damage_count += 1;
    }
    audit.checks.push(check);
    Ok(())
}
