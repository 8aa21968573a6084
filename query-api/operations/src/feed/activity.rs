//! `GET /v1/chain/activity-feed`.

use cairn_reader::MAX_ANNOUNCED;

use super::{
    event::{FeedEvent, said},
    kinds::EventTypes,
    mark,
};
use crate::{
    definitions::FEED,
    operation::prelude::*,
    parameters::{amount::BtcParam, limit::Limit},
    transfers::Owners,
    vocabulary::cursor::{CursorParam, Cursors},
};

const MAX_LOOKED_THROUGH: usize = 30_000;
/// Cost of joining the labels of a transaction, in announcements.
const JOIN: usize = 30;

pub(crate) struct ActivityFeed;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FeedInput {
    /// Types of events, separated by commas. Default: all but `block`.
    #[schemars(example = "whale_tx,retraction")]
    types: Option<EventTypes>,
    /// Minimum value in bitcoin, for events that have one.
    #[schemars(example = 500)]
    min_btc: Option<BtcParam>,
    /// Events per page.
    #[serde(default)]
    limit: Limit<50, 200>,
    /// `next_cursor` of the previous page.
    cursor: Option<CursorParam>,
}

/// Announcements.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeedOutput {
    min_sats: u64,
    min_btc: Btc,
    limit: u32,
    /// Time at which this feed began; null if none has. Ids of events begin with it.
    feed_began_at: Option<String>,
    feed_epoch: Option<u32>,
    /// Announcements, the newest first.
    events: Vec<FeedEvent>,
    /// Cursor of the next page; null at the end. It stays valid for as long as the feed exists.
    next_cursor: Option<String>,
    /// True if the scan limit ended the page early; continue with `next_cursor`.
    truncated: bool,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

impl Operation for ActivityFeed {
    const INFO: Info = Info {
        summary: "Announcements about the chain and their retractions, the newest first",
        description: "The feed of this server, the newest announcement first: large payments, CoinJoins, old coins \
            that were spent, gathered coins, imported labels, reorganizations. An announcement never changes: if a \
            reorg removes its block, a retraction follows, and the announcement is marked. Labels are those of the \
            time of the request. `/v1/events` streams the same announcements.",
        freshness: &[TIP, CLAIMS, LABELS],
        tool: Tool::UNLISTED,
        ..index_get("activity_feed", "/v1/chain/activity-feed", "chain")
    };
    type Input = FeedInput;
    type Output = FeedOutput;

    fn run(ctx: &Ctx<'_>, input: FeedInput) -> Result<FeedOutput, ApiError> {
        let view = ctx.view()?;
        let types = input.types.unwrap_or(EventTypes::ALERTS);
        let least = input.min_btc.map_or(0, |BtcParam(sats)| sats);
        let feed = view.feed().span()?;
        let epoch = feed.map_or(0, |feed| feed.epoch);
        let cursors = Cursors::new(view, &ctx.fingerprint().with(&epoch.to_be_bytes()));
        let last = feed.map_or(0, |feed| mark::end(ctx.feed_end, feed.last));
        // Announcements up to here.
        let from = match input.cursor.as_deref() {
            None => last,
            Some(token) => match cursors.read(token)? {
                position if position <= last => position,
                _ => return Err(cursors.no_fit()),
            },
        };
        let page = page(ctx, view, (epoch, types, least), from, input.limit.get() as usize)?;
        // It is bound to the genesis block, which no reorg replaces: announcements stay.
        let token = |position| cursors.token_at(0, position);
        Ok(FeedOutput {
            min_sats: least,
            min_btc: Btc::of(least),
            limit: input.limit.get(),
            feed_began_at: feed.map(|feed| rfc3339(feed.epoch)),
            feed_epoch: feed.map(|feed| feed.epoch),
            events: page.events,
            next_cursor: page.next.map(token).transpose()?,
            truncated: page.is_cut,
            definition: FEED,
        })
    }
}

struct Page {
    events: Vec<FeedEvent>,
    /// The announcement that the next page begins with.
    next: Option<u64>,
    is_cut: bool,
}

/// Events up to an announcement, the newest first.
fn page(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    (epoch, types, least): (u32, EventTypes, u64),
    from: u64,
    limit: usize,
) -> Result<Page, ApiError> {
    let mut page = Page { events: Vec::new(), next: None, is_cut: false };
    let (mut owners, mut looked_through, mut end) = (Owners::default(), 0, from.saturating_add(1));
    // The first row is the beginning of the feed.
    while end > 1 {
        let step = (MAX_ANNOUNCED as u64).min(end - 1).min(if types.has_flows() { 200 } else { u64::MAX });
        ctx.work.poll()?;
        let rows = view.feed().announcements(end - step, step as usize)?;
        for said in said(view, rows)?.into_iter().rev() {
            let seq = said.seq;
            let is_cut = looked_through >= MAX_LOOKED_THROUGH;
            if is_cut || page.events.len() == limit {
                page.next = Some(seq);
                page.is_cut = is_cut;
                return Ok(page);
            }
            looked_through += 1;
            let (event, cost) = FeedEvent::of(view, &mut owners, (epoch, types, least), said)?;
            looked_through += if cost > 0 { JOIN + cost } else { 0 };
            page.events.extend(event);
            ctx.work.poll()?;
        }
        end -= step;
    }
    Ok(page)
}
