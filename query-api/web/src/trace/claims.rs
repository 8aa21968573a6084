//! Claims of sources about an address: who says what, on which evidence, and since when.

use serde::Deserialize;

use crate::{format, visible::visible};

#[derive(Deserialize)]
pub(super) struct Claims {
    pub(super) total: u64,
    groups: Vec<Group>,
    pub(super) next_cursor: Option<String>,
}

/// Claims with the same statement.
#[derive(Deserialize)]
struct Group {
    claim_type: String,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
pub(super) struct Claim {
    pub(super) state: String,
    pub(super) ended_at: Option<String>,
    entity_name: Option<String>,
    category: Option<String>,
    behaviour: Option<String>,
    label: Option<String>,
    pub(super) confidence_level: Option<u64>,
    pub(super) evidence_tier: Option<String>,
    pub(super) source: String,
    pub(super) list: String,
    note: Option<String>,
    asserted_at: Option<String>,
    retrieved_at: Option<String>,
    /// The member of the cluster that it is about, if it is not about this address.
    pub(super) inherited_from: Option<String>,
}

impl Claims {
    /// Each claim with its type in words.
    pub(super) fn rows(&self) -> impl Iterator<Item = (String, &Claim)> {
        let words = |group: &Group| format::words(&group.claim_type);
        self.groups.iter().flat_map(move |group| group.claims.iter().map(move |claim| (words(group), claim)))
    }
}

impl Claim {
    /// The entity, category or behaviour that it names.
    pub(super) fn says(&self) -> String {
        let kind = self.category.as_deref().or(self.behaviour.as_deref()).map(format::words);
        match (self.entity_name.as_deref().map(visible), kind) {
            (Some(name), Some(kind)) => format!("{name}, {kind}"),
            (Some(text), None) | (None, Some(text)) => text,
            (None, None) => "no name".to_owned(),
        }
    }

    /// Label and note in the source's words.
    pub(super) fn words(&self) -> Vec<String> {
        self.label.iter().chain(&self.note).map(|text| visible(text)).collect()
    }

    /// When the source asserted it, or when its list was read.
    pub(super) fn time(&self) -> String {
        match (&self.asserted_at, &self.retrieved_at) {
            (Some(time), _) => format!("asserted {}", format::minute(time)),
            (None, Some(time)) => format!("in the list of {}", format::minute(time)),
            (None, None) => "at an unknown time".to_owned(),
        }
    }
}
