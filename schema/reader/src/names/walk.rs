//! The walks over the sorted words.

use std::collections::BTreeMap;

use cairn_domain::names::{Typos, typos_for};
use cairn_tables::{
    Table,
    names::{NameKey, NameKind, Names, SCRIPTS, joined, words},
};
use rocksdb::DBRawIteratorWithThreadMode;

use super::{FoundName, NameMatch, NameQuery, OF_A_WORD};
use crate::{Db, ReadError, View};

/// Above the end of a word, and below any letter.
const PAST: char = '\u{1}';

/// A search on its way.
pub(super) struct Walk<'w> {
    rows: DBRawIteratorWithThreadMode<'w, Db>,
    view: &'w View<'w>,
    query: &'w NameQuery,
    kind: NameKind,
    /// Rows that this pass may still read.
    pub(super) left: u64,
    /// True if a pass ended before it had read all.
    pub(super) is_cut: bool,
    pub(super) found: BTreeMap<(NameKind, String), FoundName>,
    key: Vec<u8>,
}

/// A word, and a name that has it.
struct Posting {
    word: String,
    name: String,
}

impl<'w> Walk<'w> {
    pub(super) fn new(view: &'w View<'w>, query: &'w NameQuery) -> Result<Self, ReadError> {
        let rows = view.raw_iterator::<Names>()?;
        let (kind, found) = (NameKind::Entity, BTreeMap::new());
        Ok(Walk { rows, view, query, kind, left: 0, is_cut: false, found, key: Vec::new() })
    }

    /// Begins a pass with a limit of rows.
    pub(super) fn begin(&mut self, kind: NameKind, rows: u64) {
        (self.kind, self.left) = (kind, rows);
    }

    /// Names that have all these words, if `admits` their words.
    pub(super) fn with_all(
        &mut self,
        all: &[String],
        admits: impl Fn(&[String]) -> bool,
        (how, typos): (NameMatch, u8),
    ) -> Result<(), ReadError> {
        let mut from = String::new();
        loop {
            // Each word says from where on it has names, until all agree on one.
            let mut agreed = 0;
            for word in all.iter().cycle() {
                let is_next = all.len() == 1 && from.ends_with('\0');
                let found = if is_next { self.next()? } else { self.seek(&[word.as_bytes(), &[0], from.as_bytes()])? };
                let Some(posting) = found.filter(|posting| posting.word == *word) else { return Ok(()) };
                agreed = if posting.name == from { agreed + 1 } else { 1 };
                from = posting.name;
                if agreed == all.len() {
                    break;
                }
            }
            if all.is_empty() {
                return Ok(());
            }
            if admits(&self.words_of(&from)) {
                let how = if how == NameMatch::Word && self.query.is_whole(&from) { NameMatch::Exact } else { how };
                self.keep(&from, how, typos)?;
            }
            // The next name after this one.
            from.push('\0');
        }
    }

    /// Names with a word that is longer than this one and begins with it. Of each such word some names.
    pub(super) fn with_prefix(&mut self, prefix: &str) -> Result<(), ReadError> {
        let mut next = self.seek(&[prefix.as_bytes(), &[PAST as u8]])?;
        let (mut word, mut names) = (String::new(), 0);
        while let Some(posting) = next.filter(|posting| posting.word.starts_with(prefix)) {
            names = if posting.word == word { names + 1 } else { 1 };
            word = posting.word;
            if names > OF_A_WORD {
                self.is_cut = true;
                next = self.seek(&[word.as_bytes(), &[PAST as u8]])?;
                continue;
            }
            self.keep(&posting.name, NameMatch::Prefix, 0)?;
            next = self.next()?;
        }
        Ok(())
    }

    /// Names with a word that is `distance` typos away from one, and with all the others or words close to them.
    pub(super) fn close_to(&mut self, typos: &Typos, distance: u8, others: &[(&str, Typos)]) -> Result<(), ReadError> {
        let mut from = typos.next("");
        while let Some(target) = from {
            // A zero stands for the least letter, but in a key it is the end of a word: the names of that word would be
            // next.
            let target = target.replace('\0', PAST.encode_utf8(&mut [0]));
            let Some(posting) = self.seek(&[target.as_bytes()])? else { return Ok(()) };
            let word = posting.word.clone();
            // A word without typos may still match here: another one of the query may have some.
            let of = typos.distance(&word);
            if of == Some(distance) || (distance == 1 && of == Some(0) && !others.is_empty()) {
                self.names_close_to(posting, of.unwrap_or(0), others)?;
            }
            from = typos.next(&word);
        }
        Ok(())
    }

