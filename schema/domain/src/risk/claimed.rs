//! Standing claims about a script, as the detectors need them.

use cairn_events::{Behaviour, Category, ClaimType};

use super::{ClaimRef, KnownService, Mark};
use crate::{
    claims::{At, ClaimStatus, Stated, Strength, membership, standings},
    dust::is_service,
};

/// The claims that stand.
fn standing<'s, 'a>(stated: &'s [Stated<'a>], at: At) -> impl Iterator<Item = Stated<'a>> + 's {
    let judged = stated.iter().copied().zip(standings(stated, at));
    judged.filter(|(_, status)| *status == ClaimStatus::Stands).map(|(stated, _)| stated)
}

fn id_of(stated: &Stated<'_>) -> String {
    format!("{}:{}", stated.document, stated.claim.row)
}

fn reference(stated: &Stated<'_>) -> ClaimRef {
    ClaimRef { claim_id: id_of(stated), level: stated.level(), strength: Strength::of(Some(stated.tier())) }
}

/// The references, the highest level first.
fn sorted(mut found: Vec<ClaimRef>) -> Vec<ClaimRef> {
    found.sort_by(|a, b| b.level.cmp(&a.level).then_with(|| a.claim_id.cmp(&b.claim_id)));
    found
}

/// The standing claims of lists of sanctions, the highest level first. A contest does not change them.
#[must_use]
pub fn listed(stated: &[Stated<'_>], at: At) -> Vec<ClaimRef> {
    let is_sanction = |stated: &Stated<'_>| {
        // Records of authorities name other things, too.
        stated.claim.claim_type == ClaimType::ListedBy
            && stated.claim.behaviour.is_none_or(|behaviour| behaviour == Behaviour::Sanctioned)
    };
    sorted(standing(stated, at).filter(is_sanction).map(|stated| reference(&stated)).collect())
}

/// The standing claims of a mixer, the highest level first. Contested ones do not count.
fn mixers(stated: &[Stated<'_>], at: At) -> Vec<ClaimRef> {
    let is_mixer = |stated: &Stated<'_>| {
        let is_other = matches!(stated.claim.category, Some(Category::Victim | Category::Seizure));
        let says_so = stated.claim.category == Some(Category::Mixer)
            || stated.claim.behaviour == Some(Behaviour::Mixing) && !is_other;
        says_so && !stated.contested()
    };
    sorted(standing(stated, at).filter(is_mixer).map(|stated| reference(&stated)).collect())
}

/// The service that the script belongs to by its claims: a member of an entity whose claims of control say that it is
/// one. At most one, with the claim of the highest level.
#[must_use]
pub fn services(stated: &[Stated<'_>], at: At) -> Vec<KnownService> {
    let Some(member) = membership(stated, at) else { return Vec::new() };
    let makes = |stated: &Stated<'_>| stated.entity() == Some(member.entity) && stated.makes_member();
    let of = |stated: Stated<'_>| {
        let category = stated.claim.category.filter(|category| is_service(*category))?;
        let entity = member.entity.to_string();
        Some(KnownService { entity, category, claim_id: id_of(&stated), level: stated.level() })
    };
    let found = standing(stated, at).filter(makes).filter_map(of);
    found.min_by(|a, b| b.level.cmp(&a.level).then_with(|| a.claim_id.cmp(&b.claim_id))).into_iter().collect()
}

/// The mark of a script by the claims about it.
#[must_use]
pub fn mark(stated: &[Stated<'_>], at: At) -> Mark {
    Mark {
        mixer: mixers(stated, at).into_iter().next(),
        sanctioned: listed(stated, at).into_iter().next(),
        is_service: !services(stated, at).is_empty(),
    }
}
