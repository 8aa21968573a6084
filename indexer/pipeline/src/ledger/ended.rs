//! Claims that a complete document of a list ends: those of the list since the last complete document.

use cairn_events::{Body, ClaimList, DocumentHash, Provenance};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    claims::{ClaimLists, ListDocument, ListKey, ListVersion},
    events::{DocumentState, EventRow, Events},
    labels::ScriptHash,
};
use cairn_writer::Writer;

use super::{
    LedgerError,
    claims::{claim_key, list_key, version},
    taking::Taking,
};
use crate::labels::Marks;

const FIRST: ListVersion = ListVersion { retrieved_at: 0, document: [0; 8] };

impl Taking<'_> {
    /// Marks the scripts whose claims the document ends, or no longer ends. They may be more than a commit can have, so
    /// this comes before the document: marks alone do no harm.
    pub(super) fn mark_ended(&self, writer: &Writer) -> Result<(), LedgerError> {
        let ends = match &self.document.body {
            Body::Claims { list, .. } if self.state(&self.hash())?.withdrawn == 0 => {
                Some((self.document.provenance.clone(), list.clone()))
            }
            Body::Withdrawal { document, .. } => self.list_of(document)?,
            Body::Claims { .. } | Body::Quotes(_) | Body::Listing { .. } | Body::Contest(_) => None,
        };
        let Some((provenance, list)) = ends.filter(|(_, list)| list.is_complete) else { return Ok(()) };
        let mut marks = Marks::new(writer);
        for ended in ended_by(self.view, &list_key(&provenance, &list), version(&provenance))? {
            mark(self.view, &ended, &mut marks)?;
        }
        Ok(marks.finish()?)
    }

    /// Where a document of claims comes from that is still there, and its list; `None` for others.
    fn list_of(&self, document: &DocumentHash) -> Result<Option<(Provenance, ClaimList)>, ReadError> {
        let DocumentState { seq, withdrawn } = self.state(document)?;
        if seq == 0 || withdrawn != 0 {
            return Ok(None);
        }
        let Some((_, EventRow::Document { provenance, .. })) = self.view.ledger().event(seq)? else { return Ok(None) };
        match self.view.ledger().event(seq + 1)? {
            Some((_, EventRow::Claims { document, list, .. })) if document == seq => Ok(Some((provenance, list))),
            _ => Ok(None),
        }
    }
}

/// The documents of a list before a version, the complete ones or the others, from one on.
fn documents<'v>(
    view: &'v View<'_>,
    list: &'v ListKey,
    is_complete: bool,
    (from, before): (ListVersion, ListVersion),
) -> Result<impl Iterator<Item = Result<ListVersion, ReadError>> + 'v, ReadError> {
    let rows = view.scan::<ClaimLists>(Some(&ListDocument { list: list.clone(), is_complete, version: from }))?;
    let versions = rows.map(|row| Ok(row?.0));
    Ok(versions
        .take_while(move |of: &Result<ListDocument, ReadError>| {
            of.as_ref().map_or(true, |of| of.list == *list && of.is_complete == is_complete && of.version < before)
        })
        .map(|of| Ok(of?.version)))
}

/// The documents whose claims a complete one of this version ends where it does not repeat them: the complete one
/// before it, and those between the two. Earlier claims were ended before.
fn ended_by(view: &View<'_>, list: &ListKey, before: ListVersion) -> Result<Vec<ListVersion>, ReadError> {
    let complete = documents(view, list, true, (FIRST, before))?.last().transpose()?;
    let others = documents(view, list, false, (complete.unwrap_or(FIRST), before))?;
    complete.map(Ok).into_iter().chain(others).collect()
}

fn mark(view: &View<'_>, of: &ListVersion, marks: &mut Marks<'_>) -> Result<(), LedgerError> {
    let Some(document) = view.claims().document(of)? else { return Ok(()) };
    for row in view.scan::<Events>(Some(&(document.seq + 1)))? {
        match row? {
            (_, EventRow::Claims { document: seq, list, claims, .. }) if seq == document.seq => {
                for claim in claims.iter().filter(|claim| !claim.is_redacted) {
                    marks.add(ScriptHash(claim_key(&document.provenance, &list, claim).script))?;
                }
            }
            _ => break,
        }
    }
    Ok(())
}
