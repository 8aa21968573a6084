//! Which claims stand at a time.

use std::collections::BTreeMap;

use cairn_events::{Claim, ClaimType, DocumentHash, EntityName, EvidenceTier, Slug};

use super::{LABELS_FROM, inherited_level, origin_group};

/// A claim as it is stated about a script, with its provenance and its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stated<'a> {
    /// The claim, with its own level; [`Stated::level`] is lower if the claim is inherited.
    pub claim: &'a Claim,
    /// The source that states it.
    pub source: &'a Slug,
    /// The licence under which it is used.
    pub licence: &'a Slug,
    /// The document that contains it.
    pub document: &'a DocumentHash,
    /// When the document was retrieved, in seconds since 1970.
    pub retrieved_at: u32,
    /// When the source's newest complete list no longer had it, in seconds since 1970.
    pub ended_at: Option<u32>,
    /// True if the holder of the key, or the operator, contests it. See [`Stated::contested`] for whether that acts.
    pub is_contested: bool,
    /// True if another script of the same cluster has the claim.
    pub inherited: bool,
}

impl<'a> Stated<'a> {
    /// When it acts: when it was asserted, else when it was retrieved.
    #[must_use]
    pub fn then(&self) -> u32 {
        self.claim.then(self.retrieved_at)
    }

    /// The origin that its source repeats.
    #[must_use]
    pub fn origin(&self) -> &'a str {
        origin_group(self.source.as_str(), self.entity().map(EntityName::as_str))
    }

    /// The entity that is named. `None` for placeholders.
    #[must_use]
    pub fn entity(&self) -> Option<&'a EntityName> {
        self.claim.entity.as_ref()
    }

    /// Its level here, 0 to 100: the claim's own, lower if it is inherited.
    #[must_use]
    pub fn level(&self) -> u8 {
        if self.inherited { inherited_level(self.claim.level) } else { self.claim.level.min(100) }
    }

    /// Its evidence tier here.
    #[must_use]
    pub fn tier(&self) -> EvidenceTier {
        if self.inherited { EvidenceTier::ClusterInherited } else { self.claim.tier }
    }

    /// True if it is contested and a contest acts on such a claim: listings and facts of the chain cannot be contested.
    #[must_use]
    pub fn contested(&self) -> bool {
        self.is_contested && !self.claim.is_incontestable()
    }

    /// True if it gives an owner or kind of the script, and not only observed behaviour.
    #[must_use]
    pub fn is_label(&self) -> bool {
        use ClaimType::{BehavesAs, ObservedIn, ParticipatedIn};
        !matches!(self.claim.claim_type, BehavesAs | ObservedIn | ParticipatedIn)
    }

    /// True if it can make the script a member of its entity: a claim of control, direct of level 40 at least or
    /// inherited of level 50 at least, that nobody contests.
    #[must_use]
    pub fn makes_member(&self) -> bool {
        let least = if self.inherited { 50 } else { 40 };
        let named = self.claim.entity.is_some() && self.claim.claim_type.makes_members();
        named && self.level() >= least && !self.contested()
    }

    /// True if it labels the script, given the winner of the votes: a direct claim of level 40 at least that names the
    /// winner or no entity. A claim that names a loser of the vote labels nothing, unless it is a listing.
    pub(super) fn labels(&self, winner: Option<&EntityName>) -> bool {
        let with_winner = self.entity().is_none() || self.entity() == winner;
        let counts = with_winner || self.claim.claim_type == ClaimType::ListedBy;
        !self.inherited && self.level() >= LABELS_FROM && counts
    }

    /// True if it extends to other scripts of the cluster: it is meant to, and nobody contests it. Else the holder of
    /// one key would contest claims about all others.
    #[must_use]
    pub fn extends(&self) -> bool {
        is_heritable(self.claim) && !self.contested()
    }

    /// True if it may hold here: an inherited claim must be meant to extend to the cluster, and a link of a cluster is
    /// not a listing.
    fn applies(&self) -> bool {
        !self.inherited || self.extends()
    }
}

