//! `GET /v1/pulse/whales`.

use cairn_domain::transfers::LARGE_SATS;

use super::{list::AlertFilter, transfer::WhaleAlert, unconfirmed};
use crate::{
    definitions::WHALE_ALERTS,
    operation::prelude::*,
    parameters::{amount::BtcParam, limit::Limit, since::SinceParam},
    window::Window,
};

pub(crate) struct PulseWhales;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WhalesInput {
    /// First block: a height, date, time (RFC 3339), or days before the newest, as in `7d`. Default: 1d.
    #[schemars(example = "7d")]
    since: Option<SinceParam>,
    /// Minimum amount paid to others in bitcoin, at least 100.
    #[schemars(example = 1_000)]
    min_btc: Option<BtcParam>,
    /// Maximum number of unconfirmed, and of confirmed transactions.
    #[serde(default)]
    limit: Limit<20, 100>,
}

/// Current large transfers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhalesOutput {
    /// First block that was scanned.
    since_height: Height,
    /// Lowest block height that the confirmed list covers.
    covered_from_height: Height,
    min_sats: u64,
    min_btc: Btc,
    limit: u32,
    /// Unconfirmed transactions, the largest amount first: they may never confirm.
    unconfirmed: Vec<WhaleAlert>,
    /// Number of unconfirmed transactions that are not listed although their outputs together reach the minimum.
    unconfirmed_omitted: u64,
    /// Confirmed transactions, the newest first.
    confirmed: Vec<WhaleAlert>,
    /// True if older transactions since `since_height` are not listed.
    truncated: bool,
    /// Number of listed confirmed transactions.
    confirmed_count: u64,
    /// Sum that these transactions pay to others.
    confirmed_net_external_sats: u64,
    confirmed_net_external_btc: Btc,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

impl Operation for PulseWhales {
    const INFO: Info = Info {
        summary: "Current transfers of 100 BTC and more to others, confirmed and unconfirmed",
        description: "A scanner over the last 24 hours, or since any block, and the mempool: transactions that pay \
            `min_btc` or more to scripts outside the clusters from which they spend, with the owners of both sides, as \
            far as labels name them, and sums. For pages and directions, whale_alerts has the confirmed ones.",
        freshness: &[TIP, MEMPOOL, CLAIMS, LABELS],
        tool: Tool::reads(
            "asked for a quick look at large amounts on the move, unconfirmed ones included",
            "a complete list, page by page (whale_alerts)",
        ),
        ..and_mempool(index_get("pulse_whales", "/v1/pulse/whales", "pulse"))
    };
    type Input = WhalesInput;
    type Output = WhalesOutput;

    fn run(ctx: &Ctx<'_>, input: WhalesInput) -> Result<WhalesOutput, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, input.since, None)?;
        let sats = BtcParam::or_least(input.min_btc, LARGE_SATS)?;
        let limit = input.limit.get() as usize;
        let unconfirmed = unconfirmed::whales(ctx, view, sats, limit)?;
        let wanted = AlertFilter { least: sats, direction: None, labelled: false, offset: 0 };
        let page = wanted.page(ctx, view, window, limit)?;
        let total = page.rows.iter().map(WhaleAlert::net_external).fold(0, u64::saturating_add);
        Ok(WhalesOutput {
            since_height: window.since,
            covered_from_height: page.covered_from,
            min_sats: sats,
            min_btc: Btc::of(sats),
            limit: input.limit.get(),
            unconfirmed: unconfirmed.rows,
            unconfirmed_omitted: unconfirmed.omitted,
            truncated: page.next.is_some(),
            confirmed_count: page.rows.len() as u64,
            confirmed_net_external_sats: total,
            confirmed_net_external_btc: Btc::of(total),
            confirmed: page.rows,
            definition: WHALE_ALERTS,
        })
    }
}
