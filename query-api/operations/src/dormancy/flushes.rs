//! `GET /v1/chain/dormancy-flushes`.

use cairn_domain::dormancy::FLUSH_SATS;
use cairn_http::{ApiError, Cost, ErrorCode, Format, Formatted, Info, Tool};
use cairn_model::Height;
use cairn_tables::stages::FLUSHES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{by_input::ByInput, flush::DormancyFlush};
use crate::{
    context::{CLAIMS, Ctx, LABELS, TIP, index_get},
    definitions::DORMANCY_FLUSHES,
    operation::Operation,
    parameters::{
        limit::Limit,
        amount::{BtcParam, least_sats},
        since::SinceParam,
    },
    transfers::Owners,
    values::Btc,
    vocabulary::cursor::CursorParam,
    window::{Looking, Page, PageRequest, TX, Window},
};

/// Clusters that spend many old coins at once.
pub(crate) struct DormancyFlushes;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FlushesInput {
    /// First block in which a flush may begin: a height, date, time (RFC 3339), or days before the newest, as in `90d`.
    /// Default: 30d.
    #[schemars(length(min = 1, max = 40), example = "90d")]
    since: Option<SinceParam>,
    /// Only flushes that begin before this block, in the same forms.
    #[schemars(length(min = 1, max = 40))]
    until: Option<SinceParam>,
    /// Least value of old coins in bitcoin, 100 or more.
    #[schemars(example = 500)]
    min_btc: Option<BtcParam>,
    /// Flushes per page; those that begin with one transaction come together.
    #[serde(default)]
    limit: Limit<10, 50>,
    /// `next_cursor` of the previous page.
    cursor: Option<CursorParam>,
    /// `json`, `csv` or `markdown`.
    #[serde(default)]
    format: Format,
}

/// Clusters that spend many old coins at once.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FlushesOutput {
    /// First block that was asked for.
    since_height: Height,
    /// One past the last.
    until_height: Height,
    /// The newest block that flushes are known of: the tip, or a little below it.
    followed_height: Height,
    min_sats: u64,
    min_btc: Btc,
    limit: u32,
    /// The newest beginning first.
    flushes: Vec<DormancyFlush>,
    /// Cursor of the next page; null at the end.
    next_cursor: Option<String>,
    /// This page covers the blocks from this height on.
    covered_from_height: Height,
    /// True if the scan limit ended the page early; continue with `next_cursor`.
    truncated: bool,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

impl Operation for DormancyFlushes {
    const INFO: Info = Info {
        summary: "Clusters that spent 100 BTC or more of coins of two years and more within 144 blocks",
        description: "One row for each time that one holder, as far as co-spending tells, spent so many old coins in about a day: \
            value, number and age of the coins, the largest spends, and what it may be for, as far as transactions and today's \
            labels tell: exchange_bound, consolidation, key_migration, holder_rotation or unknown. Classes that wait for later \
            blocks are marked as provisional. A flush is no sale.",
        cost: Cost::Heavy,
        freshness: &[TIP, CLAIMS, LABELS],
        errors: &[ErrorCode::CursorExpired],
        tool: Tool::UNLISTED,
        ..index_get("dormancy_flushes", "/v1/chain/dormancy-flushes", "chain")
    };
    type Input = FlushesInput;
    type Output = Formatted<FlushesOutput>;

    fn run(ctx: &Ctx<'_>, input: FlushesInput) -> Result<Formatted<FlushesOutput>, ApiError> {
        let view = ctx.view()?;
        let since = input.since.unwrap_or(SinceParam::Days(30));
        let window = Window::of(view, Some(since), input.until)?;
        let sats = least_sats(input.min_btc, FLUSH_SATS)?;
        let request = PageRequest::new(ctx, window, (input.limit.get(), input.cursor.as_ref()))?;
        let followed_height = view.late(&FLUSHES)?;
        let mut rows = ByInput::over(view.flushes_before(request.rest().end)?);
        let (mut looking, mut owners) = (Looking::back_to(window.first), Owners::default());
        let spent = std::cell::Cell::new(0);
        let next = || {
            looking.spend(spent.take());
            let older = || Ok(rows.older(|row| row.sats >= sats)?);
            looking.next(&ctx.work, older, |rows| !rows.is_empty())
        };
        let page = Page::read(view, request.rest(), input.limit.get() as usize, next, |_, rows| {
            let mut flushes = Vec::new();
            for (key, row) in rows {
                let (flush, txs) = DormancyFlush::of(ctx, view, &mut owners, key, &row)?;
                spent.set(spent.get() + txs * TX);
                flushes.push(flush);
            }
            Ok(Some(flushes))
        })?;
        request.answer((ctx, input.format), "flushes", page.flatten(), |flushes, end| FlushesOutput {
            since_height: window.since,
            until_height: window.until,
            followed_height,
            min_sats: sats,
            min_btc: Btc::of(sats),
            limit: input.limit.get(),
            flushes,
            next_cursor: end.next_cursor,
            covered_from_height: end.covered_from,
            truncated: end.is_cut,
            definition: DORMANCY_FLUSHES,
        })
    }
}
