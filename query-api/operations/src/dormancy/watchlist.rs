//! `GET /v1/dormancy/watchlist`.

use cairn_domain::dormancy::WATCH_SATS;
use cairn_http::{Format, Formatted};
use cairn_model::day_of;
use cairn_tables::{
    block_log::BlockLog,
    watchlist::{WatchKey, WatchRow},
};

use super::holder::{CoinHolder, txid};
use crate::{
    context::BESIDE,
    definitions::DORMANCY_WATCHLIST,
    operation::prelude::*,
    parameters::{amount::BtcParam, limit::Limit},
    transfers::Owners,
    vocabulary::columns::columns,
};

/// Large holders that have been quiet for years.
pub(crate) struct DormancyWatchlist;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WatchlistInput {
    /// Minimum sum of the coins of five years and more, in bitcoin, at least 500.
    #[schemars(example = 1_000)]
    min_btc: Option<BtcParam>,
    /// Clusters per page.
    #[serde(default)]
    limit: Limit<50, 200>,
    /// Number of clusters to skip.
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
    /// Height of the block at which the list was computed; null until then.
    as_of_height: Option<Height>,
    as_of_hash: Option<String>,
    /// Why the list is null; otherwise null.
    reason: Option<&'static str>,
    /// Hash of the whole list, as described in the definition.
    set_sha256: Option<String>,
    /// Number of clusters in the list, for any `min_btc`.
    total_count: Option<u64>,
    /// Sum of the coins of five years and more of these clusters.
    total_old_sats: Option<u64>,
    total_old_btc: Option<Btc>,
    min_sats: u64,
    min_btc: Btc,
    limit: u32,
    offset: u32,
    /// Clusters, the most old coins first.
    watchlist: Vec<WatchedHolder>,
    /// True if more clusters follow; continue with a larger `offset`.
    has_more: bool,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// A large holder that has been quiet for years.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Watched")]
pub(crate) struct WatchedHolder {
    holder: CoinHolder,
    /// Number of scripts in the cluster.
    script_count: u64,
    /// Sum of the cluster's coins of five years and more.
    old_sats: u64,
    old_btc: Btc,
    /// Id of the newest transaction that spends from the cluster; if none does, of the oldest that pays it.
    quiet_since_txid: String,
    quiet_since_height: Height,
    /// Full days since that transaction, by monotone block time, as of the block of the list.
    quiet_days: u32,
    /// True if the cluster never spent.
    never_spent: bool,
}

impl Operation for DormancyWatchlist {
    const INFO: Info = Info {
        summary: "Clusters with 500 BTC or more of coins of five years and more and no spend for five years",
        description: "Every large holder, as far as co-spending shows, that has spent nothing for years, the most old \
            coins first: its old coins, the time of its last spend, and its owner by today's labels. The list is \
            computed about once a day, at one block, which the answer names, with a hash of the whole list. Coins that \
            do not move may be lost.",
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
            watchlist.push(WatchedHolder::of(view, &mut owners, row, height)?);
        }
        let part = format_args!("clusters follow: this is a part of {}", input.limit.get());
        ctx.warn_if_more(input.format, has_more, part);
        Ok(input.format.rows(watchlist, |watchlist| WatchlistOutput {
            as_of_height: head.map(|head| head.height),
            as_of_hash: head.map(|head| head.hash.to_string()),
            reason: head.is_none().then_some("the list is being computed, which takes minutes on a large index"),
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

impl WatchedHolder {
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
        Ok(WatchedHolder {
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

columns! { WatchedHolder {
    old_sats, script_count, quiet_days, quiet_since_height, quiet_since_txid, never_spent,
    address: |of| of.holder.address(),
    entity: |of| of.holder.entity(),
} }
