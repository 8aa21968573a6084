//! Takes a document of claims in, and takes it back.

use bitcoin::hashes::{Hash, sha256};
use cairn_events::{Claim, ClaimList, Provenance};
use cairn_reader::ListClaims;
use cairn_tables::{
    claims::{ClaimKey, ClaimLists, Claims, ListDocument, ListKey, ListSize, ListVersion},
    events::{CLAIMS_PER_ROW, EventRow, Events},
};
use cairn_writer::Batch;

use super::{
    Applied, LedgerError,
    apply::{Taking, count, prefix},
};

/// The list of a document.
fn list_key(provenance: &Provenance, list: &ClaimList) -> ListKey {
    ListKey { source: provenance.source.clone(), list: list.name.clone() }
}

/// The document among those of its list.
pub(super) fn version(provenance: &Provenance) -> ListVersion {
    ListVersion { retrieved_at: provenance.retrieved_at, document: prefix(&provenance.document) }
}

/// The key of a claim.
pub(crate) fn claim_key(provenance: &Provenance, list: &ClaimList, claim: &Claim) -> ClaimKey {
    let script = sha256::Hash::hash(&claim.script).to_byte_array();
    ClaimKey { script, list: list_key(provenance, list), version: version(provenance), row: claim.row }
}

/// The key of a document among those of its list.
pub(crate) fn list_document(provenance: &Provenance, list: &ClaimList) -> ListDocument {
    ListDocument { list: list_key(provenance, list), is_complete: list.is_complete, version: version(provenance) }
}

/// What a document of a list has, after some more claims.
pub(crate) fn list_size(before: Option<ListSize>, claims: &[Claim]) -> ListSize {
    let newest = claims.iter().filter_map(|claim| claim.asserted_at).max();
    ListSize {
        claims: before.map_or(0, |before| before.claims).saturating_add(count(claims.len())),
        newest: newest.max(before.and_then(|before| before.newest)),
    }
}

/// True if a list says the same of the script already, in whatever row.
fn repeats(said: Option<&ListClaims>, claim: &Claim) -> bool {
    let said = said.filter(|of| of.ended_at.is_none());
    said.is_some_and(|of| of.claims.iter().any(|before| Claim { row: claim.row, ..before.clone() } == *claim))
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
        let keys: Vec<ClaimKey> = claims.iter().map(|claim| claim_key(provenance, list, claim)).collect();
        // In the order of the table: neighbours are read from the same block.
        let mut order: Vec<usize> = (0..claims.len()).collect();
        order.sort_unstable_by_key(|at| &keys[*at].script);
        let mut repeat = vec![false; claims.len()];
        // What the list says of one script, for as long as the claims are about it.
        let mut said: Option<([u8; 32], Option<ListClaims>)> = None;
        for at in order {
            let script = keys[at].script;
            if said.as_ref().is_none_or(|(of, _)| *of != script) {
                said = Some((script, self.view.claims_of_list(&script, &own)?));
            }
            repeat[at] = repeats(said.as_ref().and_then(|(_, said)| said.as_ref()), &claims[at]);
            if state.withdrawn == 0 {
                batch.put_row::<Claims>(&keys[at], &claims[at]);
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

/// Removes what a document says, row of the ledger after row.
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
        claims.iter().for_each(|claim| batch.delete_row::<Claims>(&claim_key(provenance, list, claim)));
    }
}
