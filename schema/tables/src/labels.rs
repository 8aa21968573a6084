//! Result of all claims about each script, kept beside the chain.
//!
//! ```text
//! labels     SHA-256 of the script (32) →
//!              length │ script │ flags [│ ordinal (1) │ last TxNum (5)] [│ label] [│ member] [│ sources │ source…] [│ node (5)]
//!   flags    1 the chain has it │ 2 label │ 4 member │ 8 sources │ 16 heritable │ 32 node
//!   label    type │ tier │ level │ category │ behaviour │ flags │ then │ entity │ name │ words
//!     flags  1 votes conflict │ 2 contested │ 4 natural person
//!   member   level │ entity │ origins │ origin… │ own lists │ (source │ list)…
//! label_due  'w' ‖ SHA-256 of the script (32) → ∅
//! ```
//!
//! Texts have their length in front; category and behaviour are 0 if there is none. A row follows from the claims of
//! its script, judged for the end of time, and from the newest transaction of the script: so it is the same in whatever
//! order blocks and documents came, and no clock changes it. A claim that says when it ends gives no label here.
//! Scripts in `label_due` have claims that their row, if there is one, does not follow from yet.

use std::sync::Arc;

use cairn_events::{
    Behaviour, Category, ClaimType, EntityName, EvidenceTier, Slug,
    claim::{MAX_NAME, MAX_SCRIPT},
};
use cairn_model::{BlockHash, Height, ScriptId, ScriptPrefix, TxNum};

use crate::{
    checkpoints::Checkpoint,
    claims::ListKey,
    codec::{DecodeError, Input, KeyCodec, ValueCodec, key_of_fields, put_bytes, put_varint},
    stages::{CLUSTERS, SCRIPTS},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// The labels.
    // Texts that repeat. Blocks are looked up by the ids of their scripts, of which nearly none has a label: the filter
    // covers what the id has of the hash.
    pub struct Labels("labels": ScriptHash => ScriptLabel)
        in Home::Own(Tuning { block_size: 8 << 10, filter_bits: 10, filter_prefix: 8, ..Tuning::SHORT }), from Origin::Joined;
}

table! {
    /// Scripts that are to be judged again.
    pub struct LabelDue("label_due": ScriptHash => ()) in Home::Shared(b'w'), from Origin::Joined;
}

/// Name of the checkpoint of the joined tables: those that are kept with both chain and claims.
pub const JOINED: &str = "labels";

/// Version of their rows, and of the rules that these follow from: another one makes them again.
const JOINED_VERSION: u32 = 4;

/// Their checkpoint at a block.
#[must_use]
pub fn joined_at(height: Height, hash: BlockHash) -> Checkpoint {
    let dependencies = [&CLUSTERS, &SCRIPTS].map(|stage| (stage.name.to_owned(), stage.version)).into();
    Checkpoint { version: JOINED_VERSION, height, hash, seq: 0, dependencies, further: Vec::new() }
}

/// True if this is their checkpoint at a block: then all rows follow from the chain up to there, but those of scripts
/// in [`LabelDue`], and those of clusters in [`OwnersDue`](crate::cluster_owners::OwnersDue).
#[must_use]
pub fn is_joined_at(found: &Checkpoint, height: Height, hash: BlockHash) -> bool {
    Checkpoint { seq: 0, further: Vec::new(), ..found.clone() } == joined_at(height, hash)
}

/// Longest short name in bytes.
const MAX_SLUG: usize = 32;

/// SHA-256 of a script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ScriptHash(pub [u8; 32]);

impl ScriptHash {
    /// The part of it that ids of scripts contain.
    #[must_use]
    pub fn prefix(&self) -> ScriptPrefix {
        ScriptPrefix(std::array::from_fn(|at| self.0[at]))
    }
}

key_of_fields! { ScriptHash { 0 } }

/// Label of a script, and its place in the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptLabel {
    /// The scriptPubKey.
    pub script: Arc<[u8]>,
    /// `None` while no block has it.
    pub seen: Option<SeenScript>,
    /// The owner or kind that claims give it.
    pub label: Option<Label>,
    /// Entity to which it belongs.
    pub member: Option<Member>,
    /// The sources that label it, ascending: those of claims from level 40 on. Empty unless it is labelled: it has an
    /// uncontested label from level 40 on, and no conflict of votes.
    pub sources: Vec<Slug>,
    /// True if a claim that stands extends to other scripts of its cluster.
    pub is_heritable: bool,
    /// Its node of the clusters, if it has one.
    pub node: Option<TxNum>,
}

