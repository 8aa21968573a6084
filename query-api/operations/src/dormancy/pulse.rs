//! `GET /v1/pulse/dormant`.

use cairn_domain::dormancy::{MOVEMENT_SATS, YEAR};

use super::{
    movement::DormantMovement,
    recent::{page, unconfirmed},
    source::MinSpend,
};
use crate::{
    definitions::OLD_COINS,
    operation::prelude::*,
    parameters::{amount::BtcParam, limit::Limit, since::SinceParam},
    values::Decimal,
    window::Window,
};

/// Current movements of old coins.
pub(crate) struct PulseDormant;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PulseInput {
    /// First block: a height, date, time (RFC 3339), or days before the newest, as in `7d`. Default: 1d.
    #[schemars(example = "7d")]
    since: Option<SinceParam>,
    /// Minimum sum of old coins in bitcoin, at least 10.
    #[schemars(example = 100)]
    min_btc: Option<BtcParam>,
    /// Minimum age of old coins in years of 365 days.
    #[serde(default = "default_years")]
    #[schemars(range(min = 1, max = 30))]
    min_age_years: u32,
    /// Maximum number of unconfirmed, and of confirmed movements.
    #[serde(default)]
    limit: Limit<20, 100>,
}

fn default_years() -> u32 {
    1
}

/// Current movements of old coins.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PulseOutput {
    /// First block that was scanned.
    since_height: Height,
    /// Lowest block height that the confirmed list covers.
    covered_from_height: Height,
    min_sats: u64,
    min_btc: Btc,
    min_age_years: u32,
    limit: u32,
    /// Unconfirmed transactions, the largest sum of old coins first.
    unconfirmed: Vec<DormantMovement>,
    /// Number of unconfirmed movements that are not listed.
    unconfirmed_omitted: u64,
    /// Confirmed transactions, the newest first.
    confirmed: Vec<DormantMovement>,
    /// True if older movements since `since_height` are not listed.
    truncated: bool,
    /// Number of listed confirmed movements.
    confirmed_count: u64,
    /// Sum of the old coins of these movements.
    confirmed_old_sats: u64,
    confirmed_old_btc: Btc,
    /// Coin-days that these movements destroyed, in bitcoin-days.
    confirmed_coin_days_destroyed: Decimal<8>,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

impl Operation for PulseDormant {
    const INFO: Info = Info {
        summary: "Current movements of coins of a year and more, confirmed and unconfirmed",
        description: "A scanner over the last 24 hours, or since any block, and the mempool: transactions whose coins \
            of the given age are worth `min_btc` or more together, with sums. The newest confirmed movements are \
            listed; for pages, dormant_movements has those of five years and more, and chain_awakenings single coins \
            of a year and more.",
        freshness: &[TIP, MEMPOOL, CLAIMS, LABELS],
        tool: Tool::reads(
            "asked for a quick look at old coins on the move, of any age from a year on",
            "a complete list, page by page (chain_awakenings)",
        ),
        ..and_mempool(index_get("pulse_dormant", "/v1/pulse/dormant", "pulse"))
    };
    type Input = PulseInput;
    type Output = PulseOutput;

    fn run(ctx: &Ctx<'_>, input: PulseInput) -> Result<PulseOutput, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, input.since, None)?;
        let sats = BtcParam::or_least(input.min_btc, MOVEMENT_SATS)?;
        let least = MinSpend { age: input.min_age_years.saturating_mul(YEAR), sats };
        let limit = input.limit.get() as usize;
        let (unconfirmed, count) = unconfirmed(ctx, view, least, limit)?;
        let page = page(ctx, view, window, least, limit)?;
        let total = page.rows.iter().map(DormantMovement::old_sats).fold(0, u64::saturating_add);
        let coin_days = page.rows.iter().map(DormantMovement::coin_days).sum();
        Ok(PulseOutput {
            since_height: window.since,
            covered_from_height: page.covered_from,
            min_sats: sats,
            min_btc: Btc::of(sats),
            min_age_years: input.min_age_years,
            limit: input.limit.get(),
            unconfirmed_omitted: count.saturating_sub(unconfirmed.len()) as u64,
            unconfirmed,
            truncated: page.next.is_some(),
            confirmed_count: page.rows.len() as u64,
            confirmed_old_sats: total,
            confirmed_old_btc: Btc::of(total),
            confirmed_coin_days_destroyed: Decimal(coin_days),
            confirmed: page.rows,
            definition: OLD_COINS,
        })
    }
}