    /// Some of the names of a word.
    fn names_close_to(&mut self, first: Posting, of: u8, others: &[(&str, Typos)]) -> Result<(), ReadError> {
        let word = first.word.clone();
        let (mut next, mut names) = (Some(first), 0);
        if !others.is_empty() {
            // Names that have the others as they are, however many have this one.
            let all = [&word[..]].into_iter().chain(others.iter().map(|(other, _)| *other));
            self.with_all(&all.map(str::to_owned).collect::<Vec<_>>(), |_| true, (NameMatch::Fuzzy, of))?;
            next = self.seek(&[word.as_bytes(), &[0]])?;
        }
        while let Some(posting) = next.filter(|posting| posting.word == word) {
            if names == OF_A_WORD {
                self.is_cut = true;
                break;
            }
            names += 1;
            let own = if others.is_empty() { Vec::new() } else { self.words_of(&posting.name) };
            let rest = others.iter().map(|(other, typos)| typos_to(&own, other, typos)).sum::<Option<u8>>();
            if let Some(rest) = rest {
                self.keep(&posting.name, NameMatch::Fuzzy, of + rest)?;
            }
            next = self.next()?;
        }
        Ok(())
    }

    /// Among the words that may have typos, returns the one that no name has, else the longest. `None` if all are too
    /// short.
    pub(super) fn strangest(&mut self, all: &[String]) -> Result<Option<usize>, ReadError> {
        let letters = |word: &String| word.chars().count();
        let long = || all.iter().enumerate().filter(|(_, word)| typos_for(letters(word)) > 0);
        if all.len() > 1 {
            for (at, word) in long() {
                if self.seek(&[word.as_bytes(), &[0]])?.is_none_or(|posting| posting.word != *word) {
                    return Ok(Some(at));
                }
            }
        }
        Ok(long().max_by_key(|(_, word)| letters(word)).map(|(at, _)| at))
    }

    /// The words by which a name is found, as far as it shows them: entities have other names as well.
    fn words_of(&self, name: &str) -> Vec<String> {
        let mut own = words(name);
        own.extend(joined(&own).filter(|_| self.kind == NameKind::Entity));
        own
    }

    /// Keeps the name that the iterator is at, if its scripts may be meant.
    fn keep(&mut self, name: &str, matched: NameMatch, typos: u8) -> Result<(), ReadError> {
        let sums = Names::decode_value(self.rows.value().unwrap_or_default())?;
        if !self.query.admits(&sums) {
            return Ok(());
        }
        let found = FoundName { kind: self.kind, name: name.to_owned(), matched, typos, sums };
        let kept = self.found.entry((self.kind, found.name.clone())).or_insert_with(|| found.clone());
        if found.sums.get(SCRIPTS) > kept.sums.get(SCRIPTS) {
            kept.sums = found.sums;
        }
        (kept.matched, kept.typos) = (kept.matched, kept.typos).min((matched, typos));
        Ok(())
    }

    /// The first row from a key of this kind on.
    fn seek(&mut self, parts: &[&[u8]]) -> Result<Option<Posting>, ReadError> {
        self.key.clear();
        self.key.push(self.kind as u8);
        parts.iter().for_each(|part| self.key.extend_from_slice(part));
        if self.may_read() {
            self.rows.seek(&self.key);
            return self.here();
        }
        Ok(None)
    }

    fn next(&mut self) -> Result<Option<Posting>, ReadError> {
        if self.may_read() {
            self.rows.next();
            return self.here();
        }
        Ok(None)
    }

    fn may_read(&mut self) -> bool {
        self.is_cut |= self.left == 0;
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }

    /// The row that the iterator is at.
    fn here(&mut self) -> Result<Option<Posting>, ReadError> {
        self.view.count(Names::NAME)?;
        self.rows.status().map_err(|e| ReadError::of_table(Names::NAME, e))?;
        let Some((key, value)) = self.rows.item().filter(|(key, _)| key.first() == Some(&(self.kind as u8))) else {
            return Ok(None);
        };
        self.view.count_bytes(value)?;
        match Names::decode_key(key)? {
            NameKey::Word { word, name, .. } => Ok(Some(Posting { word, name })),
            NameKey::Script { .. } => Ok(None),
        }
    }
}

/// Typos to the closest of some words; none if one of them begins with it.
fn typos_to(own: &[String], other: &str, typos: &Typos) -> Option<u8> {
    let of = |word: &String| if word.starts_with(other) { Some(0) } else { typos.distance(word) };
    own.iter().filter_map(of).min()
}