/// Place of a script in the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeenScript {
    /// The ordinal of its id.
    pub ordinal: u8,
    /// Its newest transaction.
    pub last: TxNum,
}

/// The claim that a card would show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Type of the claim.
    pub claim_type: ClaimType,
    /// Grade of its evidence.
    pub tier: EvidenceTier,
    /// Confidence, 0 to 100.
    pub level: u8,
    /// Kind of entity.
    pub category: Option<Category>,
    /// The behaviour that is claimed.
    pub behaviour: Option<Behaviour>,
    /// When it was asserted, else when its document was retrieved, in seconds since 1970.
    pub then: u32,
    /// The entity; `None` if the claim names none.
    pub entity: Option<EntityName>,
    /// The entity's name as people write it; may be empty.
    pub name: Arc<str>,
    /// The source's own words; may be empty.
    pub words: Arc<str>,
    /// True if no entity has three quarters of the votes.
    pub is_conflicted: bool,
    /// True if the claim is contested.
    pub is_contested: bool,
    /// True if it is about a natural person.
    pub is_person: bool,
}

/// Entity to which a script belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// The entity.
    pub entity: EntityName,
    /// The highest level of a claim that makes it a member, 40 to 100.
    pub level: u8,
    /// The origins of those claims, ascending.
    pub origins: Vec<Arc<str>>,
    /// Lists on which the entity itself says so, ascending.
    pub own_lists: Vec<ListKey>,
}

impl ScriptLabel {
    /// A script that no block has, with nothing said of it yet.
    #[must_use]
    pub fn bare(script: Arc<[u8]>) -> Self {
        ScriptLabel {
            script,
            seen: None,
            label: None,
            member: None,
            sources: Vec::new(),
            is_heritable: false,
            node: None,
        }
    }

    /// True if claims about the script itself name an entity. Then only these count, whatever claims there are about
    /// the other scripts of its cluster.
    #[must_use]
    pub fn names_somebody(&self) -> bool {
        self.label.as_ref().is_some_and(|label| label.entity.is_some() && label.level > 0)
    }

