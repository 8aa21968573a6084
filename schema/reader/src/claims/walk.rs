//! Reads the claims about scripts, one script after the other.

use std::collections::{HashMap, HashSet};

use cairn_events::{Claim, ContestAct, StatementHash};
use cairn_tables::{
    Table,
    claims::{ClaimKey, Claims, ListKey, ListVersion},
    contests::{ContestKey, Contests},
    encode_key,
};
use rocksdb::DBRawIteratorWithThreadMode;

use super::{AFTER_ALL, BEFORE_ALL, ListClaims, MAX_LISTS, MAX_OF_A_LIST, MAX_VERSIONS, ScriptClaims};
use crate::{
    Db, ReadError, View,
    contests::{newest_of, of_script},
    forward::Forward,
    subjects::ClaimView,
};

/// Rows of a list about one script that are simply read. Where there are more, seeks pass over older documents.
const FEW: usize = 8;
/// Most rows about one script that are read together.
const MAX_ROWS: usize = 1 << 16;

/// Reads the claims about scripts: with the fewest reads if the scripts ascend, since the iterators are mostly at the
/// right place then.
pub struct ClaimWalk<'v> {
    pub(super) view: &'v View<'v>,
    pub(super) rows: Forward<'v>,
    pub(super) contests: Forward<'v>,
    /// Looks through the filter, once it is asked for.
    filtered: Option<DBRawIteratorWithThreadMode<'v, Db>>,
    /// The complete documents that follow others of their lists, as far as they were asked for.
    complete: HashMap<ListKey, HashMap<ListVersion, Option<ListVersion>>>,
}

/// Claims of a list about a script, if any; whether there are more; and the first row of the next list.
type OfList = (Option<ListClaims>, bool, Option<ClaimKey>);

impl<'v> ClaimView<'v> {
    /// Begins to read the claims about scripts.
    pub fn walk(self) -> Result<ClaimWalk<'v>, ReadError> {
        let (rows, contests) = (Forward::new::<Claims>(self.view)?, Forward::new::<Contests>(self.view)?);
        Ok(ClaimWalk { view: self.view, rows, contests, filtered: None, complete: HashMap::new() })
    }
}

