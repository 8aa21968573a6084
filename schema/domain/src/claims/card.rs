//! The trust card: the claims about a script, their weight, and caveats for those who rely on them.

use cairn_events::{Behaviour, Category, ClaimType, EvidenceTier};
use cairn_model::each_once;

use super::{
    ClaimCaveat, Confidence, Consensus, Facts, HistoricalFlag, Listing, Risk, Stated, Strength, best::best,
    caveat::caveats, confidence_tier, consensus, flags::risk_of, historical_flags, listings, standing::standing_claims,
};

cairn_model::words! {
    /// The state of an assessment: the first that holds.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Assessment {
        /// The claims were not looked up.
        NotExamined = "not_examined",
        /// A claim about its owner or kind is contested.
        Contested = "contested",
        /// No entity has three quarters of the votes.
        Conflicted = "conflicted",
        /// A claim about the script itself has level 40 at least.
        Labeled = "labeled",
        /// There are claims, but they are inherited or below level 40.
        Inferred = "inferred",
        /// Only its behaviour is known.
        ObservedOnly = "observed_only",
        /// The chain has never seen it.
        NoHistory = "no_history",
        /// No claim was found.
        ExaminedNoMatch = "examined_no_match",
    }
    /// The word, as answers have it.
    pub fn as_str;
}

/// The label of a card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CardLabel<'a> {
    /// The word of the category, else of the behaviour, else `unlabeled`.
    pub category: &'a str,
    /// The name, else the source's own words, else `unknown`.
    pub value: &'a str,
    /// Why category or value are missing.
    pub reason: Option<&'static str>,
}

impl<'a> CardLabel<'a> {
    /// The label that a claim gives, or that there is none.
    fn of(best: Option<&Stated<'a>>, facts: &Facts) -> Self {
        let Some(stated) = best else {
            let reason = if facts.examined { "no claim about who it may be" } else { "the claims were not examined" };
            return CardLabel { category: "unlabeled", value: "unknown", reason: Some(reason) };
        };
        CardLabel::of_claim(stated)
    }

    /// The label that a claim gives.
    pub(super) fn of_claim(stated: &Stated<'a>) -> Self {
        let claim = stated.claim;
        let category = claim.category.map(Category::as_str).or(claim.behaviour.map(Behaviour::as_str));
        let name = match stated.entity() {
            Some(_) if !claim.entity_name.is_empty() => &claim.entity_name,
            Some(entity) => entity.as_str(),
            None => &claim.label,
        };
        let reason = match category {
            _ if name.is_empty() => Some("the source names nobody"),
            None => Some("the source gives no category"),
            Some(_) => None,
        };
        let value = if name.is_empty() { "unknown" } else { name };
        CardLabel { category: category.unwrap_or("unlabeled"), value, reason }
    }
}

/// The trust card of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card<'a> {
    /// The owner or kind that claims give it.
    pub label: CardLabel<'a>,
    /// The claim that the label comes from.
    pub best: Option<Stated<'a>>,
    /// The claim's own level, 0 to 100; 0 without one.
    pub confidence_level: u8,
    /// The word of that level.
    pub confidence: Confidence,
    /// The word after inheritance and staleness.
    pub confidence_tier: Confidence,
    /// Evidence tier of the claim here; `None` without one.
    pub evidence_tier: Option<EvidenceTier>,
    /// How strong that is.
    pub evidence_strength: Strength,
    /// Type of the claim; `None` without one.
    pub claim_type: Option<ClaimType>,
    /// State of the assessment.
    pub assessment: Assessment,
    /// The votes.
    pub consensus: Consensus<'a>,
    /// The present indicator. A contest does not change it.
    pub risk_indicator: Risk,
    /// True if a claim that stands is contested.
    pub is_contested: bool,
    /// The listings that stand. A contest does not hide them.
    pub listings: Vec<Listing<'a>>,
    /// Flags over time.
    pub historical_flags: Vec<HistoricalFlag>,
    /// Its limits.
    pub caveats: Vec<ClaimCaveat<'a>>,
    /// Number of standing claims about its owner or kind.
    pub label_count: usize,
    /// How many origins they have.
    pub contributor_count: usize,
}

/// The trust card of a script with these claims. It does not depend on their order.
#[must_use]
pub fn card<'a>(stated: &[Stated<'a>], facts: &Facts) -> Card<'a> {
    let at = facts.at;
    let standing: Vec<Stated<'a>> = standing_claims(stated, at).collect();
    let labels: Vec<Stated<'a>> = standing.iter().copied().filter(Stated::is_label).collect();
    let consensus = consensus(stated, at);
    let best = best(&labels, consensus.first());
    let told = if facts.has_indirect_exposure { Risk::IndirectExposure } else { Risk::NoneObserved };
    let shown = if facts.has_signals { Risk::Behavioral } else { Risk::NoneObserved };
    let risk = standing.iter().map(risk_of).fold(told.max(shown), Risk::max);
    let origins = each_once(labels.iter().map(Stated::origin));
    Card {
        label: CardLabel::of(best.as_ref(), facts),
        confidence_level: best.map_or(0, |best| best.claim.level.min(100)),
        confidence: Confidence::of(best.map_or(0, |best| best.claim.level)),
        confidence_tier: best.map_or(Confidence::Unverified, |best| confidence_tier(&best, at.time)),
        evidence_tier: best.map(|best| best.tier()),
        evidence_strength: Strength::of(best.map(|best| best.tier())),
        claim_type: best.map(|best| best.claim.claim_type),
        assessment: assessment(&standing, facts, &consensus),
        risk_indicator: risk,
        is_contested: standing.iter().any(Stated::contested),
        listings: listings(stated, at),
        historical_flags: historical_flags(stated, at),
        caveats: caveats(stated, facts, best.as_ref(), &consensus, risk),
        label_count: labels.len(),
        contributor_count: origins.len(),
        consensus,
        best,
    }
}

/// The first state that holds.
fn assessment(standing: &[Stated<'_>], facts: &Facts, votes: &Consensus<'_>) -> Assessment {
    let labels = || standing.iter().filter(|stated| stated.is_label());
    if !facts.examined {
        Assessment::NotExamined
    } else if labels().any(Stated::contested) {
        Assessment::Contested
    } else if votes.is_conflicted {
        Assessment::Conflicted
    } else if labels().any(|stated| stated.labels(votes.first())) {
        Assessment::Labeled
    } else if labels().next().is_some() {
        Assessment::Inferred
    } else if !standing.is_empty() || facts.has_signals {
        Assessment::ObservedOnly
    } else if !facts.has_history {
        Assessment::NoHistory
    } else {
        Assessment::ExaminedNoMatch
    }
}
