//! Caveats of answers about claims, as codes. Their sentences are the domain's.

use cairn_domain::claims::ClaimCaveat;
use schemars::JsonSchema;
use serde::Serialize;

use crate::values::rfc3339;

/// A caveat of an answer about claims.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(tag = "code", content = "params", rename_all = "snake_case")]
pub(crate) enum ClaimCode {
    /// The claim shown is older than a year.
    SourceStale { source: String, asserted_at: String },
    /// The feed of sanctions was last checked more than 48 hours ago.
    FeedStale { checked_at: String },
    /// No list is complete.
    ListNotExhaustive {},
    /// A list had the address and no longer has it.
    Delisted {
        /// Authority that publishes the list.
        authority: String,
        /// Time at which the list no longer had the address.
        as_of: String,
    },
    /// The claim is about another script of the same cluster.
    ClusterInherited {},
    /// A claim that counts comes from a community and was not checked.
    CommunityUnverified {},
    /// The source named another party before.
    LabelRestated {
        source: String,
        /// Party that the source named before.
        was: String,
        /// Time until which the source named that party.
        until: String,
    },
    /// Several sources repeat one origin and have one vote.
    CopyOfSameOrigin {
        origin: String,
        /// Number of sources.
        sources: usize,
    },
    /// Claims name different entities.
    ConflictingClaims {
        /// Entities, the one with the most votes first; at most 10.
        entities: Vec<String>,
        /// Number of entities.
        count: usize,
    },
}

impl ClaimCode {
    pub(crate) fn told(caveats: &[ClaimCaveat<'_>]) -> (Vec<Self>, Vec<String>) {
        caveats.iter().map(|caveat| (ClaimCode::of(caveat), caveat.sentence())).unzip()
    }

    fn of(caveat: &ClaimCaveat<'_>) -> Self {
        match caveat {
            ClaimCaveat::SourceStale { source, asserted_at } => {
                ClaimCode::SourceStale { source: (*source).to_owned(), asserted_at: rfc3339(*asserted_at) }
            }
            ClaimCaveat::FeedStale { checked_at } => ClaimCode::FeedStale { checked_at: rfc3339(*checked_at) },
            ClaimCaveat::ListNotExhaustive => ClaimCode::ListNotExhaustive {},
            ClaimCaveat::Delisted { authority, as_of } => {
                ClaimCode::Delisted { authority: (*authority).to_owned(), as_of: rfc3339(*as_of) }
            }
            ClaimCaveat::ClusterInherited => ClaimCode::ClusterInherited {},
            ClaimCaveat::CommunityUnverified => ClaimCode::CommunityUnverified {},
            ClaimCaveat::LabelRestated { source, was, until } => {
                let (source, was) = ((*source).to_owned(), was.to_string());
                ClaimCode::LabelRestated { source, was, until: rfc3339(*until) }
            }
            ClaimCaveat::CopyOfSameOrigin { origin, sources } => {
                ClaimCode::CopyOfSameOrigin { origin: (*origin).to_owned(), sources: *sources }
            }
            ClaimCaveat::ConflictingClaims { entities, count } => {
                let entities = entities.iter().map(|entity| entity.to_string()).collect();
                ClaimCode::ConflictingClaims { entities, count: *count }
            }
        }
    }
}