impl ClaimWalk<'_> {
    /// As [`ClaimView::of_hash`], without the filter: for scripts that have claims.
    pub fn of(&mut self, script: &[u8; 32], at: Option<u32>) -> Result<ScriptClaims, ReadError> {
        let mut found = ScriptClaims::default();
        let mut next = self.seek(script, script)?;
        if next.is_none() {
            return Ok(found);
        }
        while let Some(first) = next {
            if found.lists.len() == MAX_LISTS {
                found.is_cut = true;
                break;
            }
            let (of, is_cut, following) = self.list(&first, at, MAX_OF_A_LIST)?;
            found.lists.extend(of);
            found.is_cut |= is_cut;
            next = following;
        }
        let (contests, is_cut) = of_script(self.view, &mut self.contests, script, at)?;
        found.is_cut |= is_cut;
        for of in &mut found.lists {
            of.contests = newest_of(&contests, &of.list);
        }
        Ok(found)
    }

    /// True if there are claims of a script. If there are none, the filter saves the read.
    pub fn has(&mut self, script: &[u8; 32]) -> Result<bool, ReadError> {
        let rows = match &mut self.filtered {
            Some(rows) => rows,
            none => none.insert(self.view.prefix_iterator::<Claims>()?),
        };
        self.view.has_prefix::<Claims>(rows, script)
    }

    /// As [`ClaimView::of_list`], without the filter.
    pub fn of_list(&mut self, script: &[u8; 32], list: &ListKey, most: usize) -> Result<Option<ListClaims>, ReadError> {
        let first = ClaimKey { script: *script, list: list.clone(), version: BEFORE_ALL, row: 0 };
        match self.seek(script, &encode_key::<Claims>(&first))?.filter(|first| first.list == *list) {
            Some(first) => Ok(self.list(&first, None, most)?.0),
            None => Ok(None),
        }
    }

    /// The statements of a list about a script that are blanked. One row read for each document that did something to
    /// one.
    pub fn redacted(&mut self, script: &[u8; 32], list: &ListKey) -> Result<HashSet<StatementHash>, ReadError> {
        let statement = StatementHash([0; 32]);
        let first = ContestKey { script: *script, list: list.clone(), statement, version: BEFORE_ALL };
        self.contests.seek(&encode_key::<Contests>(&first));
        let mut redacted = HashSet::new();
        loop {
            self.view.count(Contests::NAME)?;
            let row = self.contests.row()?.filter(|(key, _)| key.first() == Contests::TAG.as_ref());
            let Some((key, value)) = row else { return Ok(redacted) };
            let key = Contests::decode_key(key)?;
            if (&key.script, &key.list) != (script, list) {
                return Ok(redacted);
            }
            self.view.count_bytes(value)?;
            if Contests::decode_value(value)?.act == ContestAct::Redacts {
                redacted.insert(key.statement);
            }
            self.contests.next();
        }
    }

    /// The key of the row that the iterator is at, if it is about the script.
    fn here(&self, script: &[u8; 32]) -> Result<Option<ClaimKey>, ReadError> {
        self.view.count(Claims::NAME)?;
        let key = self.rows.row()?.map(|(key, _)| key).filter(|key| key.starts_with(script));
        Ok(key.map(Claims::decode_key).transpose()?)
    }

    fn seek(&mut self, script: &[u8; 32], key: &[u8]) -> Result<Option<ClaimKey>, ReadError> {
        self.rows.seek(key);
        self.here(script)
    }

    fn next(&mut self, script: &[u8; 32]) -> Result<Option<ClaimKey>, ReadError> {
        self.rows.next();
        self.here(script)
    }

    fn claim(&self) -> Result<Claim, ReadError> {
        let value = self.rows.row()?.map(|(_, value)| value).unwrap_or_default();
        self.view.count_bytes(value)?;
        Ok(Claims::decode_value(value)?)
    }

    /// Claims of a list; `first` is its first row, at which the iterator is.
    fn list(&mut self, first: &ClaimKey, at: Option<u32>, most: usize) -> Result<OfList, ReadError> {
        let (mut few, mut next) = (Vec::new(), Some(first.clone()));
        while let Some(key) = next.as_ref().filter(|key| key.list == first.list) {
            if few.len() == FEW.min(most) {
                return self.long_list(first, at, most);
            }
            few.push((key.version, self.claim()?));
            next = self.next(&first.script)?;
        }
        let mut following = None;
        while let Some((version, _)) = few.last() {
            let version = *version;
            let begin = few.partition_point(|(of, _)| *of < version);
            let claims = few.split_off(begin).into_iter().map(|(_, claim)| claim);
            let claims: Vec<Claim> = claims.filter(|claim| is_said(claim, version, at)).collect();
            if !claims.is_empty() {
                return Ok((Some(self.found(first, version, following, claims)?), false, next));
            }
            following = Some(version);
        }
        Ok((None, false, next))
    }

    /// The same for a list that says much, or has said it in many documents.
    fn long_list(&mut self, first: &ClaimKey, at: Option<u32>, most: usize) -> Result<OfList, ReadError> {
        let (mut found, mut is_cut, mut following) = (None, true, None);
        let mut before = self.before(&ClaimKey { version: AFTER_ALL, row: u32::MAX, ..first.clone() })?;
        for _ in 0..MAX_VERSIONS {
            let Some(version) = before else {
                is_cut = false;
                break;
            };
            let (claims, has_more) = self.claims(first, version, at, most)?;
            if !claims.is_empty() {
                (found, is_cut) = (Some(self.found(first, version, following, claims)?), has_more);
                break;
            }
            following = Some(version);
            let earlier = self.before(&ClaimKey { version, row: 0, ..first.clone() })?;
            before = earlier.filter(|before| *before < version);
        }
        let past = ClaimKey { version: AFTER_ALL, row: u32::MAX, ..first.clone() };
        let next = self.seek(&first.script, &encode_key::<Claims>(&past))?;
        Ok((found, is_cut, next.filter(|key| key.list != first.list)))
    }

    /// The document of the last row of the list up to a key.
    fn before(&mut self, key: &ClaimKey) -> Result<Option<ListVersion>, ReadError> {
        self.rows.seek_for_prev(&encode_key::<Claims>(key));
        Ok(self.here(&key.script)?.filter(|found| found.list == key.list).map(|found| found.version))
    }

    /// Claims of a document about the script; and whether there are more.
    fn claims(
        &mut self,
        first: &ClaimKey,
        version: ListVersion,
        at: Option<u32>,
        most: usize,
    ) -> Result<(Vec<Claim>, bool), ReadError> {
        let (mut claims, mut read) = (Vec::new(), 0);
        let begin = ClaimKey { version, row: 0, ..first.clone() };
        let mut key = self.seek(&first.script, &encode_key::<Claims>(&begin))?;
        while key.is_some_and(|key| (&key.list, key.version) == (&first.list, version)) {
            if read == most {
                return Ok((claims, true));
            }
            read += 1;
            let claim = self.claim()?;
            if is_said(&claim, version, at) {
                claims.push(claim);
            }
            key = self.next(&first.script)?;
        }
        Ok((claims, false))
    }

    /// Claims of a document; `following` is the next one that mentions the script.
    fn found(
        &mut self,
        first: &ClaimKey,
        version: ListVersion,
        following: Option<ListVersion>,
        claims: Vec<Claim>,
    ) -> Result<ListClaims, ReadError> {
        let list = first.list.clone();
        let complete = self.complete_after(&list, version)?;
        // If a later document has claims about the script again, the first one was replaced, not ended.
        let ended = complete.filter(|complete| following.is_none_or(|following| *complete < following));
        let (ended_at, first_at) = (ended.map(|of| of.retrieved_at), first.version.retrieved_at);
        Ok(ListClaims { list, version, claims, first_at, ended_at, contests: Vec::new() })
    }

    /// Claims of each document about a script, at most 65 536 rows: those that no longer hold and those that are
    /// contested, too.
    pub fn rows(&mut self, script: &[u8; 32]) -> Result<Vec<(ClaimKey, Claim)>, ReadError> {
        let (mut rows, mut next) = (Vec::new(), self.seek(script, script)?);
        while let Some(key) = next.filter(|_| rows.len() < MAX_ROWS) {
            rows.push((key, self.claim()?));
            next = self.next(script)?;
        }
        Ok(rows)
    }

    /// The first complete document of a list after another; `None` if there is none. One row read, unless it is known.
    pub fn complete_after(&mut self, list: &ListKey, version: ListVersion) -> Result<Option<ListVersion>, ReadError> {
        if let Some(known) = self.complete.get(list).and_then(|of| of.get(&version)) {
            return Ok(*known);
        }
        let found = self.view.claims().complete_after(list, &version)?;
        self.complete.entry(list.clone()).or_default().insert(version, found);
        Ok(found)
    }
}

/// True if a claim was asserted by the time that is asked for.
fn is_said(claim: &Claim, version: ListVersion, at: Option<u32>) -> bool {
    at.is_none_or(|at| claim.then(version.retrieved_at) <= at)
}
