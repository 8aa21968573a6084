//! Whale alerts as a list: all, or those with a side that labels identify.

use std::cell::Cell;

use cairn_domain::{flows::FlowDirection, transfers::LARGE_SATS};
use cairn_http::{Format, Formatted};
use cairn_reader::Transfer;

use super::{owners::Owners, transfer::WhaleAlert};
use crate::{
    definitions::WHALE_ALERTS,
    operation::prelude::*,
    page_request::{PageEnd, PageParams, PageRequest},
    parameters::{amount::BtcParam, limit::Limit, since::SinceParam},
    vocabulary::cursor::CursorParam,
    window::{BoundedScan, Page, ScanStep, TX, Window},
};

const MAX_SKIPPED: u32 = 100_000;

/// Length of the range before the newest block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "AlertRange")]
pub(crate) enum Range {
    #[default]
    #[serde(rename = "1d")]
    Day,
    #[serde(rename = "24h")]
    Hours,
    #[serde(rename = "7d")]
    Week,
    #[serde(rename = "30d")]
    Month,
}

impl Range {
    fn days(self) -> u32 {
        match self {
            Range::Day | Range::Hours => 1,
            Range::Week => 7,
            Range::Month => 30,
        }
    }
}

/// Direction of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "FlowType")]
pub(crate) enum FlowType {
    Internal,
    CrossExchange,
    FromExchange,
    ToExchange,
    MinerOut,
    Unknown,
}

impl FlowType {
    fn direction(self) -> FlowDirection {
        match self {
            FlowType::Internal => FlowDirection::Internal,
            FlowType::CrossExchange => FlowDirection::CrossExchange,
            FlowType::FromExchange => FlowDirection::FromExchange,
            FlowType::ToExchange => FlowDirection::ToExchange,
            FlowType::MinerOut => FlowDirection::MinerOut,
            FlowType::Unknown => FlowDirection::Unknown,
        }
    }
}

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "WhaleAlertsInput")]
pub(crate) struct ListInput {
    /// Length of the range up to the newest block: `1d` (or `24h`), `7d` or `30d`.
    #[serde(default)]
    range: Range,
    /// Alerts per page.
    #[serde(default)]
    limit: Limit<50, 1_000>,
    /// Number of alerts to skip.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    offset: u32,
    /// `next_cursor` of the previous page. It replaces `offset`; new blocks do not move it.
    cursor: Option<CursorParam>,
    /// Minimum amount paid to others in bitcoin, at least 100.
    #[schemars(example = 1_000)]
    min_btc: Option<BtcParam>,
    /// Only alerts of this direction, by today's labels.
    flow_type: Option<FlowType>,
    /// `json`, `csv` or `markdown`.
    #[serde(default)]
    format: Format,
}

/// Whale alerts.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WhaleAlertsOutput")]
pub(crate) struct ListOutput {
    range: Range,
    /// First block of the range, by monotone block time.
    since_height: Height,
    min_sats: u64,
    min_btc: Btc,
    /// The requested direction; null for all.
    flow_type: Option<FlowType>,
    limit: u32,
    /// Number of alerts before the page; null after a cursor.
    offset: Option<u32>,
    /// Confirmed transactions, the newest first.
    alerts: Vec<WhaleAlert>,
    /// Offset of the next page; null at the end, after a cursor, and if the page is `truncated`.
    next_offset: Option<u32>,
    #[serde(flatten)]
    end: PageEnd,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// Alerts of a range: of `labelled` only those of which at least half of the value of one side is labelled.
pub(super) fn list(ctx: &Ctx<'_>, input: ListInput, labelled: bool) -> Result<Formatted<ListOutput>, ApiError> {
    let view = ctx.view()?;
    let window = Window::of(view, Some(SinceParam::Days(input.range.days())), None)?;
    let sats = BtcParam::or_least(input.min_btc, LARGE_SATS)?;
    let limit = input.limit.get();
    let params = PageParams { cursor: input.cursor, format: input.format };
    let request = PageRequest::new(ctx, window, limit, params)?;
    let from = request.from;
    let offset = if from.is_some() { 0 } else { input.offset.min(MAX_SKIPPED) };
    let wanted = AlertFilter { least: sats, direction: input.flow_type.map(FlowType::direction), labelled, offset };
    let page = wanted.page(ctx, view, request.rest(), limit as usize)?;
    let next_offset = offset.saturating_add(page.rows.len() as u32);
    let goes_on = page.next.is_some() && !page.is_cut && from.is_none() && next_offset <= MAX_SKIPPED;
    request.answer(ctx, "alerts", page, |alerts, end| ListOutput {
        range: input.range,
        since_height: window.since,
        min_sats: sats,
        min_btc: Btc::of(sats),
        flow_type: input.flow_type,
        limit,
        offset: from.is_none().then_some(offset),
        alerts,
        next_offset: goes_on.then_some(next_offset),
        end,
        definition: WHALE_ALERTS,
    })
}

/// Which alerts a page has.
pub(super) struct AlertFilter {
    /// Least sum that they pay to others.
    pub(super) least: u64,
    pub(super) direction: Option<FlowDirection>,
    pub(super) labelled: bool,
    pub(super) offset: u32,
}

impl AlertFilter {
    pub(super) fn page(
        &self,
        ctx: &Ctx<'_>,
        view: &View<'_>,
        window: Window,
        limit: usize,
    ) -> Result<Page<WhaleAlert>, ApiError> {
        let (mut walk, mut scan) = (view.movements().transfers_before(window.end)?, BoundedScan::back_to(window.first));
        let (skip, cost) = (Cell::new(self.offset), Cell::new(0));
        let asks_labels = self.direction.is_some() || self.labelled;
        let is_skipped = || skip.get() > 0 && skip.replace(skip.get() - 1) > 0;
        let fits = |transfer: &Transfer| {
            let is_large = !transfer.coinjoin && transfer.net_external >= self.least;
            // Filters by label need the whole row.
            is_large && (asks_labels || !is_skipped())
        };
        let next = || -> Result<ScanStep<Transfer>, ApiError> {
            scan.spend(cost.take());
            let older = || Ok(walk.as_mut().map(|walk| walk.older()).transpose()?.flatten().map(|of| (of.tx_num, of)));
            scan.next(&ctx.work, older, fits)
        };
        let mut owners = Owners::default();
        Page::read(view, window, limit, next, |tx_num, transfer| {
            let (alert, read) = WhaleAlert::confirmed(ctx, view, &mut owners, (tx_num, transfer.net_external))?;
            cost.set(TX + read);
            let is_of = self.direction.is_none_or(|direction| alert.direction() == Some(direction));
            let fits = is_of && (!self.labelled || alert.is_labelled());
            Ok(Some(alert).filter(|_| fits && !(asks_labels && is_skipped())))
        })
    }
}
