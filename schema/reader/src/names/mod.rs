//! Search for names by the parts that a user remembers: whole words, beginnings of words, words with typos.
//!
//! The words are sorted, so that each way of looking is a walk of seeks. A search reads at most [`MAX_NAME_ROWS`]
//! rows: first the whole words, then the beginnings, then what is close, each of entities before texts. The unused
//! share of one of these six walks goes to the next ones.

mod walk;

use std::cmp::Reverse;

use cairn_domain::names::{Typos, typos_for};
use cairn_events::{Behaviour, Category, EntityName};
use cairn_tables::{
    entities::ScriptClass,
    labels::ScriptHash,
    names::{NameKey, NameKind, Names, SCRIPTS, joined, of_behaviour, of_category, words},
    sums::Sums,
};

use self::walk::Walk;
use crate::{ReadError, subjects::LabelView};

/// Most rows that a search for names reads, before it looks up what it has found.
pub const MAX_NAME_ROWS: u64 = 2_000;
/// Most names of one word that are read where the word is not asked for as it is.
const OF_A_WORD: u64 = 32;

/// The request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameQuery {
    words: Vec<String>,
    /// Only names of entities, or only texts; `None` for both.
    pub kind: Option<NameKind>,
    /// Only names that a script with this category has.
    pub category: Option<Category>,
    /// Only names that a script with this behaviour has.
    pub behaviour: Option<Behaviour>,
    /// True to look for words with typos as well, unless enough is found without.
    pub fuzzy: bool,
    /// Most names of the answer.
    pub limit: usize,
}

impl NameQuery {
    /// The words of a text. `None` if it has neither letters nor digits.
    #[must_use]
    pub fn new(text: &str, limit: usize) -> Option<Self> {
        let words = words(text);
        let query = NameQuery { words, kind: None, category: None, behaviour: None, fuzzy: true, limit };
        Some(query).filter(|query| !query.words.is_empty())
    }

    /// True if these are the words of a name, in whatever order, or together the same letters.
    fn is_whole(&self, name: &str) -> bool {
        let own = words(name);
        own.concat() == self.words.concat()
            || (own.len() == self.words.len() && self.words.iter().all(|word| own.contains(word)))
    }

    /// True if the scripts of a name may be meant.
    fn admits(&self, sums: &Sums) -> bool {
        self.category.is_none_or(|category| sums.get(of_category(category)) > 0)
            && self.behaviour.is_none_or(|behaviour| sums.get(of_behaviour(behaviour)) > 0)
    }
}

/// How a name has the words, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NameMatch {
    /// They are all that it has.
    Exact,
    /// They are among its words.
    Word,
    /// The last one is the beginning of one of its words, the others are among them.
    Prefix,
    /// One at least has typos.
    Fuzzy,
}

/// A name that a search found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundName {
    /// Kind: an entity, or a text of labels.
    pub kind: NameKind,
    /// The entity, or the text of the labels.
    pub name: String,
    /// How it has the words.
    pub matched: NameMatch,
    /// Typos between the words and it.
    pub typos: u8,
    sums: Sums,
}

impl FoundName {
    /// Scripts whose label gives the name.
    #[must_use]
    pub fn scripts(&self) -> u64 {
        u64::try_from(self.sums.get(SCRIPTS)).unwrap_or(0)
    }

    /// The category that most of them have; `None` if none has one.
    #[must_use]
    pub fn category(&self) -> Option<Category> {
        let of = |category: &&Category| self.sums.get(of_category(**category));
        Category::ALL
            .iter()
            .filter(|category| of(category) > 0)
            .max_by_key(|one| (of(one), Reverse(one.code())))
            .copied()
    }

    /// The behaviour that most of them have; `None` if none has one.
    #[must_use]
    pub fn behaviour(&self) -> Option<Behaviour> {
        let of = |behaviour: &&Behaviour| self.sums.get(of_behaviour(**behaviour));
        Behaviour::ALL.iter().filter(|one| of(one) > 0).max_by_key(|one| (of(one), Reverse(one.code()))).copied()
    }

    fn rank(&self) -> impl Ord + use<'_> {
        (self.matched, self.typos, Reverse(self.scripts()), self.kind, self.name.as_str())
    }
}

/// Result of a search.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FoundNames {
    /// The best first: how they match, then the number of scripts.
    pub names: Vec<FoundName>,
    /// How many were found, also beyond the limit.
    pub matches: usize,
    /// True if there may be more, or better ones: the search ended at its limit of rows, or passed names of words that
    /// have many.
    pub is_cut: bool,
    /// Rows that the search read.
    pub rows_read: u64,
}

