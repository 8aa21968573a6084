//! The label of a script in one line, for rows of other answers: transactions, alerts, nodes of a graph.

use cairn_events::EntityName;

use super::{At, CardLabel, Confidence, Stated, best::best, confidence_tier, consensus, standing::standing_claims};

/// A label without its evidence. Each of its words is that of the card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShortLabel<'a> {
    /// The owner or kind that claims give it.
    pub label: CardLabel<'a>,
    /// The entity; `None` if the claim names none.
    pub entity: Option<&'a EntityName>,
    /// The word after inheritance and staleness.
    pub confidence_tier: Confidence,
    /// True if another script of the same cluster has the claim.
    pub inherited: bool,
    /// True if no entity has three quarters of the votes.
    pub is_conflicted: bool,
    /// True if the claim is contested.
    pub is_contested: bool,
    /// The claim.
    pub best: Stated<'a>,
}

/// The label of a script with these claims, as its card has it. `None` if no claim gives an owner or kind.
#[must_use]
pub fn short_label<'a>(stated: &[Stated<'a>], at: At) -> Option<ShortLabel<'a>> {
    let labels: Vec<Stated<'a>> = standing_claims(stated, at).filter(Stated::is_label).collect();
    let votes = consensus(&labels, at);
    let best = best(&labels, votes.first())?;
    Some(ShortLabel {
        label: CardLabel::of_claim(&best),
        entity: best.entity(),
        confidence_tier: confidence_tier(&best, at.time),
        inherited: best.inherited,
        is_conflicted: votes.is_conflicted,
        is_contested: best.contested(),
        best,
    })
}

/// The claims that label a script: those for which its card has the state `labeled`. None if that is contested, or if
/// votes conflict.
#[must_use]
pub fn labelling<'a>(stated: &[Stated<'a>], at: At) -> Vec<Stated<'a>> {
    let labels: Vec<Stated<'a>> = standing_claims(stated, at).filter(Stated::is_label).collect();
    let votes = consensus(&labels, at);
    if votes.is_conflicted || labels.iter().any(Stated::contested) {
        return Vec::new();
    }
    labels.into_iter().filter(|stated| stated.labels(votes.first())).collect()
}
