//! An announcement, as answers show it.

use cairn_http::{BadText, TextFormat};
use cairn_model::Txid;
use cairn_tables::feed::{AnnouncedKey, FeedKind, FeedRow};

use super::kinds::{EventType, EventTypes};
use crate::{
    context::{SETTLED_AT, confirmations},
    operation::prelude::*,
    parsed::{parsed, schema},
    transfers::{Flow, Owners, SideOwner, flow_of},
};

/// An announcement, or the retraction of one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeedEvent {
    /// Id of the event: the time at which the feed began, a hyphen, and the sequence number.
    id: String,
    /// Sequence number of the event.
    seq: u64,
    /// `block`, `whale_tx`, `coinjoin_round`, `awakening`, `dormancy_flush`, `whale_wakeup`, `consolidation`,
    /// `label_change`, `sanctions_list_change`, `dust_campaign`, `reorg` or `retraction`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// For a whale_tx, `exchange_flow_large` or `miner_payout_large` if today's labels say so; otherwise null.
    flow_type: Option<&'static str>,
    /// Time of the announcement.
    announced_at: String,
    /// Height of the event's block. For a reorg: the last block that remains. For labels: the tip at that time.
    height: Height,
    /// Hash of the block. For a reorg: hash of the former tip.
    block_hash: Option<String>,
    txid: Option<String>,
    /// Index of an input. For an awakening: the one that spends the coin. For a whale_wakeup: the first one of the
    /// cluster.
    vin: Option<u64>,
    /// Value of the event. For a block: its fees. For a whale_tx: the sum paid to others. For a coinjoin_round: the sum
    /// paid. For an awakening: the coin. For a consolidation: the sum of its inputs. For a dormancy_flush: the old
    /// coins that the cluster had spent by then. For a whale_wakeup: the old coins that the cluster had.
    value_sats: Option<u64>,
    value_btc: Option<Btc>,
    /// Number in the event. For a block: its transactions. For a consolidation: its inputs. For a dust_campaign: the
    /// scripts that it had paid within 30 days. For a reorg: the removed blocks. For labels: the rows that say
    /// something new.
    count: Option<u64>,
    /// Source and list of imported labels.
    source: Option<String>,
    /// `standing`; `retracted` if a reorg removed the event's block; `final` if the event is not about a block.
    state: &'static str,
    /// True if the state is `standing` and the block has fewer than 6 confirmations.
    provisional: bool,
    /// The announcement that this retraction takes back; otherwise null.
    retracts: Option<RetractedEvent>,
    /// Direction of a whale_tx in the state `standing`, by today's labels; otherwise null.
    flow_direction: Option<&'static str>,
    from_owner: Option<SideOwner>,
    to_owner: Option<SideOwner>,
}

/// An announcement that is taken back.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RetractedEvent {
    /// Id of the announcement.
    id: String,
    seq: u64,
    #[serde(rename = "type")]
    kind: &'static str,
}

pub(super) fn id(epoch: u32, seq: u64) -> String {
    format!("{epoch}-{seq}")
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventId {
    pub(super) epoch: u32,
    pub(super) seq: u64,
}

fn parse(text: &str) -> Result<EventId, &'static str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split_once('-').filter(|(epoch, seq)| is_number(epoch) && is_number(seq));
    let id = parts.and_then(|(epoch, seq)| Some(EventId { epoch: epoch.parse().ok()?, seq: seq.parse().ok()? }));
    id.ok_or("is not the id of an event; pass an id or last_id of an answer unchanged")
}

pub(crate) const EVENT_ID: TextFormat =
    TextFormat::trimmed("event-id", |_, text, _| parse(text).map(drop).map_err(BadText::new));

parsed!(EventId, parse);

schema!(inline EventId, "EventId", {"type": "string", "format": EVENT_ID.name, "minLength": 3, "maxLength": 32});

/// An announcement with whether it stands.
pub(super) struct Announcement {
    pub(super) seq: u64,
    pub(super) row: FeedRow,
    pub(super) stands: bool,
}

