//! Blanks statements of a list about a script: in the ledger, in the tables that follow from it, and in files.

use std::{borrow::Cow, time::Duration};

use bitcoin::hashes::{Hash, sha256};
use cairn_events::{Claim, Provenance};
use cairn_tables::{
    TableInfo,
    claims::{ClaimLists, Claims, ListDocument, ListKey, ListSize},
    contests::{ContestKey, Contests},
    events::{EventRow, Events},
};
use cairn_writer::{Batch, Writer};

use super::{
    LedgerError,
    claims::{claim_key, list_document, list_key, list_size},
    taking::Taking,
};
use crate::labels::tables;

impl Taking<'_> {
    /// Returns the claims of a document, with redacted ones blanked.
    pub(super) fn without_redacted<'c>(
        &self,
        list: &ListKey,
        claims: &'c [Claim],
    ) -> Result<Cow<'c, [Claim]>, LedgerError> {
        // Hardly any index has one: then no script is hashed.
        if self.view.scan::<Contests>(None)?.next().transpose()?.is_none() {
            return Ok(claims.into());
        }
        let mut all = claims.to_vec();
        let mut redactable: Vec<([u8; 32], &mut Claim)> = Vec::new();
        for claim in all.iter_mut().filter(|claim| claim.is_redactable()) {
            redactable.push((sha256::Hash::hash(&claim.script).to_byte_array(), claim));
        }
        // In the order of the table: then hardly any is sought.
        redactable.sort_unstable_by_key(|(script, _)| *script);
        let mut walk = self.view.claims().walk()?;
        for of_script in redactable.chunk_by_mut(|(a, _), (b, _)| a == b) {
            let Some((script, _)) = of_script.first() else { continue };
            let redacted = walk.redacted(script, list)?;
            for (_, claim) in of_script.iter_mut().filter(|_| !redacted.is_empty()) {
                if redacted.contains(&claim.statement()) {
                    **claim = claim.redacted();
                }
            }
        }
        Ok(all.into())
    }

    /// Blanks a statement wherever the list says it, in withdrawn documents as well. Reads the whole ledger.
    pub(super) fn redact(&self, batch: &mut Batch<'_>, of: &ContestKey) -> Result<(), LedgerError> {
        let mut open: Option<Listing> = None;
        for row in self.view.scan::<Events>(None)? {
            match row? {
                (_, EventRow::Document { provenance, .. }) => {
                    self.close(batch, open.take())?;
                    open = Some(Listing { provenance, of: None, is_changed: false });
                }
                (seq, EventRow::Claims { document, list, repeats, mut claims }) => {
                    let Some(listing) = open.as_mut().filter(|open| list_key(&open.provenance, &list) == of.list)
                    else {
                        continue;
                    };
                    let mut is_changed = false;
                    for claim in claims.iter_mut().filter(|claim| claim.is_redactable()) {
                        if claim.statement() == of.statement {
                            batch.delete_row::<Claims>(&claim_key(&listing.provenance, &list, claim));
                            *claim = claim.redacted();
                            is_changed = true;
                        }
                    }
                    let size = list_size(listing.of.as_ref().map(|(_, size)| *size), &claims);
                    listing.of = Some((list_document(&listing.provenance, &list), size));
                    listing.is_changed |= is_changed;
                    if is_changed {
                        batch.put_row::<Events>(&seq, &EventRow::Claims { document, list, repeats, claims });
                    }
                }
                _ => {}
            }
        }
        self.close(batch, open)
    }

    /// Writes the size that a document still has.
    fn close(&self, batch: &mut Batch<'_>, listing: Option<Listing>) -> Result<(), LedgerError> {
        let Some(Listing { provenance, of: Some((key, size)), is_changed: true }) = listing else { return Ok(()) };
        if self.state(&provenance.document)?.withdrawn == 0 {
            batch.put_row::<ClaimLists>(&key, &size);
        }
        Ok(())
    }
}

/// A document of claims whose rows are being read.
struct Listing {
    provenance: Provenance,
    /// Its size up to here; `None` if it is of another list.
    of: Option<(ListDocument, ListSize)>,
    is_changed: bool,
}

/// How long the writer waits for reads that began before. Blocks wait, too.
const READS_END: Duration = Duration::from_secs(2);

/// Rewrites all tables that may have blanked text: until then, and as long as a read in progress may see it, a replaced
/// row is still in files.
pub(super) fn merge(writer: &Writer) -> Result<(), LedgerError> {
    if !writer.wait_for_reads(READS_END)? {
        return Err(LedgerError::StillRead);
    }
    [TableInfo::of::<Events>(), TableInfo::of::<Claims>()].iter().try_for_each(|table| writer.merge(table))?;
    Ok(tables().try_for_each(|table| writer.merge(table))?)
}
