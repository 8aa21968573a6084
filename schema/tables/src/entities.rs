//! Entities: their scripts and sums, kept beside the chain.
//!
//! ```text
//! entity_scripts  entity ‖ 0 ‖ class (1) ‖ 2^40 − 1 − last TxNum (5) ‖ SHA-256 of the script (32) → ∅
//!   class         0 member │ 1 named
//! entity_totals   'n' ‖ entity → sums by position, see `EntitySum`
//! entity_facets   'k' ‖ entity ‖ 0 ‖ kind (1) ‖ text → scripts, at position 0
//!   kind          0 name as people write it │ 1 origin of a claim that makes a member │ 2 list of the entity itself
//! ```
//!
//! All rows follow from those of `labels`, from the sums of their scripts, and from those of `cluster_owners`. Scripts
//! of an entity sort by their newest transaction, the newest first; those that no block has are last (all ones). A row
//! of zeros does not exist.

use std::cmp::Reverse;

use cairn_events::{Category, EntityName};
use cairn_model::TxNum;

use crate::{
    codec::{DecodeError, Input, KeyCodec},
    labels::ScriptHash,
    sums::{Sums, positions},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// The scripts of each entity.
    // Keys that begin alike, and no values.
    pub struct EntityScripts("entity_scripts": EntityScript => ()) in Home::Own(Tuning::SHORT), from Origin::Joined;
}

table! {
    /// The sums of each entity.
    pub struct EntityTotals("entity_totals": EntityName => Sums) in Home::Shared(b'n'), from Origin::Joined;
}

table! {
    /// Names, origins and lists of each entity, with how many scripts they rest on.
    pub struct EntityFacets("entity_facets": EntityFacet => Sums) in Home::Shared(b'k'), from Origin::Joined;
}

/// How a script belongs to an entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ScriptClass {
    /// It counts as the entity's.
    Member = 0,
    /// Its label names the entity, and does not make it a member.
    Named = 1,
}

/// The newest transaction of a script. The newest comes first, `None` last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Newest(pub Option<TxNum>);

impl PartialOrd for Newest {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Newest {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        Reverse(self.0).cmp(&Reverse(other.0))
    }
}

/// A script of an entity.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntityScript {
    /// The entity.
    pub entity: EntityName,
    /// How it belongs to it.
    pub class: ScriptClass,
    /// Its newest transaction.
    pub last: Newest,
    /// The script.
    pub script: ScriptHash,
}

/// Kind of a text about an entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum FacetKind {
    /// A name as people write it, of members and of scripts that are only named; at most [`EntityFacet::MAX`] bytes of
    /// it.
    Name = 0,
    /// An origin of claims that make members.
    Origin = 1,
    /// A list on which the entity itself says so: source, a slash, and the list's name.
    OwnList = 2,
}

/// A text about an entity.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntityFacet {
    /// The entity.
    pub entity: EntityName,
    /// Kind of the text.
    pub kind: FacetKind,
    /// The text.
    pub text: String,
}

impl EntityFacet {
    /// Most bytes of the text.
    pub const MAX: usize = 160;

    /// A text, cut at a letter's end if it is longer.
    #[must_use]
    pub fn new(entity: EntityName, kind: FacetKind, text: &str) -> Self {
        let mut end = text.len().min(Self::MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        EntityFacet { entity, kind, text: text.get(..end).unwrap_or_default().to_owned() }
    }
}

/// Positions of sums of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum EntitySum {
    /// Members.
    Members = 0,
    /// Members that a block has.
    Seen = 1,
    /// Satoshis that members received.
    Funded = 2,
    /// Satoshis of their coins that were spent.
    Spent = 3,
    /// Coins that members received.
    FundedCount = 4,
    /// Their coins that were spent.
    SpentCount = 5,
    /// Scripts whose label names the entity without making them members.
    Named = 6,
    /// Members and named scripts whose label is about a natural person.
    Persons = 7,
    /// Scripts that count as its own by claims about other scripts of their cluster, and are not members by their own
    /// claims.
    Inherited = 8,
    /// Satoshis that these hold.
    InheritedBalance = 9,
    /// Clusters with such scripts.
    Clusters = 10,
    /// Clusters that claims extend to and that are left out, since they have a suspect merge.
    Suspects = 11,
    /// Satoshis that scripts of these hold, without scripts that a list attributes to an entity.
    SuspectBalance = 12,
}

positions!(EntitySum);

impl EntitySum {
    /// The position of the members and named scripts whose label has this category.
    #[must_use]
    pub const fn of_category(category: Category) -> u32 {
        CATEGORIES + category.code() as u32
    }
}

/// The first position of categories.
const CATEGORIES: u32 = 16;

const NAME_OF_ENTITY: &str = "name of an entity";

/// All that is left of the key.
impl KeyCodec for EntityName {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_str().as_bytes());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let name = b.take(b.left())?;
        b.parse(name, NAME_OF_ENTITY)
    }
}

impl KeyCodec for EntityScript {
    fn encode(&self, out: &mut Vec<u8>) {
        self.entity.encode(out);
        out.extend([0, self.class as u8]);
        // The largest number of all stands for no transaction: the one that it would be is the coinbase of the genesis
        // block, which pays no script.
        out.extend(self.last.0.unwrap_or(TxNum(0)).to_be5().map(|byte| !byte));
        self.script.encode(out);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let entity = b.ended()?;
        let entity = b.parse(entity, NAME_OF_ENTITY)?;
        let class = match b.byte()? {
            0 => ScriptClass::Member,
            1 => ScriptClass::Named,
            _ => return Err(b.error("class")),
        };
        let last = TxNum::from_be5(b.array()?.map(|byte: u8| !byte));
        let last = Newest(Some(last).filter(|last| last.0 > 0));
        Ok(EntityScript { entity, class, last, script: ScriptHash::decode(b)? })
    }
}

impl KeyCodec for EntityFacet {
    fn encode(&self, out: &mut Vec<u8>) {
        self.entity.encode(out);
        out.extend([0, self.kind as u8]);
        out.extend_from_slice(self.text.as_bytes());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let entity = b.ended()?;
        let entity = b.parse(entity, NAME_OF_ENTITY)?;
        let kind = match b.byte()? {
            0 => FacetKind::Name,
            1 => FacetKind::Origin,
            2 => FacetKind::OwnList,
            _ => return Err(b.error("kind")),
        };
        let text = b.take(b.left())?;
        let text = str::from_utf8(text).map_err(|_| b.error("not UTF-8"))?.to_owned();
        if text.len() > Self::MAX { Err(b.error("text too long")) } else { Ok(EntityFacet { entity, kind, text }) }
    }
}
