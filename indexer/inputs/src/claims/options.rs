//! The caller's options for a file of labels.

use std::str::FromStr;

use cairn_events::{Behaviour, Category, ClaimType, EntityName, EvidenceTier};
use cairn_model::Network;

use super::map::ClaimMap;

/// The caller's options for a file of labels.
#[derive(Clone, Debug)]
pub struct ClaimOptions {
    /// The time, in seconds since 1970 (UTC): what is asserted later is refused.
    pub now: u32,
    /// The network whose addresses are taken.
    pub network: Network,
    /// The layout. Without it, it follows from the beginning of the file.
    pub layout: Option<ClaimLayout>,
    /// The columns of a CSV file of no known layout.
    pub map: Option<ClaimMap>,
    /// Defaults for rows without a value.
    pub defaults: ClaimDefaults,
}

impl ClaimOptions {
    /// Nothing but the time and the network is known; seconds since 1970 (UTC).
    #[must_use]
    pub fn new(now: u32, network: Network) -> Self {
        ClaimOptions { now, network, layout: None, map: None, defaults: ClaimDefaults::default() }
    }
}

/// Defaults for rows without a value.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ClaimDefaults {
    /// The kind of statement. Without it `reported_as`, which makes no script a member.
    pub claim_type: Option<ClaimType>,
    /// Its evidence. Without it `community`, the weakest.
    pub tier: Option<EvidenceTier>,
    /// Confidence, 0 to 100. Without it, that of the tier.
    pub level: Option<u8>,
    /// Kind of entity.
    pub category: Option<Category>,
    /// Its behaviour.
    pub behaviour: Option<Behaviour>,
    /// Who.
    pub entity: Option<EntityName>,
    /// When it was asserted, in seconds since 1970 (UTC).
    pub asserted_at: Option<u32>,
}

cairn_model::words! {
    /// A layout of files of labels.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum ClaimLayout {
        /// A `GraphSense` TagPack (YAML).
        TagPack = "tagpack",
        /// A `GraphSense` ActorPack (YAML): profiles of entities, and no claims.
        ActorPack = "actorpack",
        /// OFAC's `sdn_advanced.xml`.
        SdnAdvanced = "sdn_advanced",
        /// Addresses, one a line.
        AddressList = "address_list",
        /// Mining pools as JSON: `pools-v2.json` of mempool, or the older `pools.json`.
        Pools = "pools",
        /// CSV with the columns of [`ClaimMap::FACTS`].
        Facts = "facts",
        /// Any CSV, with a column map.
        Csv = "csv",
    }
    /// Its name.
    pub fn as_str, Display;
}

impl ClaimLayout {
    /// All names, with commas.
    #[must_use]
    pub fn names() -> String {
        ClaimLayout::ALL.map(ClaimLayout::as_str).join(", ")
    }

    /// Whether such a file is the whole list of its publisher.
    pub(super) const fn is_complete(self) -> bool {
        matches!(self, ClaimLayout::SdnAdvanced | ClaimLayout::AddressList | ClaimLayout::Pools)
    }

    /// Whether rows are lines; else they are entries.
    pub(super) const fn has_lines(self) -> bool {
        matches!(self, ClaimLayout::AddressList | ClaimLayout::Facts | ClaimLayout::Csv)
    }
}

/// Not the name of a layout of labels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a layout of labels; write one of {}", ClaimLayout::names())]
pub struct ClaimLayoutError;

impl FromStr for ClaimLayout {
    type Err = ClaimLayoutError;

    fn from_str(text: &str) -> Result<Self, ClaimLayoutError> {
        ClaimLayout::ALL.into_iter().find(|layout| layout.as_str() == text).ok_or(ClaimLayoutError)
    }
}

impl ClaimDefaults {
    /// Whether they say what is claimed of an address.
    pub(super) const fn is_claim(&self) -> bool {
        self.claim_type.is_some()
            || self.tier.is_some()
            || self.level.is_some()
            || self.category.is_some()
            || self.behaviour.is_some()
            || self.entity.is_some()
    }
}
