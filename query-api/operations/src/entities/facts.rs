//! Common parts of answers about entities.

use cairn_domain::entities::{Coverage, Order};
use cairn_events::Category;

use crate::{
    operation::prelude::*,
    parsed::{parsed, schema},
    register::{Entry, Register},
};

/// The word where no source says what kind of entity it is.
pub(super) const UNLABELED: &str = "unlabeled";

/// An entity in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EntityBrief {
    /// Name of the entity in paths.
    pub(super) name: String,
    /// Display name: the name that sources give to most of its scripts.
    pub(super) display_name: String,
    /// Category that sources give to most of its scripts; `unlabeled` if no source gives one.
    pub(super) category: &'static str,
    /// Quality of the evidence: `full`, `substantial`, `partial` or `seed_only`. It is not the share of its addresses
    /// that is known.
    pub(super) coverage_status: &'static str,
    /// Number of members: scripts that count as the entity's.
    pub(super) address_count: u64,
    /// Number of scripts that are listed, reported or mentioned under the entity's name and are not members.
    pub(super) named_count: u64,
    /// Number of independent origins of the claims about members, counted up to 64.
    pub(super) origin_count: u64,
    /// Balance of the members, and of other scripts in their clusters to which claims extend.
    pub(super) balance_sats: u64,
    pub(super) balance_btc: Btc,
    /// Time of the block with the newest transaction of a member; null if no member has one.
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
    /// True if labels are loaded; otherwise no entity is known.
    labels_loaded: bool,
    /// True while an import of labels is being applied: until then entities may lack new scripts or keep removed ones.
    labels_pending: bool,
    /// Sequence number of the newest input event that the index has applied.
    seq: u64,
    /// Rule for members, as a sentence: which scripts are members, and which only add to the balance.
    members: &'static str,
}

impl Basis {
    pub(super) fn of(ctx: &Ctx<'_>, view: &View<'_>) -> Result<Self, ApiError> {
        let (labels_loaded, labels_pending) = (view.claims().has_any()?, !view.labels().are_settled()?);
        if !labels_loaded {
            ctx.warn("no_label_source", "no labels are loaded: no entity is known");
        }
        if labels_pending {
            ctx.warn("labels_pending", "an import of labels is being applied; try again in a moment");
        }
        Ok(Basis { labels_loaded, labels_pending, seq: view.tip().seq, members: "direct" })
    }
}

pub(super) fn warn_if_cut(ctx: &Ctx<'_>, all: &Register) {
    if all.is_cut {
        let message = "there are more entities than are listed: those after the first 50 000 by name are missing";
        ctx.warn("entities_truncated", message);
    }
}

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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CategoryParam(pub(super) Option<Category>);

parsed!(CategoryParam, |text: &str| match text {
    UNLABELED => Ok(CategoryParam(None)),
    word => word.parse().map(|category| CategoryParam(Some(category))),
});

schema!(inline CategoryParam, "EntityCategory", {
    "type": "string",
    "enum": Category::ALL.iter().map(|category| category.as_str()).chain([UNLABELED]).collect::<Vec<_>>(),
});
