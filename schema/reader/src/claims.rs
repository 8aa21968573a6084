//! Claims about scripts: what the lists of sources say of one.

use bitcoin::hashes::{Hash, sha256};
use cairn_events::{Claim, ContestAct, DocumentHash, Provenance};
use cairn_tables::{
    Table,
    claims::{ClaimKey, ClaimLists, Claims, ListDocument, ListKey, ListSize, ListVersion},
    encode_key,
    events::{DocumentState, Documents, EventRow},
};
use rocksdb::DBRawIteratorWithThreadMode;

use crate::{ContestOf, Db, ReadError, View, contests::newest_of};

/// Most lists of which a script's claims are read.
pub const MOST_LISTS: usize = 64;
/// Most claims of one script that are read of a list.
pub const MOST_OF_A_LIST: usize = 64;
/// Most documents of a list that are looked through for the one that held at a time.
const MOST_VERSIONS: usize = 64;

const BEFORE_ALL: ListVersion = ListVersion { retrieved_at: 0, document: [0; 8] };
const AFTER_ALL: ListVersion = ListVersion { retrieved_at: u32::MAX, document: [0xff; 8] };

/// What a list says of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListClaims {
    /// The list.
    pub list: ListKey,
    /// The newest of its documents that say something of the script, or the newest that did at the time that was asked for.
    pub version: ListVersion,
    /// What it says, ascending by row.
    pub claims: Vec<Claim>,
    /// When the first such document was retrieved, in seconds since 1970.
    pub first_at: u32,
    /// When a later, complete document of the list no longer said it; `None` if none has.
    pub ended_at: Option<u32>,
    /// What was last done to each of its statements, ascending by statement; empty if nothing was.
    pub contests: Vec<ContestOf>,
}

impl ListClaims {
    /// What was last done to what a claim of it says; `None` if nothing was.
    #[must_use]
    pub fn contest_of(&self, claim: &Claim) -> Option<&ContestOf> {
        // Hardly any script has one: without, no hash is computed.
        if self.contests.is_empty() {
            return None;
        }
        let statement = claim.statement();
        self.contests.iter().find(|of| of.statement == statement)
    }

    /// True if what a claim of it says is contested.
    #[must_use]
    pub fn is_contested(&self, claim: &Claim) -> bool {
        self.contest_of(claim).is_some_and(|of| of.state.act == ContestAct::Contests)
    }
}

/// What is said of a script.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ScriptClaims {
    /// By list, ascending by source and name.
    pub lists: Vec<ListClaims>,
    /// True if more is said than is read: more than [`MOST_LISTS`] lists, [`MOST_OF_A_LIST`] claims of one, or
    /// [`crate::MOST_CONTESTS`] contests.
    pub is_cut: bool,
}

/// A document of claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimDocument {
    /// Its sequence number.
    pub seq: u64,
    /// Where it comes from.
    pub provenance: Provenance,
}

