//! `GET /v1/chain/dormant-alerts`.

use cairn_domain::dormancy::{MOVEMENT_SATS, MOVEMENT_YEARS, YEAR};
use cairn_http::{Format, Formatted, Table};

use super::{
    movement::DormantMovement,
    recent::{page, unconfirmed},
    source::MinSpend,
};
use crate::{
    definitions::OLD_COINS,
    operation::prelude::*,
    parameters::{amount::BtcParam, limit::Limit},
    window::Window,
};

/// Movements of the last 24 hours, unconfirmed ones included.
pub(crate) struct DormantAlerts;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AlertsInput {
    /// Minimum sum of old coins in bitcoin, at least 10.
    #[schemars(example = 100)]
    min_btc: Option<BtcParam>,
    /// Maximum number of unconfirmed, and of confirmed alerts.
    #[serde(default)]
    limit: Limit<50, 200>,
    /// `json`, `csv` or `markdown`.
    #[serde(default)]
    format: Format,
}

/// Movements of the last 24 hours.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AlertsOutput {
    /// First block of the 24 hours before the newest one, by monotone block time.
    since_height: Height,
    min_sats: u64,
    min_btc: Btc,
    min_age_years: u32,
    limit: u32,
    /// Unconfirmed transactions, the largest sum of old coins first: they may never confirm.
    unconfirmed: Vec<DormantMovement>,
    /// Number of unconfirmed movements that are not listed.
    unconfirmed_omitted: u64,
    /// Confirmed transactions, the newest first.
    confirmed: Vec<DormantMovement>,
    /// True if there are more confirmed movements; `dormant_movements` lists all.
    truncated: bool,
    /// Sum of the old coins of all listed movements.
    total_old_sats: u64,
    total_old_btc: Btc,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

impl Operation for DormantAlerts {
    const INFO: Info = Info {
        summary: "Movements of coins of five years and more in the last 24 hours, including the mempool",
        description: "Transactions whose inputs of five years and more are worth 10 BTC or more together: those of the \
            24 hours before the newest block, and unconfirmed ones, which come first and may never confirm. Ages of \
            unconfirmed ones are as of the newest block.",
        freshness: &[TIP, MEMPOOL, CLAIMS, LABELS],
        tool: Tool::UNLISTED,
        ..and_mempool(index_get("dormant_alerts", "/v1/chain/dormant-alerts", "chain"))
    };
    type Input = AlertsInput;
    type Output = Formatted<AlertsOutput>;

    fn run(ctx: &Ctx<'_>, input: AlertsInput) -> Result<Formatted<AlertsOutput>, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, None, None)?;
        let sats = BtcParam::or_least(input.min_btc, MOVEMENT_SATS)?;
        let least = MinSpend { age: MOVEMENT_YEARS.saturating_mul(YEAR), sats };
        let limit = input.limit.get() as usize;
        let (unconfirmed, count) = unconfirmed(ctx, view, least, limit)?;
        let page = page(ctx, view, window, least, limit)?;
        let listed = || unconfirmed.iter().chain(&page.rows);
        let total = listed().map(DormantMovement::old_sats).fold(0, u64::saturating_add);
        let object = |(unconfirmed, confirmed): (Vec<_>, Vec<_>)| {
            Ok(AlertsOutput {
                since_height: window.since,
                min_sats: sats,
                min_btc: Btc::of(sats),
                min_age_years: MOVEMENT_YEARS,
                limit: input.limit.get(),
                unconfirmed_omitted: count.saturating_sub(unconfirmed.len()) as u64,
                unconfirmed,
                confirmed,
                truncated: page.next.is_some(),
                total_old_sats: total,
                total_old_btc: Btc::of(total),
                definition: OLD_COINS,
            })
        };
        let table = |(unconfirmed, confirmed): (Vec<DormantMovement>, Vec<_>)| {
            Ok(Table::new(unconfirmed.into_iter().chain(confirmed)))
        };
        input.format.answer((unconfirmed, page.rows), object, table)
    }
}