    /// Its id, once a block has it.
    #[must_use]
    pub fn id(&self, hash: &ScriptHash) -> Option<ScriptId> {
        self.seen.map(|seen| ScriptId { prefix: hash.prefix(), ordinal: seen.ordinal })
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

fn word<W>(b: &mut Input<'_>, of_code: impl Fn(u8) -> Option<W>) -> Result<W, DecodeError> {
    let code = b.byte()?;
    of_code(code).ok_or_else(|| b.error("word of a label"))
}

fn optional<W>(b: &mut Input<'_>, of_code: impl Fn(u8) -> Option<W>) -> Result<Option<W>, DecodeError> {
    word(b, |code| if code == 0 { Some(None) } else { of_code(code).map(Some) })
}

fn level(b: &mut Input<'_>) -> Result<u8, DecodeError> {
    word(b, |level| Some(level).filter(|level| *level <= 100))
}

fn flags(b: &mut Input<'_>, count: u32) -> Result<u8, DecodeError> {
    word(b, |flags| Some(flags).filter(|flags| flags >> count == 0))
}

fn source(b: &mut Input<'_>) -> Result<Slug, DecodeError> {
    b.text(MAX_SLUG)?.parse().map_err(|_| b.error("short name"))
}

fn name(b: &mut Input<'_>) -> Result<Option<EntityName>, DecodeError> {
    let name = Some(b.text(EntityName::MAX)?).filter(|text| !text.is_empty()).map(|text| text.parse()).transpose();
    name.map_err(|_| b.error("name of an entity"))
}

/// Values that ascend.
fn ascending<V: Ord>(
    b: &mut Input<'_>,
    one: impl Fn(&mut Input<'_>) -> Result<V, DecodeError>,
) -> Result<Vec<V>, DecodeError> {
    let count = b.count()?;
    let mut all = Vec::new();
    for _ in 0..count {
        let next = one(b)?;
        if all.last().is_some_and(|last| *last >= next) {
            return Err(b.error("order"));
        }
        all.push(next);
    }
    Ok(all)
}

impl Label {
    fn encode(&self, out: &mut Vec<u8>) {
        let [category, behaviour] =
            [self.category.map_or(0, Category::code), self.behaviour.map_or(0, Behaviour::code)];
        let flags = [self.is_conflicted, self.is_contested, self.is_person];
        let flags = (0..).zip(flags).fold(0, |flags, (at, is_set)| flags | u8::from(is_set) << at);
        out.extend([self.claim_type.code(), self.tier.code(), self.level, category, behaviour, flags]);
        put_varint(out, self.then.into());
        let entity = self.entity.as_ref().map_or("", EntityName::as_str);
        [entity, &self.name, &self.words].into_iter().for_each(|text| put_text(out, text));
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (claim_type, tier, level) = (word(b, ClaimType::of_code)?, word(b, EvidenceTier::of_code)?, level(b)?);
        let (category, behaviour) = (optional(b, Category::of_code)?, optional(b, Behaviour::of_code)?);
        let (flags, then) = (flags(b, 3)?, b.varint32()?);
        let (entity, name, words) = (name(b)?, b.text(MAX_NAME)?.into(), b.text(MAX_NAME)?.into());
        let [is_conflicted, is_contested, is_person] = [1, 2, 4].map(|flag| flags & flag != 0);
        #[rustfmt::skip]
        let label = Label {
            claim_type, tier, level, category, behaviour, then, entity, name, words, is_conflicted, is_contested, is_person,
        };
        Ok(label)
    }
}

impl Member {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.level);
        put_text(out, self.entity.as_str());
        put_varint(out, self.origins.len() as u64);
        self.origins.iter().for_each(|origin| put_text(out, origin));
        put_varint(out, self.own_lists.len() as u64);
        self.own_lists.iter().for_each(|list| list.encode(out));
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (level, entity) = (level(b)?, name(b)?.ok_or_else(|| b.error("name of an entity"))?);
        let origins = ascending(b, |b| b.text(EntityName::MAX).map(Arc::from))?;
        Ok(Member { entity, level, origins, own_lists: ascending(b, ListKey::decode)? })
    }
}

impl ValueCodec for ScriptLabel {
    fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(out, &self.script);
        let parts = [self.seen.is_some(), self.label.is_some(), self.member.is_some(), !self.sources.is_empty()];
        let parts = parts.into_iter().chain([self.is_heritable, self.node.is_some()]);
        out.push((0..).zip(parts).fold(0, |flags, (at, is_there)| flags | u8::from(is_there) << at));
        if let Some(SeenScript { ordinal, last }) = self.seen {
            out.push(ordinal);
            out.extend_from_slice(&last.to_be5());
        }
        self.label.iter().for_each(|label| label.encode(out));
        self.member.iter().for_each(|member| member.encode(out));
        if !self.sources.is_empty() {
            put_varint(out, self.sources.len() as u64);
            self.sources.iter().for_each(|source| put_text(out, source.as_str()));
        }
        self.node.iter().for_each(|node| out.extend_from_slice(&node.to_be5()));
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let length = usize::try_from(b.varint()?).ok().filter(|length| (1..=MAX_SCRIPT).contains(length));
        let length = length.ok_or_else(|| b.error("length of a script"))?;
        let script = b.take(length)?.into();
        let flags = flags(b, 6)?;
        let part = |flag: u8| flags & flag != 0;
        let seen = if part(1) { Some(SeenScript { ordinal: b.byte()?, last: b.tx_num()? }) } else { None };
        let label = if part(2) { Some(Label::decode(b)?) } else { None };
        let member = if part(4) { Some(Member::decode(b)?) } else { None };
        let sources = if part(8) { ascending(b, source)? } else { Vec::new() };
        let (is_heritable, node) = (part(16), if part(32) { Some(b.tx_num()?) } else { None });
        match (&label, &member) {
            _ if part(8) && sources.is_empty() => Err(b.error("no source")),
            _ if node.is_some() && seen.is_none() => Err(b.error("a node without coins")),
            (None, None) if !is_heritable => Err(b.error("neither label nor member")),
            _ => Ok(ScriptLabel { script, seen, label, member, sources, is_heritable, node }),
        }
    }
}
