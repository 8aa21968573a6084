//! Who an address belongs to, as sources say: the label, its evidence, and what speaks against it.

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Card {
    pub(super) label: Option<Label>,
    pub(super) confidence_level: Option<u64>,
    pub(super) confidence_tier: Option<String>,
    pub(super) evidence_tier: Option<String>,
    pub(super) claim_type: Option<String>,
    pub(super) assessment: Option<Assessment>,
    #[serde(default)]
    pub(super) listings: Vec<Listing>,
    pub(super) risk_indicator: Option<String>,
    #[serde(default)]
    pub(super) historical_flags: Vec<Flag>,
    #[serde(default)]
    pub(super) contested: bool,
    pub(super) best_claim: Option<Claim>,
    #[serde(default)]
    pub(super) caveats: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Label {
    pub(super) category: Option<String>,
    pub(super) value: Option<String>,
    pub(super) entity: Option<String>,
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Assessment {
    pub(super) headline: Option<String>,
    pub(super) label: Option<String>,
}

/// A flag that sources raised at some time.
#[derive(Deserialize)]
pub(super) struct Flag {
    pub(super) flag: String,
    pub(super) first_seen: Option<String>,
    pub(super) last_seen: Option<String>,
    #[serde(default)]
    pub(super) present: bool,
}

/// A list that has the address, such as one of sanctions.
#[derive(Deserialize)]
pub(super) struct Listing {
    pub(super) authority: Option<String>,
    pub(super) entity: Option<String>,
    pub(super) first_snapshot: Option<String>,
    pub(super) newest_snapshot: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Claim {
    pub(super) claim_id: Option<String>,
    pub(super) source: Option<String>,
    pub(super) source_url: Option<String>,
    pub(super) asserted_at: Option<String>,
    pub(super) licence: Option<String>,
}

/// Which sources say what, and how many claims each has.
#[derive(Deserialize)]
pub(super) struct Sources {
    #[serde(default)]
    pub(super) origins: Vec<Origin>,
}

#[derive(Deserialize)]
pub(super) struct Origin {
    pub(super) origin: String,
    pub(super) claim_count: u64,
    pub(super) highest_confidence_level: Option<u64>,
    pub(super) newest_asserted_at: Option<String>,
}
