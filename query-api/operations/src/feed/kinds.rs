//! Types of events, as answers and parameters name them.

use cairn_domain::flows::FlowDirection;
use cairn_http::{BadText, TextFormat};
use cairn_tables::feed::{FeedKind, FeedRow};

use crate::parsed::{parsed, schema};

cairn_model::words! {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub(crate) enum EventType {
        Block = "block",
        WhaleTx = "whale_tx",
        CoinjoinRound = "coinjoin_round",
        Awakening = "awakening",
        Consolidation = "consolidation",
        ExchangeFlowLarge = "exchange_flow_large",
        MinerPayoutLarge = "miner_payout_large",
        LabelChange = "label_change",
        Reorg = "reorg",
        Retraction = "retraction",
        DormancyFlush = "dormancy_flush",
        WhaleWakeup = "whale_wakeup",
        SanctionsListChange = "sanctions_list_change",
        DustCampaign = "dust_campaign",
    }
    pub(crate) fn as_str;
}

impl EventType {
    /// Subject of an announcement or retraction. `None` for the beginning of the feed.
    pub(crate) const fn about(kind: FeedKind) -> Option<Self> {
        match kind {
            FeedKind::Begun => None,
            FeedKind::Block => Some(EventType::Block),
            FeedKind::Whale => Some(EventType::WhaleTx),
            FeedKind::CoinJoinRound => Some(EventType::CoinjoinRound),
            FeedKind::Awakening => Some(EventType::Awakening),
            FeedKind::Consolidation => Some(EventType::Consolidation),
            FeedKind::Reorg => Some(EventType::Reorg),
            FeedKind::LabelChange => Some(EventType::LabelChange),
            FeedKind::DormancyFlush => Some(EventType::DormancyFlush),
            FeedKind::WhaleWakeup => Some(EventType::WhaleWakeup),
            FeedKind::SanctionsListChange => Some(EventType::SanctionsListChange),
            FeedKind::DustCampaign => Some(EventType::DustCampaign),
        }
    }

    /// The type that labels make of a large transaction with this direction.
    pub(crate) const fn of_flow(direction: FlowDirection) -> Option<Self> {
        match direction {
            FlowDirection::CrossExchange | FlowDirection::FromExchange | FlowDirection::ToExchange => {
                Some(EventType::ExchangeFlowLarge)
            }
            FlowDirection::MinerOut => Some(EventType::MinerPayoutLarge),
            FlowDirection::Internal | FlowDirection::Unknown => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventTypes(u16);

impl EventTypes {
    pub(crate) const ALL: EventTypes = EventTypes(u16::MAX);
    pub(crate) const ALERTS: EventTypes = EventTypes(!(1 << EventType::Block as u16));

    pub(crate) const fn has(self, of: EventType) -> bool {
        self.0 & 1 << of as u16 != 0
    }

    /// True if an announcement may be of a type that is asked for, before labels are joined.
    pub(crate) fn may_have(self, row: &FeedRow) -> bool {
        let Some(about) = EventType::about(row.kind) else { return false };
        if row.retracts.is_some() {
            // The reorg reports removed blocks, unless blocks are requested.
            return self.has(EventType::Retraction) && (about != EventType::Block || self.has(EventType::Block));
        }
        self.has(about) || about == EventType::WhaleTx && self.has_flows()
    }

    /// True if types are asked for that labels make of large transactions.
    pub(crate) const fn has_flows(self) -> bool {
        self.has(EventType::ExchangeFlowLarge) || self.has(EventType::MinerPayoutLarge)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut types = EventTypes(0);
        for word in text.split(',') {
            let word = word.trim();
            let found = EventType::ALL.into_iter().find(|of| of.as_str() == word);
            let allowed = || EventType::ALL.map(EventType::as_str).join(", ");
            let found = found.ok_or_else(|| format!("names no type of event; allowed are {}", allowed()))?;
            types.0 |= 1 << found as u16;
        }
        Ok(types)
    }
}

/// Types of events, with commas between.
pub(crate) const EVENT_TYPES: TextFormat =
    TextFormat::trimmed("event-types", |_, text, _| EventTypes::parse(text).map(drop).map_err(BadText::new));

parsed!(EventTypes, EventTypes::parse);

schema!(inline EventTypes, "EventTypes", {"type": "string", "format": EVENT_TYPES.name, "minLength": 5, "maxLength": 200});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart() {
        let types = EventTypes::parse("reorg, whale_tx").unwrap();
        assert!(types.has(EventType::Reorg) && types.has(EventType::WhaleTx) && !types.has(EventType::Block));
        for of in EventType::ALL {
            assert!(EventTypes::parse(of.as_str()).unwrap().has(of));
            assert_eq!(EventTypes::ALERTS.has(of), of != EventType::Block);
        }
        for bad in ["", "whale", "reorg,", "Reorg", "reorg;block"] {
            assert!(EventTypes::parse(bad).is_err(), "{bad}");
        }
    }
}
