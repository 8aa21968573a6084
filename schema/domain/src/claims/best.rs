//! Which claim a card shows.

use std::cmp::Reverse;

use cairn_events::EntityName;

use super::Stated;

/// The order of claims for a card, the one to show first: not contested, higher level, stronger tier, newer, then by
/// source, document and row, so that it does not depend on the order in which they were read.
pub(super) fn rank<'a>(stated: &Stated<'a>) -> impl Ord + use<'a> {
    let weight = (stated.contested(), Reverse(stated.level()), stated.tier(), Reverse(stated.then()));
    (weight, stated.source, stated.document, stated.claim.row, &stated.claim.script)
}

/// The claim that a card shows: of the entity with the votes, else of all.
pub(super) fn best<'a>(labels: &[Stated<'a>], winner: Option<&EntityName>) -> Option<Stated<'a>> {
    let candidates = labels.iter().filter(|stated| winner.is_none() || stated.entity() == winner);
    candidates.min_by_key(|stated| rank(stated)).copied()
}