/// True if a claim is meant to extend to other scripts of the cluster. A link of a cluster is not a listing.
#[must_use]
pub fn is_heritable(claim: &Claim) -> bool {
    claim.is_inherited && claim.claim_type != ClaimType::ListedBy
}

/// True if one of the claims stands and extends to other scripts of the cluster.
#[must_use]
pub fn heritable(stated: &[Stated<'_>], at: At) -> bool {
    standing_claims(stated, at).any(|stated| stated.extends())
}

/// The two clocks of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// The time asked about, in seconds since 1970.
    pub time: u32,
    /// Only documents retrieved until then count, in seconds since 1970: what could be known. `None`: all.
    pub known_until: Option<u32>,
}

impl At {
    /// A time, with all that is known today.
    #[must_use]
    pub const fn time(time: u32) -> Self {
        At { time, known_until: None }
    }

    fn knows(self, time: u32) -> bool {
        self.known_until.is_none_or(|until| time <= until)
    }
}

/// Whether a claim stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimStatus {
    /// It does.
    Stands,
    /// It is not asserted yet, does not hold yet, or is not known yet.
    NotYet,
    /// The source's list no longer has it as of then, in seconds since 1970.
    Delisted(u32),
    /// It is said to have held until then, in seconds since 1970.
    Expired(u32),
    /// It does not extend to other scripts of the cluster.
    NotInherited,
}

/// Whether each claim stands at a time, in their order: asserted, begun and not ended. If one carrier of an authority's
/// list no longer has a script, older copies of the list do not count for it.
#[must_use]
pub fn standings(stated: &[Stated<'_>], at: At) -> Vec<ClaimStatus> {
    let mut standings: Vec<ClaimStatus> = stated.iter().map(|stated| alone(stated, at)).collect();
    let mut ends: BTreeMap<&str, u32> = BTreeMap::new();
    for (stated, standing) in stated.iter().zip(&standings) {
        if let (ClaimType::ListedBy, ClaimStatus::Delisted(end)) = (stated.claim.claim_type, standing) {
            let latest = ends.entry(stated.origin()).or_insert(*end);
            *latest = (*latest).max(*end);
        }
    }
    if ends.is_empty() {
        return standings;
    }
    for (stated, standing) in stated.iter().zip(&mut standings) {
        let stands = *standing == ClaimStatus::Stands && stated.claim.claim_type == ClaimType::ListedBy;
        if let Some(end) = ends.get(stated.origin()).filter(|end| stands && stated.retrieved_at < **end) {
            *standing = ClaimStatus::Delisted(*end);
        }
    }
    standings
}

/// Whether a claim stands, for all that it says itself.
fn alone(stated: &Stated<'_>, at: At) -> ClaimStatus {
    let begun = stated.claim.valid_from.is_none_or(|from| from <= at.time);
    let delisted = stated.ended_at.filter(|ended| *ended <= at.time && at.knows(*ended));
    let expired = stated.claim.valid_to.filter(|end| *end <= at.time);
    match (delisted, expired) {
        _ if !stated.applies() => ClaimStatus::NotInherited,
        _ if !begun || stated.then() > at.time || !at.knows(stated.retrieved_at) => ClaimStatus::NotYet,
        (Some(ended), _) => ClaimStatus::Delisted(ended),
        (None, Some(ended)) => ClaimStatus::Expired(ended),
        (None, None) => ClaimStatus::Stands,
    }
}

pub(super) fn judged<'s, 'a>(stated: &'s [Stated<'a>], at: At) -> impl Iterator<Item = (Stated<'a>, ClaimStatus)> + 's {
    stated.iter().copied().zip(standings(stated, at))
}

pub(super) fn standing_claims<'s, 'a>(stated: &'s [Stated<'a>], at: At) -> impl Iterator<Item = Stated<'a>> + 's {
    judged(stated, at).filter(|(_, standing)| *standing == ClaimStatus::Stands).map(|(stated, _)| stated)
}
