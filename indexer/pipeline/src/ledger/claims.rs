//! Takes a document of claims in, and takes it back.

use std::collections::HashSet;

use bitcoin::hashes::{Hash, sha256};
use cairn_events::{
    Claim, ClaimList, Provenance,
    claim::{Shared, put_claim},
};
use cairn_reader::{ClaimWalk, ReadError};
use cairn_tables::{
    claims::{ClaimKey, ClaimLists, Claims, ListDocument, ListKey, ListSize, ListVersion},
    events::{CLAIMS_PER_ROW, EventRow, Events},
    labels::{LabelDue, ScriptHash},
};
use cairn_writer::Batch;

use super::{
    Applied, LedgerError,
    taking::{Taking, count, prefix},
};

pub(super) fn list_key(provenance: &Provenance, list: &ClaimList) -> ListKey {
    ListKey { source: provenance.source.clone(), list: list.name.clone() }
}

/// The document among those of its list.
pub(super) fn version(provenance: &Provenance) -> ListVersion {
    ListVersion { retrieved_at: provenance.retrieved_at, document: prefix(&provenance.document) }
}

pub(crate) fn claim_key(provenance: &Provenance, list: &ClaimList, claim: &Claim) -> ClaimKey {
    let script = sha256::Hash::hash(&claim.script).to_byte_array();
    ClaimKey { script, list: list_key(provenance, list), version: version(provenance), row: claim.row }
}

/// The key of a document among those of its list.
pub(crate) fn list_document(provenance: &Provenance, list: &ClaimList) -> ListDocument {
    ListDocument { list: list_key(provenance, list), is_complete: list.is_complete, version: version(provenance) }
}

/// Size of a document of a list, after some more claims.
pub(crate) fn list_size(before: Option<ListSize>, claims: &[Claim]) -> ListSize {
    let newest = claims.iter().filter_map(|claim| claim.asserted_at).max();
    let said = claims.iter().filter(|claim| !claim.is_redacted).count();
    ListSize {
        claims: before.map_or(0, |before| before.claims).saturating_add(count(said)),
        newest: newest.max(before.and_then(|before| before.newest)),
    }
}

/// A claim, in whatever row.
fn without_row(claim: &Claim) -> [u8; 32] {
    let mut bytes = Vec::new();
    put_claim(&mut bytes, &mut Shared::default(), &Claim { row: 0, ..claim.clone() });
    sha256::Hash::hash(&bytes).to_byte_array()
}

/// Claims that a list already makes about a script, without their rows. A document may make any number of claims about
/// one script.
fn said(claims: &mut ClaimWalk<'_>, script: &[u8; 32], list: &ListKey) -> Result<HashSet<[u8; 32]>, ReadError> {
    if !claims.has(script)? {
        return Ok(HashSet::new());
    }
    let said = claims.of_list(script, list, usize::MAX)?.filter(|of| of.ended_at.is_none());
    Ok(said.iter().flat_map(|of| &of.claims).map(without_row).collect())
}

impl Taking<'_> {
    /// Writes the claims; returns the sequence number of the last one.
    pub(super) fn write_claims(
        &self,
        batch: &mut Batch<'_>,
        list: &ClaimList,
        claims: &[Claim],
    ) -> Result<(Applied, u64), LedgerError> {
        let provenance = &self.document.provenance;
        let state = self.state(&self.hash())?;
        let own = list_key(provenance, list);
        let claims = &self.without_redacted(&own, claims)?[..];
        let scripts: Vec<[u8; 32]> =
            claims.iter().map(|claim| sha256::Hash::hash(&claim.script).to_byte_array()).collect();
        let mut key = ClaimKey { script: [0; 32], list: own.clone(), version: version(provenance), row: 0 };
        // In the order of the table: neighbours are read from the same block.
        let mut order: Vec<usize> = (0..claims.len()).filter(|at| !claims[*at].is_redacted).collect();
        order.sort_unstable_by_key(|at| &scripts[*at]);
        let mut repeat = vec![false; claims.len()];
        // The list's claims about one script, for as long as the claims are about it.
        let mut before: Option<([u8; 32], HashSet<[u8; 32]>)> = None;
        let mut walk = self.view.claims().walk()?;
        for at in order {
            let script = scripts[at];
            if before.as_ref().is_none_or(|(of, _)| *of != script) {
                before = Some((script, said(&mut walk, &script, &own)?));
                if state.withdrawn == 0 {
                    batch.put_row::<LabelDue>(&ScriptHash(script), &());
                }
            }
            // Mostly nothing: then no hash is computed.
            let said = before.as_ref().map(|(_, said)| said).filter(|said| !said.is_empty());
            repeat[at] = said.is_some_and(|said| said.contains(&without_row(&claims[at])));
            if state.withdrawn == 0 {
                (key.script, key.row) = (script, claims[at].row);
                batch.put_row::<Claims>(&key, &claims[at]);
            }
        }
        if state.withdrawn == 0 {
            batch.put_row::<ClaimLists>(&list_document(provenance, list), &list_size(None, claims));
        }
        let taken = self.note(batch, &repeat, state);
        let mut seq = self.seq + 1;
        for (claims, repeats) in claims.chunks(CLAIMS_PER_ROW).zip(repeat.chunks(CLAIMS_PER_ROW)) {
            let row = EventRow::Claims {
                document: self.seq,
                list: list.clone(),
                repeats: repeats.to_vec(),
                claims: claims.to_vec(),
            };
            batch.put_row::<Events>(&seq, &row);
            seq += claims.len() as u64;
        }
        Ok((taken, seq - 1))
    }
}

/// Removes the claims of a document, row of the ledger after row.
#[derive(Default)]
pub(super) struct ClaimsTakenBack {
    is_listed: bool,
}

impl ClaimsTakenBack {
    pub(super) fn take_back(
        &mut self,
        batch: &mut Batch<'_>,
        provenance: &Provenance,
        list: &ClaimList,
        claims: &[Claim],
    ) {
        if !self.is_listed {
            batch.delete_row::<ClaimLists>(&list_document(provenance, list));
            self.is_listed = true;
        }
        let said = claims.iter().filter(|claim| !claim.is_redacted);
        for key in said.map(|claim| claim_key(provenance, list, claim)) {
            batch.put_row::<LabelDue>(&ScriptHash(key.script), &());
            batch.delete_row::<Claims>(&key);
        }
    }
}
