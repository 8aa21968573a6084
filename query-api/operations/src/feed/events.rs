//! `GET /v1/events`.

use cairn_domain::Subject;
use cairn_events::EntityName;
use cairn_http::{Location, StreamSpec};
use cairn_model::Txid;

use super::{
    event::{EventId, FeedEvent, id, said},
    kinds::EventTypes,
    mark,
};
use crate::{
    definitions::FEED,
    operation::prelude::*,
    parameters::{amount::BtcParam, identifier::AddressParam, limit::Limit},
    transfers::{Owners, touches},
};

const MAX_LOOKED_THROUGH: usize = 10_000;
/// Cost of reading a transaction, in announcements.
const JOIN: usize = 30;
const AT_A_TIME: u64 = 200;

pub(crate) struct Events;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EventsInput {
    /// Id of the event after which to continue. Default: the newest, so that only new announcements are sent.
    after: Option<EventId>,
    /// Types of events, separated by commas. Default: all.
    #[schemars(example = "block,whale_tx,reorg,retraction")]
    types: Option<EventTypes>,
    /// Minimum value in bitcoin, for events that have one.
    #[schemars(example = 500)]
    min_btc: Option<BtcParam>,
    /// Only transactions that spend from this address or pay it, and retractions.
    address: Option<AddressParam>,
    /// Only transactions with a script of this entity, by today's labels, and retractions.
    #[schemars(length(min = 1, max = 64), example = "cairn-exchange")]
    entity: Option<String>,
    /// Events per answer.
    #[serde(default)]
    limit: Limit<50, 100>,
}

/// Announcements after an event.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventsOutput {
    /// Events, the oldest first.
    events: Vec<FeedEvent>,
    /// Id of the event after which to continue; null if no feed has begun.
    last_id: Option<String>,
    /// True if more events may be available already.
    has_more: bool,
    /// True if `after` belongs to another feed: events in between are unknown, and `last_id` is the newest one.
    reset: bool,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// The rest of the request besides types.
struct EventFilter<'w> {
    script: Option<[u8; 32]>,
    entity: Option<&'w EntityName>,
}

impl Operation for Events {
    const INFO: Info = Info {
        summary: "New announcements, or those after an event; on request as a stream",
        description: "The announcements of this server after an event, the oldest first: blocks, alerts, retractions, \
            imported labels. With `Accept: text/event-stream` the answer stays open and sends each event once, when it \
            is announced. A client that connects again with `Last-Event-ID` continues after that event. If the feed \
            does not have this id, an event `reset` comes first, with the newest id and the URL of the feed. Filters \
            by type, value, address and entity.",
        freshness: &[TIP, CLAIMS, LABELS],
        tool: Tool::UNLISTED,
        streamed: Some(StreamSpec { resume: "after", feed: "/v1/chain/activity-feed" }),
        ..index_get("events", "/v1/events", "chain")
    };
    type Input = EventsInput;
    type Output = EventsOutput;

    fn run(ctx: &Ctx<'_>, input: EventsInput) -> Result<EventsOutput, ApiError> {
        let view = ctx.view()?;
        let entity: Option<EntityName> = match input.entity.as_deref().map(|name| name.trim().to_lowercase().parse()) {
            Some(Err(_)) => {
                return Err(ApiError::validation(Location::Query, "entity", "is not the name of an entity"));
            }
            Some(Ok(entity)) => Some(entity),
            None => None,
        };
        let none =
            || EventsOutput { events: Vec::new(), last_id: None, has_more: false, reset: false, definition: FEED };
        let Some(feed) = view.feed().span()? else {
            return Ok(EventsOutput { reset: input.after.is_some(), ..none() });
        };
        let last = mark::end(ctx.feed_end, feed.last);
        let newest = id(feed.epoch, last);
        let after = match input.after {
            None => return Ok(EventsOutput { last_id: Some(newest), ..none() }),
            Some(after) if after.epoch != feed.epoch || after.seq > feed.last => {
                return Ok(EventsOutput { last_id: Some(newest), reset: true, ..none() });
            }
            Some(after) => after.seq,
        };
        let script = input.address.as_ref().map(|address| match &address.subject {
            Subject::Script(script) => cairn_domain::script_sha256(script),
            Subject::ScriptHash(hash) => *hash,
        });
        let wanted = EventFilter { script, entity: entity.as_ref() };
        let least = input.min_btc.map_or(0, |BtcParam(sats)| sats);
        let of = (feed.epoch, input.types.unwrap_or(EventTypes::ALL), least);
        let (events, at) = page(ctx, view, of, &wanted, (after, last), input.limit.get() as usize)?;
        Ok(EventsOutput { events, last_id: Some(id(feed.epoch, at)), has_more: at < last, ..none() })
    }
}

/// Events after one, up to another; with the last announcement that was looked at.
fn page(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    of: (u32, EventTypes, u64),
    wanted: &EventFilter<'_>,
    (after, last): (u64, u64),
    limit: usize,
) -> Result<(Vec<FeedEvent>, u64), ApiError> {
    let (mut events, mut owners, mut looked_through, mut at) = (Vec::new(), Owners::default(), 0, after.min(last));
    while at < last {
        ctx.work.poll()?;
        let end = last.min(at + AT_A_TIME);
        let rows = view.feed().announcements(at + 1, (end - at) as usize)?;
        for said in said(view, rows)? {
            let seq = said.seq;
            if events.len() == limit || looked_through >= MAX_LOOKED_THROUGH {
                return Ok((events, at));
            }
            looked_through += 1;
            let (event, cost) = FeedEvent::of(view, &mut owners, of, said)?;
            looked_through += if cost > 0 { JOIN + cost } else { 0 };
            if let Some(event) = event {
                let (is_wanted, cost) = wanted.has(view, &event)?;
                looked_through += if cost > 0 { JOIN + cost } else { 0 };
                events.extend(Some(event).filter(|_| is_wanted));
            }
            at = seq;
            ctx.work.poll()?;
        }
        // Rows that a repair dropped are passed over.
        at = end;
    }
    Ok((events, at))
}

impl EventFilter<'_> {
    /// Whether an event is asked for; with what it cost to read in rows.
    fn has(&self, view: &View<'_>, event: &FeedEvent) -> Result<(bool, usize), ApiError> {
        if self.script.is_none() && self.entity.is_none() || event.is_retraction() {
            return Ok((true, 0));
        }
        match event.txid().and_then(|txid| txid.parse::<Txid>().ok()) {
            Some(txid) => touches(view, &txid, (self.script.as_ref(), self.entity)),
            None => Ok((false, 0)),
        }
    }
}
