//! The words by which names are found: of entities, and of labels that name no entity.
//!
//! ```text
//! names  0 ‖ word ‖ 0 ‖ entity                        → sums by position
//!        1 ‖ word ‖ 0 ‖ text of the label             → sums by position
//!        2 ‖ text of the label ‖ 0 ‖ SHA-256 (32)     → 1 at position 0
//!   0        scripts whose label gives the name with that word
//!   category code                                     those of this category
//!   64 + behaviour code                               those of this behaviour
//! ```
//!
//! All rows follow from those of `labels`: each script adds what [`rows_of`] says. Words are in the form of [`words`],
//! so that the words of a question need only be compared. Those of entities stand apart: many texts do not hide them.
//! The scripts of a text are here, those of an entity are in `entity_scripts`. Scripts whose label is about a natural
//! person give no name.

mod words;

use std::collections::BTreeSet;

use cairn_events::{Behaviour, Category, EntityName};

pub use self::words::{MAX_WORD, MAX_WORDS, joined, words};
use crate::{
    codec::{DecodeError, Input, KeyCodec},
    labels::{Label, ScriptHash, ScriptLabel},
    sums::{SumOverflow, Sums},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// The table.
    // Short rows that begin alike. Searches find them by seeking. A new label looks for its own, which mostly do not
    // exist yet, as the filter shows.
    pub struct Names("names": NameKey => Sums)
        in Home::Own(Tuning { filter_bits: 10, ..Tuning::SHORT }), from Origin::Joined;
}

/// Most bytes of a name. Longer texts are cut.
pub const MAX_NAME: usize = 120;

/// Kind of a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum NameKind {
    /// An entity.
    Entity = 0,
    /// A label that names no entity: the source's own words.
    Text = 1,
}

impl NameKind {
    /// All.
    pub const ALL: [NameKind; 2] = [NameKind::Entity, NameKind::Text];
}

/// A key of the table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NameKey {
    /// A word, and a name that has it.
    Word {
        /// Kind of the name.
        kind: NameKind,
        /// The word: no byte of it is 0.
        word: String,
        /// The entity, or the text.
        name: String,
    },
    /// A script whose label is a text.
    Script {
        /// The text: no byte of it is 0.
        text: String,
        /// The script.
        script: ScriptHash,
    },
}

/// First byte of the keys of scripts.
const SCRIPT: u8 = 2;

fn put_ended(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// A text with a limit in bytes, and not empty.
fn checked(b: &Input<'_>, text: &[u8], most: usize) -> Result<String, DecodeError> {
    let fits = (1..=most).contains(&text.len());
    let text = str::from_utf8(text).ok().filter(|_| fits);
    text.map(str::to_owned).ok_or_else(|| b.error("text of a name"))
}

fn ended(b: &mut Input<'_>, most: usize) -> Result<String, DecodeError> {
    let mut text = Vec::new();
    loop {
        match b.byte()? {
            0 => break,
            _ if text.len() == most => return Err(b.error("text of a name")),
            byte => text.push(byte),
        }
    }
    checked(b, &text, most)
}

impl KeyCodec for NameKey {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            NameKey::Word { kind, word, name } => {
                out.push(*kind as u8);
                put_ended(out, word);
                out.extend_from_slice(name.as_bytes());
            }
            NameKey::Script { text, script } => {
                out.push(SCRIPT);
                put_ended(out, text);
                script.encode(out);
            }
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let kind = match b.byte()? {
            0 => NameKind::Entity,
            1 => NameKind::Text,
            SCRIPT => {
                let text = ended(b, MAX_NAME)?;
                return Ok(NameKey::Script { text, script: ScriptHash::decode(b)? });
            }
            _ => return Err(b.error("kind of a name")),
        };
        let word = ended(b, MAX_WORD)?;
        let name = b.take(b.left())?;
        Ok(NameKey::Word { kind, word, name: checked(b, name, MAX_NAME)? })
    }
}

/// Position of the scripts that give a name.
pub const SCRIPTS: u32 = 0;

/// Position of those among them with a category.
#[must_use]
pub const fn of_category(category: Category) -> u32 {
    category.code() as u32
}

/// Position of those among them with a behaviour.
#[must_use]
pub const fn of_behaviour(behaviour: Behaviour) -> u32 {
    64 + behaviour.code() as u32
}

/// The text of a label as a name: without zeros, cut at a letter's end.
#[must_use]
pub fn name_of_text(text: &str) -> String {
    let mut name = String::new();
    for letter in text.trim().chars().filter(|letter| *letter != '\0') {
        if name.len() + letter.len_utf8() > MAX_NAME {
            break;
        }
        name.push(letter);
    }
    name
}

/// The words of an entity: of its name for paths, also without what parts them, then of a name as people write it.
fn words_of_entity(entity: &EntityName, name: &str) -> BTreeSet<String> {
    let mut all = words(entity.as_str());
    all.extend(joined(&all));
    all.extend(words(name));
    all.into_iter().collect()
}

fn counts(label: &Label) -> Result<Sums, SumOverflow> {
    let category = label.category.map(of_category);
    let behaviour = label.behaviour.map(of_behaviour);
    Sums::of([Some(SCRIPTS), category, behaviour].into_iter().flatten().map(|position| (position, 1)))
}

