//! Claimed behaviour of a script: listings, flags of the past and the present indicator.

use std::collections::{BTreeMap, BTreeSet};

use cairn_events::{Behaviour, Category, ClaimType, EntityName, EvidenceTier};

use super::{
    At, ClaimStatus, Stated, authority,
    standing::{judged, standing_claims},
};

cairn_model::words! {
    /// Present observations, coarsely. No score.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Risk {
        /// No risk was observed. Lists without an entry prove nothing: see the caveats.
        NoneObserved = "none_observed",
        /// The chain shows a behaviour, or a claim below level 40 says so.
        Behavioral = "behavioral",
        /// The script's cluster or counterparties are flagged, not the script.
        IndirectExposure = "indirect_exposure",
        /// A list has the script, or a claim of level 40 at least flags it.
        DirectFlag = "direct_flag",
    }
    /// The word, as answers have it.
    pub fn as_str;
}

/// True if a behaviour is a flag, and not only a way to keep coins.
#[must_use]
pub const fn is_flag(behaviour: Behaviour) -> bool {
    !matches!(behaviour, Behaviour::ColdWallet | Behaviour::HotWallet)
}

/// The flag of a claim. Claims that the script belongs to the victim, or holds what was seized, flag nobody.
pub(super) fn flag_of(stated: &Stated<'_>) -> Option<Behaviour> {
    let harmed = matches!(stated.claim.category, Some(Category::Victim | Category::Seizure));
    stated.claim.behaviour.filter(|behaviour| is_flag(*behaviour) && !harmed)
}

/// Risk that a standing claim indicates. A contest does not change it.
pub(super) fn risk_of(stated: &Stated<'_>) -> Risk {
    let listed = stated.claim.claim_type == ClaimType::ListedBy;
    match flag_of(stated) {
        None if !listed => Risk::NoneObserved,
        _ if stated.inherited => Risk::IndirectExposure,
        _ if listed || stated.level() >= 40 => Risk::DirectFlag,
        _ => Risk::Behavioral,
    }
}

/// A flag over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoricalFlag {
    /// The flag.
    pub flag: Behaviour,
    /// When it was first asserted, in seconds since 1970.
    pub first_seen: u32,
    /// When a document last had it, or when it ended, in seconds since 1970.
    pub last_seen: u32,
    /// How many origins say so. Copies do not count.
    pub occurrences: usize,
    /// True if a claim of it stands.
    pub is_present: bool,
}

/// The flags of all claims until a time, also of those that ended, ascending by code. Inherited ones are not flags of
/// the script.
#[must_use]
pub fn historical_flags(stated: &[Stated<'_>], at: At) -> Vec<HistoricalFlag> {
    let mut found: BTreeMap<Behaviour, (HistoricalFlag, BTreeSet<&str>)> = BTreeMap::new();
    for (stated, standing) in judged(stated, at).filter(|(stated, _)| !stated.inherited) {
        let (last_seen, is_present) = match standing {
            ClaimStatus::Stands => (stated.retrieved_at.min(at.time).max(stated.then()), true),
            ClaimStatus::Delisted(end) | ClaimStatus::Expired(end) => (end.max(stated.then()), false),
            ClaimStatus::NotYet | ClaimStatus::NotInherited => continue,
        };
        let Some(flag) = flag_of(&stated) else { continue };
        let new = HistoricalFlag { flag, first_seen: stated.then(), last_seen, occurrences: 0, is_present };
        let (known, origins) = found.entry(flag).or_insert_with(|| (new, BTreeSet::new()));
        known.first_seen = known.first_seen.min(new.first_seen);
        known.last_seen = known.last_seen.max(new.last_seen);
        known.is_present |= is_present;
        origins.insert(stated.origin());
    }
    found.into_values().map(|(flag, origins)| HistoricalFlag { occurrences: origins.len(), ..flag }).collect()
}

/// The listing of a script by an authority. Carriers of one list are one listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listing<'a> {
    /// The list's origin.
    pub origin: &'a str,
    /// Authority that publishes the list.
    pub authority: &'a str,
    /// True if a list has it. False if it is only named in a record, as a complaint or a press release.
    pub is_list: bool,
    /// The listed entity, in the newest snapshot that names one.
    pub entity: Option<&'a EntityName>,
    /// The name as people write it; may be empty.
    pub entity_name: &'a str,
    /// The first snapshot that has it, in seconds since 1970.
    pub first_snapshot: u32,
    /// The newest one, in seconds since 1970.
    pub newest_snapshot: u32,
    /// The earliest date that the list gives for the party's entry, in seconds since 1970: not listed before.
    pub not_before: Option<u32>,
}

/// The listings that stand, ascending by origin.
#[must_use]
pub fn listings<'a>(stated: &[Stated<'a>], at: At) -> Vec<Listing<'a>> {
    let mut claims: Vec<Stated<'a>> =
        standing_claims(stated, at).filter(|stated| stated.claim.claim_type == ClaimType::ListedBy).collect();
    // The newest first, so that its name is taken.
    claims.sort_by_key(|stated| (std::cmp::Reverse(stated.then()), super::best::rank(stated)));
    let mut found: BTreeMap<&str, Listing<'a>> = BTreeMap::new();
    for stated in claims {
        let (claim, then) = (stated.claim, stated.then());
        let new = Listing {
            origin: stated.origin(),
            authority: authority(stated.source.as_str(), stated.entity().map(EntityName::as_str)),
            is_list: claim.tier == EvidenceTier::AuthorityListed,
            entity: stated.entity(),
            entity_name: stated.entity().map_or("", |_| &claim.entity_name),
            first_snapshot: then,
            newest_snapshot: then,
            not_before: claim.valid_from,
        };
        let known = found.entry(new.origin).or_insert(new);
        known.is_list |= new.is_list;
        known.first_snapshot = known.first_snapshot.min(then);
        known.not_before = known.not_before.into_iter().chain(new.not_before).min();
        if known.entity.is_none() {
            (known.entity, known.entity_name) = (new.entity, new.entity_name);
        }
    }
    found.into_values().collect()
}
