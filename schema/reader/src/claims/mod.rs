//! Claims of the lists of sources about a script.

use bitcoin::hashes::{Hash, sha256};
use cairn_events::{Claim, ContestAct, DocumentHash, Provenance};
use cairn_tables::{
    Table,
    claims::{ClaimLists, Claims, ListDocument, ListKey, ListSize, ListVersion},
    encode_key,
    events::{DocumentState, Documents, EventRow},
};

mod known;
mod walk;

pub use self::walk::ClaimWalk;
use crate::{ContestOf, ReadError, subjects::ClaimView};

/// Most lists from which the claims about a script are read.
pub const MAX_LISTS: usize = 64;
/// Most claims of one script that are read of a list.
pub const MAX_OF_A_LIST: usize = 64;
/// Most documents of a list that are looked through for the one that held at a time.
const MAX_VERSIONS: usize = 64;

const BEFORE_ALL: ListVersion = ListVersion { retrieved_at: 0, document: [0; 8] };
const AFTER_ALL: ListVersion = ListVersion { retrieved_at: u32::MAX, document: [0xff; 8] };

/// Claims of a list about a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListClaims {
    /// The list.
    pub list: ListKey,
    /// The newest of its documents that say something of the script, or the newest that did at the time that was asked
    /// for.
    pub version: ListVersion,
    /// Its claims, ascending by row.
    pub claims: Vec<Claim>,
    /// When the first such document was retrieved, in seconds since 1970.
    pub first_at: u32,
    /// Time of the first complete document of the list that no longer has the claim; `None` if there is none.
    pub ended_at: Option<u32>,
    /// Last contest of each of its statements, ascending by statement; empty if there is none.
    pub contests: Vec<ContestOf>,
}

impl ListClaims {
    /// Last contest of the statement of a claim; `None` if there is none.
    #[must_use]
    pub fn contest_of(&self, claim: &Claim) -> Option<&ContestOf> {
        // Hardly any script has one: without, no hash is computed.
        if self.contests.is_empty() {
            return None;
        }
        let statement = claim.statement();
        self.contests.iter().find(|of| of.statement == statement)
    }

    /// True if the statement of one of its claims is contested.
    #[must_use]
    pub fn is_contested(&self, claim: &Claim) -> bool {
        self.contest_of(claim).is_some_and(|of| of.state.act == ContestAct::Contests)
    }
}

/// Claims about a script.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ScriptClaims {
    /// Claims by list, ascending by source and name.
    pub lists: Vec<ListClaims>,
    /// True if more is said than is read: more than [`MAX_LISTS`] lists, [`MAX_OF_A_LIST`] claims of one, or
    /// [`crate::MAX_CONTESTS`] contests.
    pub is_cut: bool,
}

/// A document of claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimDocument {
    /// Its sequence number.
    pub seq: u64,
    /// When this index took it, in seconds since 1970.
    pub received_at: u32,
    /// Its provenance.
    pub provenance: Provenance,
}

