//! Claims that have grown old, and what remains of their confidence.

use cairn_events::{ClaimType, EvidenceTier};
use cairn_model::DAY_SECS;

use super::{Confidence, Stated};

/// Seconds after which a claim is stale: 365 days.
pub const STALE_AFTER: u32 = 365 * DAY_SECS;

/// True if a claim is older than [`STALE_AFTER`] at a time (seconds since 1970), and can grow old at all: facts of the
/// chain, signatures by the script's own key and listings do not.
#[must_use]
pub fn is_stale(stated: &Stated<'_>, now: u32) -> bool {
    grows_stale(stated.claim.tier, stated.claim.claim_type, stated.then(), now)
}

fn grows_stale(tier: EvidenceTier, claim_type: ClaimType, then: u32, now: u32) -> bool {
    let lasts =
        matches!(tier, EvidenceTier::OnchainVerified | EvidenceTier::KeySigned) || claim_type == ClaimType::ListedBy;
    !lasts && now.saturating_sub(then) > STALE_AFTER
}

/// As [`confidence_tier`], for a claim about the script itself of which only this is known: its level (0 to 100),
/// evidence, type, and when it was asserted, else retrieved (seconds since 1970).
#[must_use]
pub fn kept_confidence_tier(level: u8, tier: EvidenceTier, claim_type: ClaimType, then: u32, now: u32) -> Confidence {
    let word = Confidence::of(level);
    if grows_stale(tier, claim_type, then, now) { word.lowered() } else { word }
}

/// The word of a claim's level after inheritance, one lower if the claim is stale.
#[must_use]
pub fn confidence_tier(stated: &Stated<'_>, now: u32) -> Confidence {
    let word = Confidence::of(stated.level());
    if is_stale(stated, now) { word.lowered() } else { word }
}
