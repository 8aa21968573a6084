//! `GET /v1/dormancy/whale-wakeups`.

use cairn_domain::dormancy::WAKEUP_SATS;
use cairn_http::{ApiError, Column, ErrorCode, Format, Formatted, Info, TableRow, Tool};
use cairn_model::{Height, day_of};
use cairn_reader::View;
use cairn_tables::{block_log::BlockLog, flushes::InputKey, stages::WAKEUPS, wakeups::WakeupRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    by_input::ByInput,
    holder::{CoinHolder, txid},
};
use crate::{
    context::{CLAIMS, Ctx, LABELS, TIP, index_get, lacks},
    definitions::WHALE_WAKEUPS,
    operation::Operation,
    parameters::{
        limit::Limit,
        amount::{BtcParam, least_sats},
        since::SinceParam,
    },
    standing::Standing,
    transfers::Owners,
    values::{Btc, Decimal, optional},
    vocabulary::cursor::CursorParam,
    window::{Looking, Page, PageRequest, TX, Window},
};

/// Large holders that spend after years.
pub(crate) struct WhaleWakeups;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WakeupsInput {
    /// First block: a height, date, time (RFC 3339), or days before the newest, as in `365d`. Default: 30d.
    #[schemars(length(min = 1, max = 40), example = "365d")]
    since: Option<SinceParam>,
    /// Only blocks before this one, in the same forms.
    #[schemars(length(min = 1, max = 40))]
    until: Option<SinceParam>,
    /// Least value of the coins of two years and more that the cluster had, in bitcoin: 1000 or more.
    #[schemars(example = 5_000)]
    min_btc: Option<BtcParam>,
    /// Wake-ups per page; those of one transaction come together.
    #[serde(default)]
    limit: Limit<50, 200>,
    /// `next_cursor` of the previous page.
    cursor: Option<CursorParam>,
    /// `json`, `csv` or `markdown`.
    #[serde(default)]
    format: Format,
}

/// Large holders that spend after years.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WakeupsOutput {
    /// First block that was asked for.
    since_height: Height,
    /// One past the last.
    until_height: Height,
    /// The newest block that wake-ups are known of: the tip, or a little below it.
    followed_height: Height,
    min_sats: u64,
    min_btc: Btc,
    limit: u32,
    /// The newest first.
    wakeups: Vec<WhaleWakeup>,
    /// Cursor of the next page; null at the end.
    next_cursor: Option<String>,
    /// This page covers the blocks from this height on.
    covered_from_height: Height,
    /// True if the scan limit ended the page early; continue with `next_cursor`.
    truncated: bool,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// A large holder that spends after years.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhaleWakeup {
    /// The spend.
    txid: String,
    #[serde(flatten)]
    standing: Standing,
    /// The cluster as it was before the spend.
    holder: CoinHolder,
    /// Its scripts.
    script_count: u64,
    /// Its coins of two years and more.
    old_sats: u64,
    old_btc: Btc,
    /// Sum that the transaction spends of it.
    spent_sats: u64,
    spent_btc: Btc,
    /// That in percent of its old coins; above 100 if it spends younger coins, too.
    spent_percent: Decimal<2>,
    /// True if that is less than 1 percent.
    test_spend: bool,
    /// The transaction that it spent with before; if it never had, that which paid it first.
    quiet_since_txid: String,
    quiet_since_height: Height,
    /// Full days between the two, by monotone block time.
    quiet_days: u32,
    /// True if it never spent before.
    first_spend: bool,
}

impl Operation for WhaleWakeups {
    const INFO: Info = Info {
        summary: "Clusters with 1 000 BTC or more of old coins that spent for the first time in two years",
        description: "One row for each first spend of a cluster that held 1 000 BTC or more of coins of two years and more \
            and had spent nothing for two years: what it held, what it spent, whether that is a test (less than 1 percent), and \
            since when it was quiet, with its owner by today's labels. A wake-up is no sale: keys are moved and inherited, too.",
        freshness: &[TIP, CLAIMS, LABELS],
        errors: &[ErrorCode::CursorExpired],
        tool: Tool::UNLISTED,
        ..index_get("whale_wakeups", "/v1/dormancy/whale-wakeups", "chain")
    };
    type Input = WakeupsInput;
    type Output = Formatted<WakeupsOutput>;

    fn run(ctx: &Ctx<'_>, input: WakeupsInput) -> Result<Formatted<WakeupsOutput>, ApiError> {
        let view = ctx.view()?;
        let since = input.since.unwrap_or(SinceParam::Days(30));
        let window = Window::of(view, Some(since), input.until)?;
        let sats = least_sats(input.min_btc, WAKEUP_SATS)?;
        let request = PageRequest::new(ctx, window, (input.limit.get(), input.cursor.as_ref()))?;
        let followed_height = view.late(&WAKEUPS)?;
        let mut rows = ByInput::over(view.wakeups_before(request.rest().end)?);
        let (mut looking, mut owners) = (Looking::back_to(window.first), Owners::default());
        let next = || {
            let older = || Ok(rows.older(|row| row.sats >= sats)?);
            let step = looking.next(&ctx.work, older, |rows| !rows.is_empty())?;
            looking.spend(TX);
            Ok(step)
        };
        let page = Page::read(view, request.rest(), input.limit.get() as usize, next, |_, rows| {
            let wakeup = |(key, row): (InputKey, WakeupRow)| WhaleWakeup::of(view, &mut owners, key, row);
            rows.into_iter().map(wakeup).collect::<Result<Vec<_>, _>>().map(Some)
        })?;
        request.answer((ctx, input.format), "wake-ups", page.flatten(), |wakeups, end| WakeupsOutput {
            since_height: window.since,
            until_height: window.until,
            followed_height,
            min_sats: sats,
            min_btc: Btc::of(sats),
            limit: input.limit.get(),
            wakeups,
            next_cursor: end.next_cursor,
            covered_from_height: end.covered_from,
            truncated: end.is_cut,
            definition: WHALE_WAKEUPS,
        })
    }
}

impl WhaleWakeup {
    fn of(view: &View<'_>, owners: &mut Owners, key: InputKey, row: WakeupRow) -> Result<Self, ApiError> {
        let block = |tx_num: cairn_model::TxNum| {
            let height = view.chain().height_of(tx_num)?;
            view.chain().get(height).map(|block| (height, block))
        };
        let lacks = || lacks::<BlockLog>(format!("transaction {}", key.tx_num.0));
        let (height, spent_in) = block(key.tx_num).ok_or_else(lacks)?;
        let (quiet_since_height, quiet_since) = block(row.since).ok_or_else(lacks)?;
        let share = u128::from(row.spent) * 10_000 / u128::from(row.sats.max(1));
        Ok(WhaleWakeup {
            txid: txid(view, key.tx_num)?,
            standing: Standing::confirmed(view, height, spent_in.time),
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
        ("time", |of| of.standing.time().to_owned()),
        ("height", |of| optional(of.standing.height)),
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
