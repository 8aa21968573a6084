//! Standing claims about a script, as the detectors need them.

use cairn_events::{Behaviour, Claim, ClaimType};

use super::{ClaimRef, KnownService};
use crate::{
    claims::{At, ClaimStatus, Stated, Strength, membership, standings},
    dust::is_service,
};

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

/// True for a claim of a list of sanctions.
#[must_use]
pub fn is_sanction(claim: &Claim) -> bool {
    // Records of authorities name other things, too.
    claim.claim_type == ClaimType::ListedBy
        && claim.behaviour.is_none_or(|behaviour| behaviour == Behaviour::Sanctioned)
}

/// The standing claims of lists of sanctions, the highest level first. A contest does not change them.
#[must_use]
pub fn listed(stated: &[Stated<'_>], at: At) -> Vec<ClaimRef> {
    sorted(standing(stated, at).filter(|stated| is_sanction(stated.claim)).map(|stated| reference(&stated)).collect())
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
