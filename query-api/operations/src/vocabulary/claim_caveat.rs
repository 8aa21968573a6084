//! Caveats of answers about claims, as codes. Their sentences are the domain's.

use cairn_domain::claims::ClaimCaveat;
use schemars::JsonSchema;
use serde::Serialize;

use crate::values::rfc3339;

/// A caveat of an answer about claims.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(tag = "code", content = "params", rename_all = "snake_case")]
pub(crate) enum ClaimCode {
    /// The claim that is shown is older than a year.
    SourceStale { source: String, asserted_at: String },
    /// The feed of sanctions was last checked more than 48 hours ago.
    FeedStale { checked_at: String },
    /// No list has everything.
    ListNotExhaustive {},
    /// A list had it and no longer has.
    Delisted {
        /// Authority that publishes the list.
        authority: String,
        /// As of when.
        as_of: String,
    },
    /// It holds for another script of the same cluster.
    ClusterInherited {},
    /// A claim that counts comes from a community, and nobody checked it.
    CommunityUnverified {},
    /// The source named somebody else before.
    LabelRestated {
        source: String,
        /// Party that it named.
        was: String,
        /// Until when.
        until: String,
    },
    /// Several sources repeat one origin: one vote.
    CopyOfSameOrigin {
        origin: String,
        /// How many sources.
        sources: usize,
    },
    /// Claims name different entities.
    ConflictingClaims {
        /// Entities, the one with most votes first; 10 at most.
        entities: Vec<String>,
        /// How many there are.
        count: usize,
    },
}

impl ClaimCode {
    /// The codes and the sentences of caveats.
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