impl View<'_> {
    /// What is said of a script by all lists; with a time, what was asserted by then. If nothing is, the filter saves the
    /// read; else some four row reads a list, one for each claim, and one for what is contested.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn claims_of(&self, script: &[u8], at: Option<u32>) -> Result<ScriptClaims, ReadError> {
        self.claims_of_hash(sha256::Hash::hash(script).as_byte_array(), at)
    }

    /// As [`View::claims_of`], by the SHA-256 of the script.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn claims_of_hash(&self, script: &[u8; 32], at: Option<u32>) -> Result<ScriptClaims, ReadError> {
        let mut filtered = self.prefix_iterator::<Claims>()?;
        filtered.seek(script);
        self.count()?;
        filtered.status().map_err(|e| ReadError::of_table(Claims::NAME, e))?;
        let mut found = ScriptClaims::default();
        if filtered.key().is_none_or(|key| !key.starts_with(script)) {
            return Ok(found);
        }
        let mut walk = Walk { rows: self.raw_iterator::<Claims>()?, view: self, script, most: MOST_OF_A_LIST };
        let mut next = walk.seek(script)?;
        while let Some(first) = next {
            if found.lists.len() == MOST_LISTS {
                found.is_cut = true;
                break;
            }
            let (of, is_cut) = walk.list(&first, at)?;
            found.lists.extend(of);
            found.is_cut |= is_cut;
            let past = walk.key(&first.list, AFTER_ALL, u32::MAX);
            next = walk.seek(&encode_key::<Claims>(&past))?.filter(|key| key.list != first.list);
        }
        let (contests, is_cut) = self.contests_of(script, at)?;
        found.is_cut |= is_cut;
        for of in &mut found.lists {
            of.contests = newest_of(&contests, &of.list);
        }
        Ok(found)
    }

    /// What one list says of a script now, at most so many claims, by the SHA-256 of the script. If nothing is said, the
    /// filter saves the read.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn claims_of_list(
        &self,
        script: &[u8; 32],
        list: &ListKey,
        most: usize,
    ) -> Result<Option<ListClaims>, ReadError> {
        let first = ClaimKey { script: *script, list: list.clone(), version: BEFORE_ALL, row: 0 };
        let mut filtered = self.prefix_iterator::<Claims>()?;
        filtered.seek(encode_key::<Claims>(&first));
        self.count()?;
        filtered.status().map_err(|e| ReadError::of_table(Claims::NAME, e))?;
        let first = filtered.key().filter(|key| key.starts_with(script)).map(Claims::decode_key).transpose()?;
        let Some(first) = first.filter(|first| first.list == *list) else { return Ok(None) };
        let mut walk = Walk { rows: self.raw_iterator::<Claims>()?, view: self, script, most };
        Ok(walk.list(&first, None)?.0)
    }

    /// The document of a claim, by the first bytes of its hash; `None` if there is none. Three row reads.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn claim_document(&self, version: &ListVersion) -> Result<Option<ClaimDocument>, ReadError> {
        let Some((hash, state)) = self.document_beginning(&version.document)? else { return Ok(None) };
        match self.event(state.seq)? {
            Some((seq, EventRow::Document { provenance, .. })) => Ok(Some(ClaimDocument { seq, provenance })),
            _ => Err(ReadError::Lacks { table: "events", what: format!("document {hash}") }),
        }
    }

    /// The document of the ledger whose hash begins so. One row read.
    pub(crate) fn document_beginning(
        &self,
        begin: &[u8; 8],
    ) -> Result<Option<(DocumentHash, DocumentState)>, ReadError> {
        let mut from = [0; 32];
        from[..8].copy_from_slice(begin);
        let found = self.scan::<Documents>(Some(&DocumentHash(from)))?.next().transpose()?;
        Ok(found.filter(|(hash, state)| hash.0.starts_with(begin) && state.seq != 0))
    }

    /// The newest document of a list that is not withdrawn; `None` if there is none. Two row reads.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn newest_of_list(&self, list: &ListKey) -> Result<Option<ListVersion>, ReadError> {
        let mut newest = None;
        for is_complete in [false, true] {
            newest = newest.max(self.last_of_list(list, is_complete)?.map(|(version, _)| version));
        }
        Ok(newest)
    }

    /// The newest complete document of a list; `None` if there is none. One row read.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn newest_complete(&self, list: &ListKey) -> Result<Option<(ListVersion, ListSize)>, ReadError> {
        self.last_of_list(list, true)
    }

    /// The newest document of a list, of the complete ones or of the others.
    fn last_of_list(&self, list: &ListKey, is_complete: bool) -> Result<Option<(ListVersion, ListSize)>, ReadError> {
        let mut rows = self.raw_iterator::<ClaimLists>()?;
        let last = ListDocument { list: list.clone(), is_complete, version: AFTER_ALL };
        rows.seek_for_prev(encode_key::<ClaimLists>(&last));
        self.count()?;
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

    /// Claims of a document, ascending by row, from the one at a place on (the first has place 0): as many as stand together in
    /// the ledger, at most [`cairn_tables::events::CLAIMS_PER_ROW`]. None if there are no more. Two row reads.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn claims_from(&self, document: &ClaimDocument, place: u64) -> Result<Vec<Claim>, ReadError> {
        let seq = document.seq.saturating_add(1).saturating_add(place);
        Ok(match self.event(seq)? {
            Some((first, EventRow::Claims { document: of, claims, .. })) if of == document.seq => {
                claims.into_iter().skip(usize::try_from(seq - first).unwrap_or(usize::MAX)).collect()
            }
            _ => Vec::new(),
        })
    }

    /// When the first complete document of a list after this one was retrieved; `None` if there is none. One row read.
    fn complete_after(&self, list: &ListKey, version: &ListVersion) -> Result<Option<ListVersion>, ReadError> {
        let of = ListDocument { list: list.clone(), is_complete: true, version: *version };
        for row in self.scan::<ClaimLists>(Some(&of))? {
            let (found, _) = row?;
            if (&found.list, found.is_complete) != (list, true) {
                break;
            }
            if found.version > *version {
                return Ok(Some(found.version));
            }
        }
        Ok(None)
    }

    /// Documents of all lists that are not withdrawn, ascending by source and name, at most so many.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn claim_lists(&self, limit: usize) -> Result<Vec<(ListDocument, ListSize)>, ReadError> {
        self.scan::<ClaimLists>(None)?.take(limit).collect()
    }

    /// True if there is any claim. No row is read: a reader looks once for each tip.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn has_claims(&self) -> Result<bool, ReadError> {
        if let Some(any) = self.any_claim {
            return Ok(any);
        }
        Ok(self.scan::<ClaimLists>(None)?.next().transpose()?.is_some())
    }
}

