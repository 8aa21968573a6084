//! `GET /v1/pulse/consolidations`.

use std::cell::Cell;

use cairn_domain::transfers::GATHERED_INPUTS;
use cairn_tables::transfers::GatheredRow;

use super::{consolidation::Consolidation, owners::Owners, unconfirmed};
use crate::{
    definitions::CONSOLIDATIONS,
    operation::prelude::*,
    parameters::{amount::BtcParam, limit::Limit, since::SinceParam},
    window::{BoundedScan, Page, TX, Window},
};

pub(crate) struct PulseConsolidations;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ConsolidationsInput {
    /// First block: a height, date, time (RFC 3339), or days before the newest, as in `7d`. Default: 1d.
    #[schemars(example = "7d")]
    since: Option<SinceParam>,
    /// Minimum value of the inputs in bitcoin. Default: any.
    #[schemars(example = 10)]
    min_btc: Option<BtcParam>,
    /// Minimum number of inputs, at least 10.
    #[serde(default = "default_inputs")]
    #[schemars(range(min = 10, max = 25_000))]
    min_inputs: u32,
    /// Maximum number of unconfirmed, and of confirmed transactions.
    #[serde(default)]
    limit: Limit<20, 100>,
}

fn default_inputs() -> u32 {
    GATHERED_INPUTS as u32
}

/// Current consolidations.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConsolidationsOutput {
    /// First block that was scanned.
    since_height: Height,
    /// Lowest block height that the confirmed list covers.
    covered_from_height: Height,
    min_sats: u64,
    min_btc: Btc,
    min_inputs: u32,
    limit: u32,
    /// Unconfirmed transactions, the largest value first: they may never confirm.
    unconfirmed: Vec<Consolidation>,
    /// Number of unconfirmed transactions that are not listed.
    unconfirmed_omitted: u64,
    /// Confirmed transactions, the newest first.
    confirmed: Vec<Consolidation>,
    /// True if older transactions since `since_height` are not listed.
    truncated: bool,
    /// Number of listed confirmed transactions.
    confirmed_count: u64,
    /// Number of inputs of these transactions.
    confirmed_inputs: u64,
    /// Sum of these inputs.
    confirmed_sats: u64,
    confirmed_btc: Btc,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

impl Operation for PulseConsolidations {
    const INFO: Info = Info {
        summary: "Current transactions that gather many coins into few, confirmed and unconfirmed",
        description: "A scanner over the last 24 hours, or since any block, and the mempool: transactions with ten \
            inputs or more, and five inputs or more for each output, without CoinJoins. Services gather the coins of \
            deposits this way, mostly while fees are low.",
        freshness: &[TIP, MEMPOOL, CLAIMS, LABELS],
        tool: Tool::reads("asked who gathers many coins now", "large payments to others (pulse_whales)"),
        ..and_mempool(index_get("pulse_consolidations", "/v1/pulse/consolidations", "pulse"))
    };
    type Input = ConsolidationsInput;
    type Output = ConsolidationsOutput;

    fn run(ctx: &Ctx<'_>, input: ConsolidationsInput) -> Result<ConsolidationsOutput, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, input.since, None)?;
        let least = (input.min_inputs, input.min_btc.map_or(0, |BtcParam(sats)| sats));
        let limit = input.limit.get() as usize;
        let unconfirmed = unconfirmed::consolidations(ctx, view, (least.0 as usize, least.1), limit)?;
        let page = page(ctx, view, window, least, limit)?;
        let total = page.rows.iter().map(Consolidation::sats).fold(0, u64::saturating_add);
        Ok(ConsolidationsOutput {
            since_height: window.since,
            covered_from_height: page.covered_from,
            min_sats: least.1,
            min_btc: Btc::of(least.1),
            min_inputs: input.min_inputs,
            limit: input.limit.get(),
            unconfirmed: unconfirmed.rows,
            unconfirmed_omitted: unconfirmed.omitted,
            truncated: page.next.is_some(),
            confirmed_count: page.rows.len() as u64,
            confirmed_inputs: page.rows.iter().map(Consolidation::inputs).sum(),
            confirmed_sats: total,
            confirmed_btc: Btc::of(total),
            confirmed: page.rows,
            definition: CONSOLIDATIONS,
        })
    }
}

fn page(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    window: Window,
    (inputs, sats): (u32, Sats),
    limit: usize,
) -> Result<Page<Consolidation>, ApiError> {
    let (mut walk, mut scan) =
        (view.movements().consolidations_before(window.end)?, BoundedScan::back_to(window.first));
    let cost = Cell::new(0);
    let next = || {
        scan.spend(cost.take());
        let older = || Ok(walk.as_mut().map(|walk| walk.older()).transpose()?.flatten());
        scan.next(&ctx.work, older, |row: &GatheredRow| row.inputs >= inputs && row.sats >= sats)
    };
    let mut owners = Owners::default();
    Page::read(view, window, limit, next, |tx_num, _| {
        let (row, read) = Consolidation::confirmed(ctx, view, &mut owners, tx_num)?;
        cost.set(TX + read);
        Ok(Some(row))
    })
}
