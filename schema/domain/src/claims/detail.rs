//! The evidence behind a label: every claim, grouped by the entity that it names and by its type, in pages.

use std::{cmp::Reverse, collections::BTreeMap};

use cairn_events::{ClaimType, EntityName};
use cairn_model::each_once;

use super::{At, ClaimStatus, Confidence, Stated, best::rank, confidence_tier, standing::judged};

/// A claim and its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evidence<'a> {
    /// The claim, with where it comes from.
    pub stated: Stated<'a>,
    /// Whether it stands or has ended.
    pub standing: ClaimStatus,
    /// The word of its level after inheritance and staleness.
    pub confidence_tier: Confidence,
}

/// The claims that name the same entity, or none, and are of the same type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvidenceGroup<'a> {
    /// The entity; `None` for claims that name none.
    pub entity: Option<&'a EntityName>,
    /// Type of the claims.
    pub claim_type: ClaimType,
    /// How many claims, also those of other pages.
    pub claims: usize,
    /// How many of them stand.
    pub standing: usize,
    /// How many origins the claims that stand have.
    pub origins: usize,
    /// The highest level of those that stand, 0 to 100, after inheritance.
    pub highest_level: u8,
    /// True if one that stands is contested.
    pub is_contested: bool,
    /// The claims of this page: those that stand first, then as a card prefers them.
    pub rows: Vec<Evidence<'a>>,
}

/// A page of the evidence of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Detail<'a> {
    /// The groups with claims on this page: the highest level first, then by entity and type. A group that a page cuts
    /// goes on in the next.
    pub groups: Vec<EvidenceGroup<'a>>,
    /// Number of all claims.
    pub total_claims: usize,
    /// Number of all groups.
    pub total_groups: usize,
    /// Position of the first claim of the next page. `None` at the end.
    pub next: Option<usize>,
}

/// At most `limit` of the claims that stand or have ended, from position `from` on. Positions hold for the same claims
/// and the same time; a page beyond the end is empty.
#[must_use]
pub fn detail<'a>(stated: &[Stated<'a>], at: At, from: usize, limit: usize) -> Detail<'a> {
    let groups = groups(stated, at);
    let (total_groups, total_claims) = (groups.len(), groups.iter().map(|group| group.rows.len()).sum());
    let end = from.saturating_add(limit).min(total_claims);
    let (mut page, mut position) = (Vec::new(), 0);
    for mut group in groups {
        let begins = position;
        position += group.rows.len();
        group.rows.truncate(end.saturating_sub(begins));
        group.rows.drain(..from.saturating_sub(begins).min(group.rows.len()));
        if !group.rows.is_empty() {
            page.push(group);
        }
    }
    Detail { groups: page, total_claims, total_groups, next: (end < total_claims).then_some(end) }
}

fn groups<'a>(stated: &[Stated<'a>], at: At) -> Vec<EvidenceGroup<'a>> {
    let mut found: BTreeMap<_, Vec<Evidence<'a>>> = BTreeMap::new();
    for (one, standing) in judged(stated, at) {
        if !matches!(standing, ClaimStatus::NotYet | ClaimStatus::NotInherited) {
            let row = Evidence { stated: one, standing, confidence_tier: confidence_tier(&one, at.time) };
            found.entry((one.entity(), one.claim.claim_type)).or_default().push(row);
        }
    }
    let mut groups: Vec<EvidenceGroup<'a>> =
        found.into_iter().map(|((entity, claim_type), rows)| group(entity, claim_type, rows)).collect();
    // Stable: of equal levels, by entity and type.
    groups.sort_by_key(|group| Reverse((group.standing > 0, group.highest_level)));
    groups
}

fn group<'a>(entity: Option<&'a EntityName>, claim_type: ClaimType, mut rows: Vec<Evidence<'a>>) -> EvidenceGroup<'a> {
    rows.sort_by_cached_key(|row| (row.standing != ClaimStatus::Stands, rank(&row.stated)));
    let standing = || rows.iter().filter(|row| row.standing == ClaimStatus::Stands).map(|row| &row.stated);
    let origins = each_once(standing().map(Stated::origin));
    EvidenceGroup {
        entity,
        claim_type,
        claims: rows.len(),
        standing: standing().count(),
        origins: origins.len(),
        highest_level: standing().map(Stated::level).max().unwrap_or(0),
        is_contested: standing().any(Stated::contested),
        rows,
    }
}
