//! Common parts of answers about entities.

use std::borrow::Cow;

use cairn_domain::entities::{Coverage, Order};
use cairn_events::Category;
use cairn_http::ApiError;
use cairn_model::{Sats, TxNum};
use cairn_reader::View;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use crate::{
    context::Ctx,
    register::{Entry, Register},
    values::{Btc, rfc3339},
};

/// The word where no source says what kind of entity it is.
pub(super) const UNLABELED: &str = "unlabeled";

/// An entity in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EntityBrief {
    /// Name for paths.
    pub(super) name: String,
    /// Name as people write it: the one that most of its scripts are said to have.
    pub(super) display_name: String,
    /// The category that most of its scripts are said to have; `unlabeled` if no source gives one.
    pub(super) category: &'static str,
    /// `full`, `substantial`, `partial` or `seed_only`: how good the evidence is, not which share of its addresses is
    /// known.
    pub(super) coverage_status: &'static str,
    /// Scripts that count as the entity's: its members.
    pub(super) address_count: u64,
    /// Scripts that are listed, reported or mentioned under its name and are not members.
    pub(super) named_count: u64,
    /// Independent origins of the claims that make them members; 64 are counted at most.
    pub(super) origin_count: u64,
    /// Balance of its members, and of other scripts of their clusters that claims extend to.
    pub(super) balance_sats: u64,
    pub(super) balance_btc: Btc,
    /// Time of the block with the newest transaction of a member; null if the chain has none of them.
    pub(super) last_activity_at: Option<String>,
    pub(super) last_activity_unix: Option<u32>,
}

impl EntityBrief {
    pub(super) fn of(entry: &Entry, view: &View<'_>, now: u32) -> Self {
        let last = entry.last.and_then(|last| block_time(view, last));
        EntityBrief {
            name: entry.name.to_string(),
            display_name: entry.shown.to_string(),
            category: word(entry.category),
            coverage_status: coverage(entry, now).as_str(),
            address_count: entry.evidence.members,
            named_count: entry.named,
            origin_count: entry.evidence.origins,
            balance_sats: entry.balance,
            balance_btc: Btc::of(entry.balance),
            last_activity_at: last.map(rfc3339),
            last_activity_unix: last,
        }
    }
}

/// Basis of an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Basis {
    /// True if labels are loaded: otherwise no entity is known.
    labels_loaded: bool,
    /// True while a document of labels is being worked in: until then some entities lack scripts of it, or keep some
    /// that it ends.
    labels_pending: bool,
    /// Sequence number of the newest input event that the index has taken.
    seq: u64,
    /// Members are scripts with a claim of their own. Of other scripts of their clusters only the balance counts, apart
    /// where an answer has both.
    members: &'static str,
}

impl Basis {
    pub(super) fn of(ctx: &Ctx<'_>, view: &View<'_>) -> Result<Self, ApiError> {
        let (labels_loaded, labels_pending) = (view.claims().has_any()?, !view.labels().are_settled()?);
        if !labels_loaded {
            ctx.warn("no_label_source", "no labels are loaded: no entity is known");
        }
        if labels_pending {
            ctx.warn("labels_pending", "a document of labels is being worked in; ask again in a moment for all of it");
        }
        Ok(Basis { labels_loaded, labels_pending, seq: view.tip().seq, members: "direct" })
    }
}

/// Warns if there are more entities than are listed.
pub(super) fn warn_if_cut(ctx: &Ctx<'_>, all: &Register) {
    if all.is_cut {
        let message = "there are more entities than are listed: those after the first 50 000 by name are missing";
        ctx.warn("entities_truncated", message);
    }
}

/// The coverage of an entity now.
pub(super) fn coverage(entry: &Entry, now: u32) -> Coverage {
    entry.evidence.coverage(now)
}

pub(super) fn word(category: Option<Category>) -> &'static str {
    category.map_or(UNLABELED, Category::as_str)
}

/// Time of the header of the block with a transaction. No read.
pub(super) fn block_time(view: &View<'_>, tx: TxNum) -> Option<u32> {
    let height = view.chain().height_of(tx)?;
    view.chain().get(height).map(|block| block.time)
}

/// Sums over entities.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Total {
    pub(super) entities: u64,
    pub(super) members: u64,
    pub(super) balance: Sats,
}

impl Total {
    pub(super) fn add(&mut self, entry: &Entry) {
        self.entities += 1;
        self.members = self.members.saturating_add(entry.evidence.members);
        self.balance = self.balance.saturating_add(entry.balance);
    }
}

/// The categories of entities, each with its sums and its entities, the largest first. Categories are sorted by
/// balance, then by number of entities, then by their place in the vocabulary.
pub(super) fn by_category(all: &Register) -> Vec<(&'static str, Total, Vec<&Entry>)> {
    let categories = Category::ALL.iter().map(|category| Some(*category)).chain([None]);
    let mut found: Vec<_> = categories.map(|category| (word(category), Total::default(), Vec::new())).collect();
    for entry in all.sorted(Order::Balance) {
        if let Some((_, total, entries)) = found.iter_mut().find(|(category, ..)| *category == word(entry.category)) {
            total.add(entry);
            entries.push(entry);
        }
    }
    found.retain(|(_, total, _)| total.entities > 0);
    found.sort_by_key(|(_, total, _)| std::cmp::Reverse((total.balance, total.entities)));
    found
}

/// A category, as a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CategoryParam(pub(super) Option<Category>);

impl<'de> Deserialize<'de> for CategoryParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            UNLABELED => Ok(CategoryParam(None)),
            word => word.parse().map(|category| CategoryParam(Some(category))).map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for CategoryParam {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EntityCategory".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Category::ALL.iter().map(|category| category.as_str()).chain([UNLABELED]).collect();
        json_schema!({"type": "string", "enum": words})
    }
}