impl LabelView<'_> {
    /// Names that have the words of a question, wholly, as beginnings or with typos. At most [`MAX_NAME_ROWS`] rows
    /// and one for each name of the answer.
    pub fn search(self, query: &NameQuery) -> Result<FoundNames, ReadError> {
        let before = self.view.rows_read();
        let kinds: Vec<NameKind> =
            NameKind::ALL.into_iter().filter(|kind| query.kind.is_none_or(|asked| asked == *kind)).collect();
        let mut walk = Walk::new(self.view, query)?;
        let mut passes = 3 * kinds.len() as u64;
        let mut left = MAX_NAME_ROWS;
        for how in [NameMatch::Word, NameMatch::Prefix, NameMatch::Fuzzy] {
            if how == NameMatch::Fuzzy && (!query.fuzzy || walk.found.len() >= query.limit) {
                break;
            }
            for kind in &kinds {
                let share = left / passes;
                walk.begin(*kind, share);
                pass(&mut walk, query, how)?;
                left -= share - walk.left;
                passes -= 1;
            }
        }
        let is_cut = walk.is_cut;
        let mut names: Vec<FoundName> = walk.found.into_values().collect();
        names.sort_unstable_by(|a, b| a.rank().cmp(&b.rank()));
        let matches = names.len();
        names.truncate(query.limit);
        for found in &mut names {
            self.complete(found)?;
        }
        Ok(FoundNames { names, matches, is_cut, rows_read: self.view.rows_read() - before })
    }

    /// The sums of all scripts of an entity: not all of them have the word by which it was found.
    fn complete(self, found: &mut FoundName) -> Result<(), ReadError> {
        let first = words(&found.name).into_iter().next();
        let Some(word) = first.filter(|_| found.kind == NameKind::Entity) else { return Ok(()) };
        let key = NameKey::Word { kind: found.kind, word, name: found.name.clone() };
        if let Some(sums) = self.view.get::<Names>(&key)? {
            found.sums = sums;
        }
        Ok(())
    }

    /// Number of scripts whose label is this text and names no entity, as [`cairn_tables::names::name_of_text`] cuts
    /// it. One row read; 0 for a text without words.
    pub fn count_of_text(self, text: &str) -> Result<u64, ReadError> {
        let Some(word) = words(text).into_iter().next() else { return Ok(0) };
        let key = NameKey::Word { kind: NameKind::Text, word, name: text.to_owned() };
        let sums = self.view.get::<Names>(&key)?;
        Ok(sums.and_then(|sums| u64::try_from(sums.get(SCRIPTS)).ok()).unwrap_or(0))
    }

    /// Some scripts of a name: of an entity those with the newest transactions, its own before those that are only
    /// named.
    pub fn scripts_of_name(self, kind: NameKind, name: &str, limit: usize) -> Result<Vec<ScriptHash>, ReadError> {
        let mut scripts = Vec::new();
        match (kind, name.parse::<EntityName>()) {
            (NameKind::Entity, Ok(entity)) => {
                for class in [ScriptClass::Member, ScriptClass::Named] {
                    let found = self.view.entities().scripts(&entity, class, None, limit - scripts.len())?;
                    scripts.extend(found.into_iter().map(|of| of.script));
                    if scripts.len() >= limit {
                        break;
                    }
                }
            }
            (NameKind::Entity, Err(_)) => return Err(self.view.broken("names has an entity with an impossible name")),
            (NameKind::Text, _) => {
                let from = NameKey::Script { text: name.to_owned(), script: ScriptHash([0; 32]) };
                for row in self.view.scan::<Names>(Some(&from))?.take(limit) {
                    match row?.0 {
                        NameKey::Script { text, script } if text == name => scripts.push(script),
                        _ => break,
                    }
                }
            }
        }
        Ok(scripts)
    }
}

/// One way to look for names of one kind.
fn pass(walk: &mut Walk<'_>, query: &NameQuery, how: NameMatch) -> Result<(), ReadError> {
    let together = joined(&query.words);
    let Some((last, others)) = query.words.split_last() else { return Ok(()) };
    match how {
        NameMatch::Exact | NameMatch::Word => {
            walk.with_all(&query.words, |_| true, (how, 0))?;
            together.map_or(Ok(()), |word| walk.with_all(&[word], |_| true, (how, 0)))
        }
        NameMatch::Prefix => {
            match others {
                [] => walk.with_prefix(last)?,
                _ => walk.with_all(others, |own| own.iter().any(|word| word.starts_with(last)), (how, 0))?,
            }
            together.map_or(Ok(()), |word| walk.with_prefix(&word))
        }
        NameMatch::Fuzzy => {
            let Some(at) = walk.strangest(&query.words)? else { return Ok(()) };
            let Some(word) = query.words.get(at) else { return Ok(()) };
            let others = query.words.iter().enumerate().filter(|(other, _)| *other != at);
            let others: Vec<(&str, Typos)> = others.map(|(_, word)| (word.as_str(), close_to(word))).collect();
            let letters = word.chars().count();
            // One typo first: those are few, and found however many words there are. Of two, none is in the first
            // letter.
            for typos in 1..=typos_for(letters) {
                walk.close_to(&Typos::new(word, typos, usize::from(typos > 1)), typos, &others)?;
            }
            Ok(())
        }
    }
}

/// Words as close to one as it may have typos.
fn close_to(word: &str) -> Typos {
    Typos::new(word, typos_for(word.chars().count()), 0)
}
