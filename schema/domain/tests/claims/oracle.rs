//! The votes computed a second time, slowly, and otherwise: pair by pair, with shares as fractions.

use cairn_domain::claims::{Stated, origin_group};
use cairn_events::{Claim, ClaimType, EvidenceTier};

/// Result of the votes: state, entities with sums, and the member with whether it is direct.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) state: &'static str,
    pub(crate) sums: Vec<(String, u32)>,
    pub(crate) member: Option<(String, bool)>,
}

fn weight(one: &Stated<'_>) -> u32 {
    let level = u32::from(one.claim.level);
    if one.inherited { (level as f64 * 0.6 + 1e-9).floor().min(60.0) as u32 } else { level }
}

fn contested(one: &Stated<'_>) -> bool {
    let list = one.claim.claim_type.as_str() == "listed_by";
    one.is_contested && !list && one.claim.tier != EvidenceTier::OnchainVerified
}

fn controls(one: &Stated<'_>) -> bool {
    ["controlled_by", "coinbase_payout_of"].contains(&one.claim.claim_type.as_str())
}

fn member(one: &Stated<'_>) -> bool {
    controls(one) && !contested(one) && weight(one) >= if one.inherited { 50 } else { 40 }
}

fn stands(one: &Stated<'_>, now: u32) -> bool {
    let asserted = one.claim.asserted_at.unwrap_or(one.retrieved_at);
    let begins = asserted.max(one.claim.valid_from.unwrap_or(0));
    let ends = one.ended_at.unwrap_or(u32::MAX).min(one.claim.valid_to.unwrap_or(u32::MAX));
    let passes = one.claim.is_inherited && one.claim.claim_type != ClaimType::ListedBy && !contested(one);
    (begins..ends).contains(&now) && (passes || !one.inherited)
}

/// True if one listing shows that the list of another no longer has it.
fn supersedes(gone: &Stated<'_>, other: &Stated<'_>, now: u32) -> bool {
    let end = gone.ended_at.unwrap_or(u32::MAX);
    let stood = Stated { ended_at: None, claim: &Claim { valid_to: None, ..gone.claim.clone() }, ..*gone };
    let lists = [gone, other].map(|one| one.claim.claim_type.as_str()) == ["listed_by"; 2];
    lists && end <= now && stands(&stood, now) && gone.origin() == other.origin() && other.retrieved_at < end
}

pub(crate) fn outcome(stated: &[Stated<'_>], now: u32) -> Outcome {
    let seen = ["participated_in", "behaves_as", "observed_in"];
    let mut naming: Vec<&Stated<'_>> = stated.iter().filter(|one| stands(one, now)).collect();
    naming.retain(|one| !stated.iter().any(|other| supersedes(other, one, now)));
    naming.retain(|one| one.entity().is_some() && weight(one) > 0 && !seen.contains(&one.claim.claim_type.as_str()));
    let any_contested = naming.iter().any(|one| contested(one));
    if naming.iter().any(|one| !contested(one)) {
        naming.retain(|one| !contested(one));
    }
    if naming.iter().any(|one| member(one)) {
        naming.retain(|one| controls(one));
    }
    let name = |one: &Stated<'_>| one.entity().unwrap().to_string();
    let group = |one: &Stated<'_>| origin_group(one.source.as_str(), Some(&name(one))).to_owned();
    // A vote counts if no other of the same entity and origin is higher, or as high and earlier.
    let votes = naming.iter().enumerate().filter(|(place, one)| {
        naming.iter().enumerate().all(|(other_place, other)| {
            let rival = name(one) == name(other) && group(one) == group(other);
            let beaten = weight(other) > weight(one) || (weight(other) == weight(one) && other_place < *place);
            !(rival && beaten)
        })
    });
    let mut sums: Vec<(String, u32)> = Vec::new();
    for (_, one) in votes {
        match sums.iter_mut().find(|(entity, _)| *entity == name(one)) {
            Some((_, sum)) => *sum += weight(one),
            None => sums.push((name(one), weight(one))),
        }
    }
    sums.sort_by(|(one, sum), (other, other_sum)| other_sum.cmp(sum).then(one.cmp(other)));
    let total: u32 = sums.iter().map(|(_, sum)| sum).sum();
    let share = sums.first().map_or(1.0, |(_, sum)| f64::from(*sum) / f64::from(total));
    let agree = naming.iter().any(|one| naming.iter().any(|other| group(one) != group(other)));
    let state = match sums.len() {
        _ if any_contested => "contested",
        0 => "none",
        1 if agree => "corroborated",
        1 => "single_origin",
        _ if share < 0.75 => "conflicted",
        _ => "majority",
    };
    let winner = sums.first().filter(|_| share >= 0.75).map(|(entity, _)| entity.clone());
    let members = |entity: &String| naming.iter().filter(|one| member(one) && name(one) == *entity).count();
    let direct = |entity: &String| naming.iter().any(|one| member(one) && name(one) == *entity && !one.inherited);
    let member = winner.filter(|entity| members(entity) > 0).map(|entity| (entity.clone(), direct(&entity)));
    Outcome { state, sums, member }
}
