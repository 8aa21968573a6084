//! `GET /v1/dormancy/whale-wakeups`.

use cairn_domain::dormancy::WAKEUP_SATS;
use cairn_http::{ApiError, Column, Formatted, Info, TableRow};
use cairn_model::{Height, day_of};
use cairn_reader::View;
use cairn_tables::{flushes::InputKey, stages::WAKEUPS, wakeups::WakeupRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    by_input,
    holder::{CoinHolder, block_of, txid},
};
use crate::{
    confirmation::Confirmation,
    context::{Ctx, labelled_list},
    definitions::WHALE_WAKEUPS,
    operation::Operation,
    page_request::{PageEnd, PageParams, PageRequest},
    parameters::{amount::BtcParam, limit::Limit, since::SinceParam},
    transfers::Owners,
    values::{Btc, Decimal, optional},
    window::{BlockSpan, TX, Window},
};

/// Large holders that spend after years.
pub(crate) struct WhaleWakeups;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WakeupsInput {
    /// First block: a height, date, time (RFC 3339), or days before the newest, as in `365d`. Default: 30d.
    #[schemars(example = "365d")]
    since: Option<SinceParam>,
    /// Only blocks before this one, in the same forms.
    until: Option<SinceParam>,
    /// Minimum sum of the cluster's coins of two years and more, in bitcoin, at least 1000.
    #[schemars(example = 5_000)]
    min_btc: Option<BtcParam>,
    /// Wake-ups per page; those of one transaction stay together.
    #[serde(default)]
    limit: Limit<50, 200>,
    #[serde(flatten)]
    page: PageParams,
}

/// Large holders that spend after years.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WakeupsOutput {
    #[serde(flatten)]
    blocks: BlockSpan,
    /// Newest block whose wake-ups are known: the tip, or slightly below it.
    followed_height: Height,
    min_sats: u64,
    min_btc: Btc,
    limit: u32,
    /// Wake-ups, the newest first.
    wakeups: Vec<WhaleWakeup>,
    #[serde(flatten)]
    end: PageEnd,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// A large holder that spends after years.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhaleWakeup {
    /// Id of the transaction that spends.
    txid: String,
    #[serde(flatten)]
    confirmation: Confirmation,
    /// The cluster before the spend.
    holder: CoinHolder,
    /// Number of scripts in the cluster.
    script_count: u64,
    /// Sum of the cluster's coins of two years and more.
    old_sats: u64,
    old_btc: Btc,
    /// Sum that the transaction spends from the cluster.
    spent_sats: u64,
    spent_btc: Btc,
    /// `spent_sats` in percent of `old_sats`; above 100 if the transaction also spends younger coins.
    spent_percent: Decimal<2>,
    /// True if `spent_percent` is below 1.
    test_spend: bool,
    /// Id of the transaction with which the cluster last spent before; if it never spent, of the first that paid it.
    quiet_since_txid: String,
    quiet_since_height: Height,
    /// Full days from that transaction to the spend, by monotone block time.
    quiet_days: u32,
    /// True if the cluster never spent before.
    first_spend: bool,
}

impl Operation for WhaleWakeups {
    const INFO: Info = Info {
        summary: "Clusters with 1 000 BTC or more of old coins that spent for the first time in two years",
        description: "One row for each first spend of a cluster that held 1 000 BTC or more of coins of two years and \
            more and had spent nothing for two years: its old coins, the sum spent, whether that is a test (less than \
            1 percent), the time of its last spend before, and its owner by today's labels. A wake-up does not prove a \
            sale: keys are also moved and inherited.",
        ..labelled_list("whale_wakeups", "/v1/dormancy/whale-wakeups")
    };
    type Input = WakeupsInput;
    type Output = Formatted<WakeupsOutput>;

    fn run(ctx: &Ctx<'_>, input: WakeupsInput) -> Result<Formatted<WakeupsOutput>, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, input.since.or(Some(SinceParam::Days(30))), input.until)?;
        let sats = BtcParam::or_least(input.min_btc, WAKEUP_SATS)?;
        let request = PageRequest::new(ctx, window, input.limit.get(), input.page)?;
        let followed_height = view.late(&WAKEUPS)?;
        let (walk, fits) = (view.movements().wakeups_before(request.rest().end)?, |row: &WakeupRow| row.sats >= sats);
        let mut owners = Owners::default();
        let page = by_input::page(ctx, &request, (walk, fits), |rows| {
            let wakeups = rows.into_iter().map(|(key, row)| WhaleWakeup::of(view, &mut owners, key, row));
            Ok((wakeups.collect::<Result<_, _>>()?, TX))
        })?;
        request.answer(ctx, "wake-ups", page, |wakeups, end| WakeupsOutput {
            blocks: window.blocks(),
            followed_height,
            min_sats: sats,
            min_btc: Btc::of(sats),
            limit: request.limit,
            wakeups,
            end,
            definition: WHALE_WAKEUPS,
        })
    }
}

impl WhaleWakeup {
    fn of(view: &View<'_>, owners: &mut Owners, key: InputKey, row: WakeupRow) -> Result<Self, ApiError> {
        let (height, spent_in) = block_of(view, key.tx_num)?;
        let (quiet_since_height, quiet_since) = block_of(view, row.since)?;
        let share = u128::from(row.spent) * 10_000 / u128::from(row.sats.max(1));
        Ok(WhaleWakeup {
            txid: txid(view, key.tx_num)?,
            confirmation: Confirmation::confirmed(view, height, spent_in.time),
            holder: CoinHolder::of(view, owners, (key, row.holder, row.sats))?,
            script_count: row.scripts,
            old_sats: row.sats,
            old_btc: Btc::of(row.sats),
            spent_sats: row.spent,
            spent_btc: Btc::of(row.spent),
            spent_percent: Decimal(share.cast_signed()),
            test_spend: u128::from(row.spent) * 100 < u128::from(row.sats),
            quiet_since_txid: txid(view, row.since)?,
            quiet_since_height,
            quiet_days: day_of(spent_in.mono_time.saturating_sub(quiet_since.mono_time)),
            first_spend: row.never,
        })
    }
}

impl TableRow for WhaleWakeup {
    const COLUMNS: &'static [Column<Self>] = &[
        ("time", |of| of.confirmation.time().to_owned()),
        ("height", |of| optional(of.confirmation.height)),
        ("txid", |of| of.txid.clone()),
        ("old_sats", |of| of.old_sats.to_string()),
        ("spent_sats", |of| of.spent_sats.to_string()),
        ("spent_percent", |of| of.spent_percent.to_string()),
        ("test_spend", |of| of.test_spend.to_string()),
        ("script_count", |of| of.script_count.to_string()),
        ("quiet_days", |of| of.quiet_days.to_string()),
        ("quiet_since_txid", |of| of.quiet_since_txid.clone()),
        ("address", |of| of.holder.address().to_owned()),
        ("entity", |of| of.holder.entity()),
    ];
}
