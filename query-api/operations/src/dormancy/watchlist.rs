//! `GET /v1/dormancy/watchlist`.

use cairn_domain::dormancy::WATCH_SATS;
use cairn_http::{ApiError, Column, Format, Formatted, Info, TableRow, Tool};
use cairn_model::{Height, day_of};
use cairn_reader::View;
use cairn_tables::{
    block_log::BlockLog,
    watchlist::{WatchKey, WatchRow},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::holder::{CoinHolder, txid};
use crate::{
    context::{BESIDE, CLAIMS, Ctx, LABELS, TIP, index_get, lacks},
    definitions::DORMANCY_WATCHLIST,
    operation::Operation,
    parameters::{amount::BtcParam, limit::Limit},
    transfers::Owners,
    values::Btc,
};

/// Large holders that have been quiet for years.
pub(crate) struct DormancyWatchlist;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WatchlistInput {
    /// Least value of the coins of five years and more, in bitcoin: 500 or more.
    #[schemars(example = 1_000)]
    min_btc: Option<BtcParam>,
    /// Clusters per page.
    #[serde(default)]
    limit: Limit<50, 200>,
    /// Clusters to pass over.
    #[serde(default)]
    #[schemars(range(min = 0, max = 50_000))]
    offset: u32,
    /// `json`, `csv` or `markdown`.
    #[serde(default)]
    format: Format,
}

/// Large holders that have been quiet for years.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WatchlistOutput {
    /// The block that the list is as of; null while it is being made.
    as_of_height: Option<Height>,
    as_of_hash: Option<String>,
    /// Why it is null; otherwise null.
    reason: Option<&'static str>,
    /// Hash of the whole set, as the definition says.
    set_sha256: Option<String>,
    /// All clusters of the list, whatever `min_btc`, and what they hold of coins of five years and more.
    total_count: Option<u64>,
    total_old_sats: Option<u64>,
    total_old_btc: Option<Btc>,
    min_sats: u64,
    min_btc: Btc,
    limit: u32,
    offset: u32,
    /// Those with most old coins first.
    watchlist: Vec<Watched>,
    /// True if more follow: go on with a greater `offset`.
    has_more: bool,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// A large holder that has been quiet for years.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Watched {
    holder: CoinHolder,
    /// Its scripts.
    script_count: u64,
    /// Its coins of five years and more.
    old_sats: u64,
    old_btc: Btc,
    /// The newest transaction that spends from it; if none does, the oldest that pays it.
    quiet_since_txid: String,
    quiet_since_height: Height,
    /// Full days since then, by monotone block time, as of the block of the list.
    quiet_days: u32,
    /// True if it never spent.
    never_spent: bool,
}

impl Operation for DormancyWatchlist {
    const INFO: Info = Info {
        summary: "Clusters with 500 BTC or more of coins of five years and more that spent nothing for five years",
        description: "Every large holder that has been quiet for years, as far as co-spending tells, those with most old coins first: \
            what it holds, since when it spends nothing, and its owner by today's labels. The list is of one block, which it names, with \
            a hash of the whole set; it is made anew once a day. Coins that do not move may be lost.",
        freshness: &[TIP, CLAIMS, LABELS, BESIDE],
        tool: Tool::UNLISTED,
        ..index_get("dormancy_watchlist", "/v1/dormancy/watchlist", "chain")
    };
    type Input = WatchlistInput;
    type Output = Formatted<WatchlistOutput>;

    fn run(ctx: &Ctx<'_>, input: WatchlistInput) -> Result<Formatted<WatchlistOutput>, ApiError> {
        let view = ctx.view()?;
        let sats = BtcParam::or_least(input.min_btc, WATCH_SATS)?;
        let head = view.movements().watch_head()?;
        let (rows, has_more) = match &head {
            Some(_) => view.movements().watched(sats, input.offset as usize, input.limit.get() as usize)?,
            None => (Vec::new(), false),
        };
        let (mut owners, mut watchlist) = (Owners::default(), Vec::new());
        let height = head.map_or(view.tip().height, |head| head.height);
        for row in rows {
            ctx.work.poll()?;
            watchlist.push(Watched::of(view, &mut owners, row, height)?);
        }
        let part = format_args!("clusters follow: this is a part of {}", input.limit.get());
        ctx.warn_if_more(input.format, has_more, part);
        Ok(input.format.rows(watchlist, |watchlist| WatchlistOutput {
            as_of_height: head.map(|head| head.height),
            as_of_hash: head.map(|head| head.hash.to_string()),
            reason: head.is_none().then_some("the list is being made, which takes minutes on a large index"),
            set_sha256: head.map(|head| hex::encode(head.set)),
            total_count: head.map(|head| head.clusters),
            total_old_sats: head.map(|head| head.sats),
            total_old_btc: head.map(|head| Btc::of(head.sats)),
            min_sats: sats,
            min_btc: Btc::of(sats),
            limit: input.limit.get(),
            offset: input.offset,
            watchlist,
            has_more,
            definition: DORMANCY_WATCHLIST,
        }))
    }
}

impl Watched {
    fn of(
        view: &View<'_>,
        owners: &mut Owners,
        (key, row): (WatchKey, WatchRow),
        height: Height,
    ) -> Result<Self, ApiError> {
        let lacks = || lacks::<BlockLog>(format!("transaction {}", row.since.0));
        let chain = view.chain();
        let quiet_since_height = chain.height_of(row.since).ok_or_else(lacks)?;
        let since = chain.get(quiet_since_height).ok_or_else(lacks)?.mono_time;
        let now = chain.get(height).ok_or_else(lacks)?.mono_time;
        Ok(Watched {
            holder: CoinHolder::by_name(view, owners, (key.holder, key.sats))?,
            script_count: row.scripts,
            old_sats: key.sats,
            old_btc: Btc::of(key.sats),
            quiet_since_txid: txid(view, row.since)?,
            quiet_since_height,
            quiet_days: day_of(now.saturating_sub(since)),
            never_spent: row.never,
        })
    }
}

impl TableRow for Watched {
    const COLUMNS: &'static [Column<Self>] = &[
        ("old_sats", |of| of.old_sats.to_string()),
        ("script_count", |of| of.script_count.to_string()),
        ("quiet_days", |of| of.quiet_days.to_string()),
        ("quiet_since_height", |of| of.quiet_since_height.to_string()),
        ("quiet_since_txid", |of| of.quiet_since_txid.clone()),
        ("never_spent", |of| of.never_spent.to_string()),
        ("address", |of| of.holder.address().to_owned()),
        ("entity", |of| of.holder.entity()),
    ];
}
