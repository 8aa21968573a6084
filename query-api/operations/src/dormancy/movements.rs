//! `GET /v1/chain/dormant-movements`.

use cairn_domain::dormancy::{MOVEMENT_SATS, MOVEMENT_YEARS, YEAR};
use cairn_http::Formatted;

use super::{movement::DormantMovement, recent::page, source::MinSpend};
use crate::{
    definitions::OLD_COINS,
    operation::prelude::*,
    page_request::{PageParams, PageRequest},
    parameters::{amount::BtcParam, limit::Limit, since::SinceParam},
    window::{BlockSpan, Window},
};

/// Movements of coins that were not spent for years.
pub(crate) struct DormantMovements;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MovementsInput {
    /// First block: a height, date, time (RFC 3339), or days before the newest, as in `30d`. Default: 1d.
    #[schemars(example = "30d")]
    since: Option<SinceParam>,
    /// Only blocks before this one, in the same forms.
    until: Option<SinceParam>,
    /// Minimum sum of old coins in bitcoin, at least 10.
    #[schemars(example = 100)]
    min_btc: Option<BtcParam>,
    /// Minimum age of old coins in years of 365 days.
    #[serde(default = "default_years")]
    #[schemars(range(min = 5, max = 30))]
    min_age_years: u32,
    /// Movements per page.
    #[serde(default)]
    limit: Limit<50, 200>,
    #[serde(flatten)]
    page: PageParams,
}

fn default_years() -> u32 {
    MOVEMENT_YEARS
}

/// Movements of coins that were not spent for years.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MovementsOutput {
    #[serde(flatten)]
    blocks: BlockSpan,
    min_sats: u64,
    min_btc: Btc,
    min_age_years: u32,
    limit: u32,
    /// Confirmed transactions, the newest first.
    movements: Vec<DormantMovement>,
    /// Cursor of the next page; null at the end.
    next_cursor: Option<String>,
    /// Lowest block height that this page covers.
    covered_from_height: Height,
    /// True if the scan limit ended the page early; continue with `next_cursor`.
    truncated: bool,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

impl Operation for DormantMovements {
    const INFO: Info = Info {
        summary: "Transactions that moved coins unspent for five years or more",
        description: "Confirmed transactions whose inputs of five years and more are worth 10 BTC or more together, \
            the newest first: value and number of the old coins, coin-days destroyed, average age weighted by value, \
            and the largest scripts on both sides with their labels. The range is the last 24 hours, or any part of \
            the chain in pages. A movement does not prove a sale.",
        ..labelled_list("dormant_movements", "/v1/chain/dormant-movements")
    };
    type Input = MovementsInput;
    type Output = Formatted<MovementsOutput>;

    fn run(ctx: &Ctx<'_>, input: MovementsInput) -> Result<Formatted<MovementsOutput>, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, input.since, input.until)?;
        let sats = BtcParam::or_least(input.min_btc, MOVEMENT_SATS)?;
        let request = PageRequest::new(ctx, window, input.limit.get(), input.page)?;
        let least = MinSpend { age: input.min_age_years.saturating_mul(YEAR), sats };
        let page = page(ctx, view, request.rest(), least, request.limit as usize)?;
        request.answer(ctx, "movements", page, |movements, end| MovementsOutput {
            blocks: window.blocks(),
            min_sats: sats,
            min_btc: Btc::of(sats),
            min_age_years: input.min_age_years,
            limit: request.limit,
            movements,
            next_cursor: end.next_cursor,
            covered_from_height: end.covered_from_height,
            truncated: end.truncated,
            definition: OLD_COINS,
        })
    }
}