/// Rows of this table that a script adds. Without the label it takes the same away again: see [`Sums::negated`].
///
/// # Errors
/// Never fails: only 1 is added.
pub fn rows_of(script: &ScriptHash, row: &ScriptLabel) -> Result<Vec<(NameKey, Sums)>, SumOverflow> {
    let label = row.label.as_ref();
    if label.is_some_and(|label| label.is_person) {
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    let mut add = |kind: NameKind, words: BTreeSet<String>, name: &str, sums: &Sums| {
        rows.extend(words.into_iter().map(|word| (NameKey::Word { kind, word, name: name.to_owned() }, sums.clone())));
    };
    let named = label.and_then(|label| label.entity.as_ref());
    if let Some((label, entity)) = label.zip(named) {
        add(NameKind::Entity, words_of_entity(entity, &label.name), entity.as_str(), &counts(label)?);
    }
    let of_one = Sums::of([(SCRIPTS, 1)])?;
    if let Some(member) = row.member.as_ref().filter(|member| Some(&member.entity) != named) {
        add(NameKind::Entity, words_of_entity(&member.entity, ""), member.entity.as_str(), &of_one);
    }
    if let Some(label) = label.filter(|label| label.entity.is_none() && row.member.is_none()) {
        let text = name_of_text(&label.words);
        let words: BTreeSet<String> = words(&text).into_iter().collect();
        if !words.is_empty() {
            add(NameKind::Text, words, &text, &counts(label)?);
            rows.push((NameKey::Script { text, script: *script }, of_one));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use cairn_events::{ClaimType, EvidenceTier};

    use super::*;
    use crate::labels::Member;

    fn label(entity: Option<&str>, name: &str, words: &str) -> Label {
        Label {
            claim_type: ClaimType::ControlledBy,
            tier: EvidenceTier::ThirdParty,
            level: 40,
            category: Some(Category::Exchange),
            behaviour: Some(Behaviour::HotWallet),
            then: 0,
            entity: entity.map(|name| name.parse().unwrap()),
            name: name.into(),
            words: words.into(),
            is_conflicted: false,
            is_contested: false,
            is_person: false,
        }
    }

    fn row(label: Label) -> ScriptLabel {
        ScriptLabel { label: Some(label), ..ScriptLabel::bare([0x51].into()) }
    }

    /// Words with names, and whether scripts are listed.
    fn told(row: &ScriptLabel) -> (Vec<(String, String)>, usize) {
        let rows = rows_of(&ScriptHash([7; 32]), row).unwrap();
        let (mut words, mut scripts) = (Vec::new(), 0);
        for (key, sums) in rows {
            assert_eq!(sums.get(SCRIPTS), 1);
            match key {
                NameKey::Word { word, name, .. } => words.push((word, name)),
                NameKey::Script { .. } => scripts += 1,
            }
        }
        (words, scripts)
    }

    fn pairs(words: &[&str], name: &str) -> Vec<(String, String)> {
        words.iter().map(|word| ((*word).to_owned(), name.to_owned())).collect()
    }

    #[test]
    fn an_entity_is_found_by_its_names_and_a_text_by_its_words() {
        let of_entity = row(label(Some("crypto.com"), "Crypto.com (CRO)", "not this"));
        assert_eq!(told(&of_entity), (pairs(&["com", "cro", "crypto", "cryptocom"], "crypto.com"), 0));
        let of_text = row(label(None, "", " Überweisung an den Erpresser "));
        let text = "Überweisung an den Erpresser";
        assert_eq!(told(&of_text), (pairs(&["an", "den", "erpresser", "uberweisung"], text), 1));
        let sums = rows_of(&ScriptHash([7; 32]), &of_text).unwrap();
        let (exchange, hot) = (of_category(Category::Exchange), of_behaviour(Behaviour::HotWallet));
        assert!(sums[0].1.iter().eq([(SCRIPTS, 1), (exchange, 1), (hot, 1)]), "{sums:?}");
        assert_eq!(told(&row(label(None, "", "—!—"))), (vec![], 0));
    }

    #[test]
    fn a_member_is_found_by_its_entity_and_a_person_not_at_all() {
        let member = Member { entity: "htx".parse().unwrap(), level: 40, origins: vec![], own_lists: vec![] };
        let mut of_both = row(label(Some("huobi"), "", ""));
        of_both.member = Some(member.clone());
        assert_eq!(told(&of_both).0, [pairs(&["huobi"], "huobi"), pairs(&["htx"], "htx")].concat());
        let mut of_member = row(label(None, "", "a text"));
        of_member.member = Some(member);
        assert_eq!(told(&of_member), (pairs(&["htx"], "htx"), 0));
        of_member.label.as_mut().unwrap().is_person = true;
        assert_eq!(told(&of_member), (vec![], 0));
    }

    #[test]
    fn names_are_bounded() {
        let long = row(label(None, "", &format!("{}\0é{}", "x ".repeat(59), "y".repeat(100))));
        let rows = rows_of(&ScriptHash([7; 32]), &long).unwrap();
        let NameKey::Script { text, .. } = &rows.last().unwrap().0 else { panic!("{rows:?}") };
        assert_eq!(text.len(), MAX_NAME);
        let many: String = (0..60).map(|at| format!("w{at} ")).collect();
        assert_eq!(told(&row(label(None, "", &many))).0.len(), MAX_WORDS);
    }
}
