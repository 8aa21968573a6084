//! Who an address belongs to, as sources say: the label, its evidence, each claim, and what speaks against it.

use serde::Deserialize;

use crate::{format, visible::visible};

#[derive(Deserialize)]
pub(super) struct Card {
    pub(super) label: Option<Label>,
    pub(super) confidence_level: Option<u64>,
    pub(super) confidence_tier: Option<String>,
    pub(super) evidence_tier: Option<String>,
    pub(super) evidence_strength: Option<String>,
    pub(super) claim_type: Option<String>,
    pub(super) assessment: Option<Assessment>,
    pub(super) consensus: Option<Consensus>,
    #[serde(default)]
    pub(super) listings: Vec<Listing>,
    pub(super) risk_indicator: Option<String>,
    #[serde(default)]
    pub(super) contested: bool,
    #[serde(default)]
    pub(super) historical_flags: Vec<Flag>,
    pub(super) best_claim: Option<BestClaim>,
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

#[derive(Deserialize)]
pub(super) struct Consensus {
    pub(super) state: String,
    pub(super) contributor_count: u64,
    #[serde(default)]
    pub(super) has_conflict: bool,
}

/// A list of an authority that has the address.
#[derive(Deserialize)]
pub(super) struct Listing {
    pub(super) authority: String,
    pub(super) entity: Option<String>,
    pub(super) first_snapshot: String,
    pub(super) newest_snapshot: String,
}

/// A flag with the time during which it was asserted.
#[derive(Deserialize)]
pub(super) struct Flag {
    pub(super) flag: String,
    pub(super) first_seen: String,
    pub(super) last_seen: String,
    pub(super) present: bool,
}

#[derive(Deserialize)]
pub(super) struct BestClaim {
    pub(super) claim_id: Option<String>,
    pub(super) source: Option<String>,
    pub(super) source_url: Option<String>,
    pub(super) asserted_at: Option<String>,
    pub(super) licence: Option<String>,
}

/// Every claim, in groups by entity and type.
#[derive(Deserialize)]
pub(super) struct Claims {
    #[serde(default)]
    pub(super) total: u64,
    #[serde(default)]
    pub(super) groups: Vec<Group>,
    pub(super) next_cursor: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Group {
    pub(super) claim_type: String,
    #[serde(default)]
    pub(super) contested: bool,
    #[serde(default)]
    pub(super) claims: Vec<Claim>,
}

#[derive(Deserialize)]
pub(super) struct Claim {
    pub(super) claim_id: String,
    pub(super) state: String,
    pub(super) entity_name: Option<String>,
    pub(super) category: Option<String>,
    pub(super) behaviour: Option<String>,
    pub(super) label: Option<String>,
    pub(super) confidence_level: Option<u64>,
    pub(super) confidence_tier: Option<String>,
    pub(super) evidence_tier: Option<String>,
    pub(super) source: String,
    pub(super) source_url: Option<String>,
    pub(super) note: Option<String>,
    pub(super) asserted_at: Option<String>,
    pub(super) retrieved_at: Option<String>,
    pub(super) licence: Option<String>,
    pub(super) inherited_from: Option<serde_json::Value>,
}

impl Claim {
    /// The statement of the claim: name, category, behaviour, and the source's own words.
    pub(super) fn statement(&self) -> String {
        let name = self.entity_name.as_deref().map(visible);
        let kinds = [&self.category, &self.behaviour].into_iter().flatten().map(|kind| format::words(&visible(kind)));
        let said = self.label.as_deref().map(|label| format!("“{}”", visible(label)));
        let all: Vec<String> = name.into_iter().chain(kinds).chain(said).collect();
        if all.is_empty() { "not said".to_owned() } else { all.join(", ") }
    }

    /// When the source said it; else when its document was read.
    pub(super) fn at(&self) -> Option<String> {
        self.asserted_at.as_deref().or(self.retrieved_at.as_deref()).map(format::minute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_says_what_its_source_says() {
        let claim = |json: &str| serde_json::from_str::<Claim>(json).unwrap();
        let one = claim(
            r#"{"claim_id":"c","state":"stands","source":"s","entity_name":"E\u202e","category":"mining_pool","label":"l",
                "retrieved_at":"2024-01-01T00:00:00Z"}"#,
        );
        assert_eq!(one.statement(), "E\\u{202e}, mining pool, “l”");
        assert_eq!(one.at().as_deref(), Some("2024-01-01 00:00"));
        assert_eq!(claim(r#"{"claim_id":"c","state":"stands","source":"s"}"#).statement(), "not said");
    }
}