impl ClaimView<'_> {
    /// Claims of all lists about a script; with a time, those asserted by then. If nothing is, the filter saves the
    /// read; else some four row reads a list, one for each claim, and one for what is contested.
    pub fn of_script(self, script: &[u8], at: Option<u32>) -> Result<ScriptClaims, ReadError> {
        self.of_hash(sha256::Hash::hash(script).as_byte_array(), at)
    }

    /// As [`ClaimView::of_script`], by the SHA-256 of the script.
    pub fn of_hash(self, script: &[u8; 32], at: Option<u32>) -> Result<ScriptClaims, ReadError> {
        if self.has_any_of(script)? { self.walk()?.of(script, at) } else { Ok(ScriptClaims::default()) }
    }

    /// True if there are claims of a script. If there are none, the filter saves the read.
    fn has_any_of(self, script: &[u8; 32]) -> Result<bool, ReadError> {
        self.view.has_prefix::<Claims>(&mut self.view.prefix_iterator::<Claims>()?, script)
    }

    /// Current claims of one list about a script, up to a limit, by the SHA-256 of the script. If nothing is said, the
    /// filter saves the read.
    pub fn of_list(self, script: &[u8; 32], list: &ListKey, most: usize) -> Result<Option<ListClaims>, ReadError> {
        if self.has_any_of(script)? { self.walk()?.of_list(script, list, most) } else { Ok(None) }
    }

    /// The document of a claim, by the first bytes of its hash; `None` if there is none. Three row reads.
    pub fn document(self, version: &ListVersion) -> Result<Option<ClaimDocument>, ReadError> {
        let Some((hash, state)) = self.document_beginning(&version.document)? else { return Ok(None) };
        match self.view.ledger().event(state.seq)? {
            Some((seq, EventRow::Document { received_at, provenance, .. })) => {
                Ok(Some(ClaimDocument { seq, received_at, provenance }))
            }
            _ => Err(ReadError::Lacks { table: "events", what: format!("document {hash}") }),
        }
    }

    /// The document of the ledger whose hash begins so. One row read.
    pub(crate) fn document_beginning(
        self,
        begin: &[u8; 8],
    ) -> Result<Option<(DocumentHash, DocumentState)>, ReadError> {
        let mut from = [0; 32];
        from[..8].copy_from_slice(begin);
        let found = self.view.scan::<Documents>(Some(&DocumentHash(from)))?.next().transpose()?;
        Ok(found.filter(|(hash, state)| hash.0.starts_with(begin) && state.seq != 0))
    }

    /// The newest document of a list that is not withdrawn; `None` if there is none. Two row reads.
    pub fn newest_of_list(self, list: &ListKey) -> Result<Option<ListVersion>, ReadError> {
        let mut newest = None;
        for is_complete in [false, true] {
            newest = newest.max(self.last_of_list(list, is_complete)?.map(|(version, _)| version));
        }
        Ok(newest)
    }

    /// The newest complete document of a list; `None` if there is none. One row read.
    pub fn newest_complete(self, list: &ListKey) -> Result<Option<(ListVersion, ListSize)>, ReadError> {
        self.last_of_list(list, true)
    }

    /// The newest document of a list, of the complete ones or of the others.
    fn last_of_list(self, list: &ListKey, is_complete: bool) -> Result<Option<(ListVersion, ListSize)>, ReadError> {
        let mut rows = self.view.raw_iterator::<ClaimLists>()?;
        let last = ListDocument { list: list.clone(), is_complete, version: AFTER_ALL };
        rows.seek_for_prev(encode_key::<ClaimLists>(&last));
        self.view.count(ClaimLists::NAME)?;
        rows.status().map_err(|e| ReadError::of_table(ClaimLists::NAME, e))?;
        let Some((key, value)) = rows.item().filter(|(key, _)| key.first() == ClaimLists::TAG.as_ref()) else {
            return Ok(None);
        };
        let found = ClaimLists::decode_key(key)?;
        if (&found.list, found.is_complete) != (list, is_complete) {
            return Ok(None);
        }
        Ok(Some((found.version, ClaimLists::decode_value(value)?)))
    }

    /// Claims of a document, ascending by row, from the one at a place on (the first has place 0): as many as stand
    /// together in the ledger, at most [`cairn_tables::events::CLAIMS_PER_ROW`]. None if there are no more. Two row
    /// reads.
    pub fn of_document(self, document: &ClaimDocument, place: u64) -> Result<Vec<Claim>, ReadError> {
        let seq = document.seq.saturating_add(1).saturating_add(place);
        Ok(match self.view.ledger().event(seq)? {
            Some((first, EventRow::Claims { document: of, claims, .. })) if of == document.seq => {
                claims.into_iter().skip(usize::try_from(seq - first).unwrap_or(usize::MAX)).collect()
            }
            _ => Vec::new(),
        })
    }

    /// The first complete document of a list after this one; `None` if there is none. One row read.
    fn complete_after(self, list: &ListKey, version: &ListVersion) -> Result<Option<ListVersion>, ReadError> {
        let of = ListDocument { list: list.clone(), is_complete: true, version: *version };
        for row in self.view.scan_while::<ClaimLists>(of, |found| (&found.list, found.is_complete) == (list, true))? {
            let (found, _) = row?;
            if found.version > *version {
                return Ok(Some(found.version));
            }
        }
        Ok(None)
    }

    /// At most `limit` documents of all lists that are not withdrawn, ascending by source and name.
    pub fn lists(self, limit: usize) -> Result<Vec<(ListDocument, ListSize)>, ReadError> {
        self.view.scan::<ClaimLists>(None)?.take(limit).collect()
    }

    /// True if there is any claim. No row is read: a reader looks once for each tip.
    pub fn has_any(self) -> Result<bool, ReadError> {
        if let Some(any) = self.view.any_claim {
            return Ok(any);
        }
        Ok(self.view.scan::<ClaimLists>(None)?.next().transpose()?.is_some())
    }
}
