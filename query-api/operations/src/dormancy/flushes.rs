//! `GET /v1/chain/dormancy-flushes`.

use cairn_domain::dormancy::FLUSH_SATS;
use cairn_http::Formatted;
use cairn_tables::{flushes::FlushRow, stages::FLUSHES};

use super::{by_input, flush::DormancyFlush};
use crate::{
    definitions::DORMANCY_FLUSHES,
    operation::prelude::*,
    page_request::{PageEnd, PageParams, PageRequest},
    parameters::{amount::BtcParam, limit::Limit, since::SinceParam},
    transfers::Owners,
    window::{BlockSpan, TX, Window},
};

/// Clusters that spend many old coins at once.
pub(crate) struct DormancyFlushes;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FlushesInput {
    /// First block in which a flush may begin: a height, date, time (RFC 3339), or days before the newest, as in `90d`.
    /// Default: 30d.
    #[schemars(example = "90d")]
    since: Option<SinceParam>,
    /// Only flushes that begin before this block, in the same forms.
    until: Option<SinceParam>,
    /// Minimum value of old coins in bitcoin, at least 100.
    #[schemars(example = 500)]
    min_btc: Option<BtcParam>,
    /// Flushes per page; those that begin with one transaction stay together.
    #[serde(default)]
    limit: Limit<10, 50>,
    #[serde(flatten)]
    page: PageParams,
}

/// Clusters that spend many old coins at once.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FlushesOutput {
    #[serde(flatten)]
    blocks: BlockSpan,
    /// Newest block whose flushes are known: the tip, or slightly below it.
    followed_height: Height,
    min_sats: u64,
    min_btc: Btc,
    limit: u32,
    /// Flushes, the latest beginning first.
    flushes: Vec<DormancyFlush>,
    #[serde(flatten)]
    end: PageEnd,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

impl Operation for DormancyFlushes {
    const INFO: Info = Info {
        summary: "Clusters that spent 100 BTC or more of coins of two years and more within 144 blocks",
        description: "One row for each time that one holder, as far as co-spending shows, spent 100 BTC or more of old \
            coins in about a day: value, number and age of the coins, the largest spends, and the likely purpose by \
            transactions and today's labels: exchange_bound, consolidation, key_migration, holder_rotation or unknown. \
            A class that later blocks may change is marked as provisional. A flush does not prove a sale.",
        cost: Cost::Heavy,
        ..labelled_list("dormancy_flushes", "/v1/chain/dormancy-flushes")
    };
    type Input = FlushesInput;
    type Output = Formatted<FlushesOutput>;

    fn run(ctx: &Ctx<'_>, input: FlushesInput) -> Result<Formatted<FlushesOutput>, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, input.since.or(Some(SinceParam::Days(30))), input.until)?;
        let sats = BtcParam::or_least(input.min_btc, FLUSH_SATS)?;
        let request = PageRequest::new(ctx, window, input.limit.get(), input.page)?;
        let followed_height = view.late(&FLUSHES)?;
        let (walk, fits) = (view.movements().flushes_before(request.rest().end)?, |row: &FlushRow| row.sats >= sats);
        let mut owners = Owners::default();
        let page = by_input::page(ctx, &request, (walk, fits), |rows| {
            let (mut flushes, mut cost) = (Vec::with_capacity(rows.len()), 0);
            for (key, row) in rows {
                let (flush, txs) = DormancyFlush::of(ctx, view, &mut owners, key, &row)?;
                cost += txs * TX;
                flushes.push(flush);
            }
            Ok((flushes, cost))
        })?;
        request.answer(ctx, "flushes", page, |flushes, end| FlushesOutput {
            blocks: window.blocks(),
            followed_height,
            min_sats: sats,
            min_btc: Btc::of(sats),
            limit: request.limit,
            flushes,
            end,
            definition: DORMANCY_FLUSHES,
        })
    }
}
