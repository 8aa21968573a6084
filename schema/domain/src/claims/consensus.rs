//! Votes of claims on the owner: one for each origin; copies have none of their own.

use std::collections::BTreeMap;

use cairn_events::EntityName;
use cairn_model::each_once;

use super::{At, Stated, standing::standing_claims};

cairn_model::words! {
    /// Result of the votes.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum ConsensusState {
        /// No entity is named.
        None = "none",
        /// One origin names one entity.
        SingleOrigin = "single_origin",
        /// Two origins or more name the same entity, and none another.
        Corroborated = "corroborated",
        /// Others are named too, but one entity has three quarters of the votes.
        Majority = "majority",
        /// No entity has three quarters of the votes.
        Conflicted = "conflicted",
        /// A claim that names an entity is contested.
        Contested = "contested",
    }
    /// The word, as answers have it.
    pub fn as_str;
}

/// Which claims vote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Claims of control, since one of them can make the script a member. Who is listed, reported or mentioned neither
    /// confirms nor contradicts who controls it.
    Control,
    /// All claims that name an entity, since none can make it a member.
    Naming,
}

/// The votes for an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tally<'a> {
    /// The entity.
    pub entity: &'a EntityName,
    /// Sum over the origins of the highest level of each.
    pub sum: u64,
    /// How many origins.
    pub origins: usize,
}

/// The votes and their result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consensus<'a> {
    /// Their result.
    pub state: ConsensusState,
    /// Which claims voted.
    pub basis: Basis,
    /// Sums by entity, the largest first; equal ones by name.
    pub tallies: Vec<Tally<'a>>,
    /// How many origins voted.
    pub origins: usize,
    /// True if the first has less than three quarters of the votes, contested or not.
    pub is_conflicted: bool,
}

impl<'a> Consensus<'a> {
    /// The entity with the largest sum; in a conflict, too.
    #[must_use]
    pub fn first(&self) -> Option<&'a EntityName> {
        self.tallies.first().map(|tally| tally.entity)
    }

    /// True if more than one entity is named.
    #[must_use]
    pub fn has_conflict(&self) -> bool {
        self.tallies.len() > 1
    }
}

/// Counts the votes of the claims that stand. Claims without an entity, claims of level 0, and claims about behaviour
/// that was only observed have no vote. Contested claims vote only if there are no others.
#[must_use]
pub fn consensus<'a>(stated: &[Stated<'a>], at: At) -> Consensus<'a> {
    let naming: Vec<Stated<'a>> = standing_claims(stated, at)
        .filter(|stated| stated.claim.entity.is_some() && stated.is_label() && stated.level() > 0)
        .collect();
    let is_contested = naming.iter().any(Stated::contested);
    let only_contested = naming.iter().all(Stated::contested);
    let basis = if naming.iter().any(Stated::makes_member) { Basis::Control } else { Basis::Naming };
    let mut votes = BTreeMap::new();
    for stated in naming.iter().filter(|stated| only_contested || !stated.contested()) {
        let votes_here = basis == Basis::Naming || stated.claim.claim_type.makes_members();
        if let Some(entity) = stated.entity().filter(|_| votes_here) {
            let level = votes.entry((entity, stated.origin())).or_insert(0_u8);
            *level = (*level).max(stated.level());
        }
    }
    let origins = each_once(votes.keys().map(|(_, origin)| *origin));
    let tallies = tallies(&votes);
    let total: u64 = tallies.iter().map(|tally| tally.sum).sum();
    let is_conflicted = tallies.first().is_some_and(|first| first.sum * 4 < total * 3);
    let state = match &tallies[..] {
        _ if is_contested => ConsensusState::Contested,
        [] => ConsensusState::None,
        [_] if origins.len() == 1 => ConsensusState::SingleOrigin,
        [_] => ConsensusState::Corroborated,
        _ if is_conflicted => ConsensusState::Conflicted,
        _ => ConsensusState::Majority,
    };
    Consensus { state, basis, tallies, origins: origins.len(), is_conflicted }
}

/// The votes by entity, the largest sum first.
fn tallies<'a>(votes: &BTreeMap<(&'a EntityName, &'a str), u8>) -> Vec<Tally<'a>> {
    let mut tallies: Vec<Tally<'a>> = Vec::new();
    for ((entity, _), level) in votes {
        match tallies.last_mut() {
            Some(last) if last.entity == *entity => {
                last.sum += u64::from(*level);
                last.origins += 1;
            }
            _ => tallies.push(Tally { entity, sum: u64::from(*level), origins: 1 }),
        }
    }
    // Stable: of equal sums the names stay ascending.
    tallies.sort_by_key(|tally| std::cmp::Reverse(tally.sum));
    tallies
}

/// Entity to which a script belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Membership<'a> {
    /// The entity.
    pub entity: &'a EntityName,
    /// True if a claim about the script itself says so, false if only its cluster has one.
    pub is_direct: bool,
}

/// Entity to which a script belongs: the one with the votes, if a claim of control makes it a member. `None` if the
/// votes conflict.
#[must_use]
pub fn membership<'a>(stated: &[Stated<'a>], at: At) -> Option<Membership<'a>> {
    let consensus = consensus(stated, at);
    let entity = consensus.first().filter(|_| !consensus.is_conflicted)?;
    let makes = |stated: &Stated<'a>| stated.entity() == Some(entity) && stated.makes_member();
    let direct = standing_claims(stated, at).filter(makes).map(|stated| !stated.inherited);
    direct.reduce(|one, other| one || other).map(|is_direct| Membership { entity, is_direct })
}