/// Which of these announcements stand, in one look-up.
pub(super) fn said(view: &View<'_>, rows: Vec<(u64, FeedRow)>) -> Result<Vec<Announcement>, ApiError> {
    let keys: Vec<AnnouncedKey> =
        rows.iter().map(|(seq, row)| AnnouncedKey { height: row.height, seq: *seq }).collect();
    let stand = view.feed().stand(&keys)?;
    Ok(rows.into_iter().zip(stand).map(|((seq, row), stands)| Announcement { seq, row, stands }).collect())
}

impl FeedEvent {
    /// True if it takes something back.
    pub(super) fn is_retraction(&self) -> bool {
        self.retracts.is_some()
    }

    /// Its transaction, unless it takes something back.
    pub(super) fn txid(&self) -> Option<&str> {
        self.txid.as_deref().filter(|_| self.retracts.is_none())
    }

    /// The event of an announcement, if it is of a type that is asked for; with what it cost in rows.
    pub(super) fn of(
        view: &View<'_>,
        owners: &mut Owners,
        (epoch, types, least): (u32, EventTypes, u64),
        Announcement { seq, row, stands }: Announcement,
    ) -> Result<(Option<Self>, usize), ApiError> {
        let is_block = matches!(row.kind, FeedKind::Block | FeedKind::Reorg);
        let has_tx = !is_block && !row.kind.is_of_labels();
        let has_value = has_tx && row.kind != FeedKind::DustCampaign || row.kind == FeedKind::Block;
        let is_large = !has_value || row.sats >= least;
        let about = EventType::about(row.kind).filter(|_| is_large && types.may_have(&row));
        let Some(about) = about else { return Ok((None, 0)) };
        let is_whale = row.kind == FeedKind::Whale && row.retracts.is_none() && stands;
        let (flow, cost) = if is_whale { flow_of(view, owners, &Txid(row.id))? } else { (None, 0) };
        let flow_type = flow.as_ref().and_then(|flow| EventType::of_flow(flow.direction));
        let is_asked = row.retracts.is_some() || types.has(about) || flow_type.is_some_and(|of| types.has(of));
        if !is_asked {
            return Ok((None, cost));
        }
        let kind = if row.retracts.is_some() { EventType::Retraction } else { about };
        let is_counted =
            matches!(row.kind, FeedKind::Block | FeedKind::Reorg | FeedKind::Consolidation | FeedKind::DustCampaign);
        let counts = is_counted || row.kind.is_of_labels();
        let (direction, from_owner, to_owner) = match flow {
            Some(Flow { direction, from, to }) => (Some(direction.as_str()), from, to),
            None => (None, None, None),
        };
        let event = FeedEvent {
            id: id(epoch, seq),
            seq,
            kind: kind.as_str(),
            flow_type: flow_type.map(EventType::as_str),
            announced_at: rfc3339(row.at),
            height: row.height,
            block_hash: is_block.then(|| cairn_model::BlockHash(row.id).to_string()),
            txid: has_tx.then(|| Txid(row.id).to_string()),
            vin: matches!(row.kind, FeedKind::Awakening | FeedKind::WhaleWakeup).then_some(row.number),
            value_sats: has_value.then_some(row.sats),
            value_btc: has_value.then(|| Btc::of(row.sats)),
            count: counts.then_some(row.number),
            source: Some(row.text).filter(|text| !text.is_empty()),
            state: match () {
                () if row.retracts.is_some() || !(has_tx || has_value) => "final",
                () if stands => "standing",
                () => "retracted",
            },
            provisional: stands && confirmations(view.tip(), row.height) < SETTLED_AT,
            retracts: row.retracts.map(|of| RetractedEvent { id: id(epoch, of), seq: of, kind: about.as_str() }),
            flow_direction: direction,
            from_owner,
            to_owner,
        };
        Ok((Some(event), cost))
    }
}