/// A walk over the claims about a script.
struct Walk<'w> {
    rows: DBRawIteratorWithThreadMode<'w, Db>,
    view: &'w View<'w>,
    script: &'w [u8; 32],
    /// Most claims that are read of a list.
    most: usize,
}

impl Walk<'_> {
    fn key(&self, list: &ListKey, version: ListVersion, row: u32) -> ClaimKey {
        ClaimKey { script: *self.script, list: list.clone(), version, row }
    }

    /// The key of the row that the iterator is at, if it is about the script.
    fn here(&self) -> Result<Option<ClaimKey>, ReadError> {
        self.view.count()?;
        self.rows.status().map_err(|e| ReadError::of_table(Claims::NAME, e))?;
        let key = self.rows.key().filter(|key| key.starts_with(self.script));
        Ok(key.map(Claims::decode_key).transpose()?)
    }

    fn seek(&mut self, key: &[u8]) -> Result<Option<ClaimKey>, ReadError> {
        self.rows.seek(key);
        self.here()
    }

    /// The last document of a list before `version` that says something of the script.
    fn before(&mut self, list: &ListKey, version: ListVersion, row: u32) -> Result<Option<ListVersion>, ReadError> {
        self.rows.seek_for_prev(encode_key::<Claims>(&self.key(list, version, row)));
        Ok(self.here()?.filter(|key| key.list == *list).map(|key| key.version))
    }

    /// What a list says; `first` is the first row of it. `None` if nothing was asserted by the time that is asked for.
    fn list(&mut self, first: &ClaimKey, at: Option<u32>) -> Result<(Option<ListClaims>, bool), ReadError> {
        let list = &first.list;
        let mut version = self.before(list, AFTER_ALL, u32::MAX)?.unwrap_or(first.version);
        let mut following = None;
        for _ in 0..MOST_VERSIONS {
            let (claims, is_cut) = self.claims(list, version, at)?;
            if !claims.is_empty() {
                let complete = self.view.complete_after(list, &version)?;
                // Where a later document says something of the script again, the first one was replaced, not ended.
                let ended = complete.filter(|complete| following.is_none_or(|following| *complete < following));
                let ended_at = ended.map(|of| of.retrieved_at);
                let first_at = first.version.retrieved_at;
                let of = ListClaims { list: list.clone(), version, claims, first_at, ended_at, contests: Vec::new() };
                return Ok((Some(of), is_cut));
            }
            following = Some(version);
            match self.before(list, version, 0)?.filter(|before| *before < version) {
                Some(before) => version = before,
                None => return Ok((None, false)),
            }
        }
        Ok((None, true))
    }

    /// What a document says of the script.
    fn claims(
        &mut self,
        list: &ListKey,
        version: ListVersion,
        at: Option<u32>,
    ) -> Result<(Vec<Claim>, bool), ReadError> {
        let (mut claims, mut read) = (Vec::new(), 0);
        let mut key = self.seek(&encode_key::<Claims>(&self.key(list, version, 0)))?;
        while key.is_some_and(|key| (&key.list, key.version) == (list, version)) {
            if read == self.most {
                return Ok((claims, true));
            }
            read += 1;
            let value = self.rows.value().unwrap_or_default();
            self.view.count_bytes(value)?;
            let claim = Claims::decode_value(value)?;
            if at.is_none_or(|at| claim.then(version.retrieved_at) <= at) {
                claims.push(claim);
            }
            self.rows.next();
            key = self.here()?;
        }
        Ok((claims, false))
    }
}
