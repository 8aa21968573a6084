//! Limits of a card.

use std::collections::{BTreeMap, BTreeSet};

use cairn_events::{ClaimType, EntityName, EvidenceTier};

use super::{
    At, ClaimStatus, Consensus, Facts, Risk, Stated, authority,
    flags::{flag_of, risk_of},
    is_stale,
    standing::{judged, standing_claims},
};

/// Seconds without a check after which a feed is stale: 48 hours.
pub const FEED_STALE_AFTER: u32 = 48 * 3_600;
/// Most names in one caveat, and most caveats of one kind.
pub const MAX_NAMED: usize = 10;

/// A caveat that follows from claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimCaveat<'a> {
    /// The claim that the card shows is older than a year.
    SourceStale {
        /// Its source.
        source: &'a str,
        /// When it was asserted, in seconds since 1970.
        asserted_at: u32,
    },
    /// The feed of sanctions was last checked more than 48 hours ago.
    FeedStale {
        /// When, in seconds since 1970.
        checked_at: u32,
    },
    /// Nothing was found, and no list has everything.
    ListNotExhaustive,
    /// A list had it and no longer has.
    Delisted {
        /// Authority that publishes the list.
        authority: &'a str,
        /// As of when, in seconds since 1970.
        as_of: u32,
    },
    /// It holds for another script of the same cluster.
    ClusterInherited,
    /// A claim that counts comes from a community, and nobody checked it.
    CommunityUnverified,
    /// The source named another entity before.
    LabelRestated {
        /// The source.
        source: &'a str,
        /// Party that it named.
        was: &'a EntityName,
        /// Until when, in seconds since 1970.
        until: u32,
    },
    /// Several sources repeat one origin: one vote.
    CopyOfSameOrigin {
        /// The origin.
        origin: &'a str,
        /// How many sources.
        sources: usize,
    },
    /// Claims name different entities.
    ConflictingClaims {
        /// The entities, the one with most votes first; [`MAX_NAMED`] at most.
        entities: Vec<&'a EntityName>,
        /// How many there are.
        count: usize,
    },
}

impl ClaimCaveat<'_> {
    /// The code, as answers have it.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SourceStale { .. } => "source_stale",
            Self::FeedStale { .. } => "feed_stale",
            Self::ListNotExhaustive => "list_not_exhaustive",
            Self::Delisted { .. } => "delisted",
            Self::ClusterInherited => "cluster_inherited",
            Self::CommunityUnverified => "community_unverified",
            Self::LabelRestated { .. } => "label_restated",
            Self::CopyOfSameOrigin { .. } => "copy_of_same_origin",
            Self::ConflictingClaims { .. } => "conflicting_claims",
        }
    }
}

/// The caveats of a card, in a fixed order.
pub(super) fn caveats<'a>(
    stated: &[Stated<'a>],
    facts: &Facts,
    best: Option<&Stated<'a>>,
    votes: &Consensus<'a>,
    risk: Risk,
) -> Vec<ClaimCaveat<'a>> {
    let (at, mut all) = (facts.at, Vec::new());
    if let Some(best) = best.filter(|best| is_stale(best, at.time)) {
        all.push(ClaimCaveat::SourceStale { source: best.source.as_str(), asserted_at: best.then() });
    }
    if let Some(checked_at) = facts.feed_checked_at.filter(|then| at.time.saturating_sub(*then) > FEED_STALE_AFTER) {
        all.push(ClaimCaveat::FeedStale { checked_at });
    }
    if risk != Risk::DirectFlag || best.is_none() {
        all.push(ClaimCaveat::ListNotExhaustive);
    }
    all.extend(delisted(stated, at));
    let counts: Vec<Stated<'a>> =
        standing_claims(stated, at).filter(|one| best == Some(one) || risk_of(one) != Risk::NoneObserved).collect();
    if counts.iter().any(|stated| stated.inherited) {
        all.push(ClaimCaveat::ClusterInherited);
    }
    if counts.iter().any(|stated| stated.claim.tier == EvidenceTier::Community) {
        all.push(ClaimCaveat::CommunityUnverified);
    }
    all.extend(best.into_iter().flat_map(|best| restated(stated, at, best)));
    all.extend(copies(stated, at));
    if votes.has_conflict() {
        let entities = votes.tallies.iter().take(MAX_NAMED).map(|tally| tally.entity).collect();
        all.push(ClaimCaveat::ConflictingClaims { entities, count: votes.tallies.len() });
    }
    all
}

/// Lists that no longer have it: by authority, the latest end of each, if none of its lists has it still.
fn delisted<'a>(stated: &[Stated<'a>], at: At) -> impl Iterator<Item = ClaimCaveat<'a>> + use<'a> {
    let (mut ends, mut listed) = (BTreeMap::new(), BTreeSet::new());
    let lists = |one: &Stated<'_>| one.claim.claim_type == ClaimType::ListedBy || flag_of(one).is_some();
    for (one, standing) in judged(stated, at).filter(|(one, _)| lists(one)) {
        let authority = authority(one.source.as_str(), one.entity().map(EntityName::as_str));
        match standing {
            ClaimStatus::Stands => {
                listed.insert(authority);
            }
            ClaimStatus::Delisted(end) => {
                let latest = ends.entry(authority).or_insert(end);
                *latest = end.max(*latest);
            }
            ClaimStatus::NotYet | ClaimStatus::Expired(_) | ClaimStatus::NotInherited => {}
        }
    }
    ends.retain(|authority, _| !listed.contains(authority));
    ends.into_iter().take(MAX_NAMED).map(|(authority, as_of)| ClaimCaveat::Delisted { authority, as_of })
}

/// Earlier claims of the source of the shown claim.
fn restated<'a>(stated: &[Stated<'a>], at: At, best: &Stated<'a>) -> impl Iterator<Item = ClaimCaveat<'a>> + use<'a> {
    let source = best.source.as_str();
    let mut ends: BTreeMap<&'a EntityName, u32> = BTreeMap::new();
    for (one, standing) in judged(stated, at).filter(|(one, _)| one.source == best.source && one.is_label()) {
        let (ClaimStatus::Delisted(end) | ClaimStatus::Expired(end)) = standing else { continue };
        if let Some(was) = one.entity().filter(|was| best.entity() != Some(was)) {
            let latest = ends.entry(was).or_insert(end);
            *latest = end.max(*latest);
        }
    }
    ends.into_iter().take(MAX_NAMED).map(move |(was, until)| ClaimCaveat::LabelRestated { source, was, until })
}

/// Origins that several sources repeat.
fn copies<'a>(stated: &[Stated<'a>], at: At) -> impl Iterator<Item = ClaimCaveat<'a>> + use<'a> {
    let mut sources: BTreeMap<&'a str, BTreeSet<&'a str>> = BTreeMap::new();
    for one in standing_claims(stated, at) {
        sources.entry(one.origin()).or_default().insert(one.source.as_str());
    }
    let several = sources.into_iter().filter(|(_, sources)| sources.len() > 1).take(MAX_NAMED);
    several.map(|(origin, sources)| ClaimCaveat::CopyOfSameOrigin { origin, sources: sources.len() })
}
