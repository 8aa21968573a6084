//! The context of an operation.

use std::{
    cell::{Cell, OnceCell},
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Deref,
    sync::Arc,
};

use cairn_domain::{
    mempool::{Mempool, Projection},
    price::{Missing, Price},
};
use cairn_events::LiveQuote;
use cairn_http::{ApiError, Ask, Call, ErrorCode, Fingerprint, Format, Freshness, Info, Method};
use cairn_link::{Absent, MempoolSlot};
use cairn_model::{DAY_SECS, Height, MempoolWatch, Network, SourceKind, SourceStatus, Trouble, Txid};
use cairn_reader::{Damages, ReadError, Reader, Tip, View};
use cairn_tables::{
    Table,
    headers::{HeaderRow, Headers},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    base_rates::RateSlot,
    config::ChainConfig,
    entities::KnownProfiles,
    invoices::InvoiceAccess,
    ledger::LedgerAccess,
    ledger_cache::LedgerSlot,
    node::NodeAccess,
    node_bytes::NodeBytes,
    pools::KnownTags,
    register::RegisterSlot,
    series::SeriesSlot,
    service::VolumeSlot,
    values::{rfc3339, rfc3339_ms},
    young::YoungSlot,
};

/// The tip of the index, and how far it lags.
pub(crate) const TIP: Freshness = Freshness("tip");
/// The mempool: its transactions and their projection.
pub(crate) const MEMPOOL: Freshness = Freshness("mempool");

/// The price of bitcoin in dollars now, and whether it is stale. The ledger of input events belongs to the tip.
pub(crate) const PRICE: Freshness = Freshness("price");
/// The same in every currency.
pub(crate) const MARKET: Freshness = Freshness("market");
/// Claims grow old: the day (UTC). The ledger of input events belongs to the tip.
pub(crate) const CLAIMS: Freshness = Freshness("claims");
/// Tables that follow from all claims: while a document is processed, they change without a new tip.
pub(crate) const LABELS: Freshness = Freshness("labels");
/// Tables computed from the whole index beside new blocks: they change without a new tip and without an event.
pub(crate) const BESIDE: Freshness = Freshness("beside");
pub(crate) const RATES: Freshness = Freshness("base_rates");

/// The answers that were computed in advance.
pub(crate) const SNAPSHOT: Freshness = Freshness("snapshot");

/// Age in seconds at which the newest block is too old: on no public network do blocks stay away for a day.
const OLD: u64 = DAY_SECS as u64;

/// Freshness of answers from confirmed data.
const CONFIRMED: &str = "time of the newest block in the index (monotone block time); confirmed data only";

/// A free operation that reads the index; callers override the fields that differ.
pub(crate) const fn index_get(name: &'static str, path: &'static str, area: &'static str) -> Info {
    Info { source: "index", freshness: &[TIP], freshness_semantics: CONFIRMED, ..Info::get(name, path, area) }
}

/// A free operation that lists rows of the chain page by page, with labels; callers override the fields that differ.
pub(crate) const fn labelled_list(name: &'static str, path: &'static str) -> Info {
    Info { freshness: &[TIP, CLAIMS, LABELS], errors: &[ErrorCode::CursorExpired], ..index_get(name, path, "chain") }
}

/// A free operation with a body; callers override the fields that differ.
pub(crate) const fn index_post(name: &'static str, path: &'static str, area: &'static str) -> Info {
    Info { method: Method::Post, ..index_get(name, path, area) }
}

/// The same, but it also covers unconfirmed transactions if there is a mempool.
pub(crate) const fn and_mempool(info: Info) -> Info {
    Info {
        source: "index+mempool",
        freshness: &[TIP, MEMPOOL],
        freshness_semantics: "time of the last change or check of the mempool; without a mempool, the time of the newest \
            block in the index (monotone block time)",
        ..info
    }
}

/// True if an operation returns a current price.
pub(crate) fn reads_live_quotes(info: &Info) -> bool {
    info.depends_on(PRICE) || info.depends_on(MARKET)
}

/// True if an operation covers unconfirmed transactions.
pub(crate) fn reads_mempool(info: &Info) -> bool {
    info.depends_on(MEMPOOL)
}

/// The mempool, at the same tip as the index view. It does not change during the request.
#[derive(Clone)]
pub(crate) struct MempoolView<'a> {
    pub(crate) mempool: &'a Mempool,
    /// Time of its data, in milliseconds since 1970.
    pub(crate) as_of_ms: u64,
    /// The latest projection; it may be slightly older than the mempool. `None` before the first.
    pub(crate) projection: Option<Arc<Projection>>,
}

pub(crate) struct PriceAccess<'a> {
    /// The reader of the index; `None` while there is none.
    pub(crate) reader: Option<&'a Arc<Reader>>,
    pub(crate) slot: &'a SeriesSlot,
    /// Live quotes. Only for operations that list a price as a freshness input.
    pub(crate) live: Arc<[LiveQuote]>,
    /// The price in dollars now, once it is known.
    pub(crate) dollars: OnceCell<Result<Price, Missing>>,
}

/// The context of an operation: one view of the index, the configuration, the other operations.
pub(crate) struct Ctx<'a> {
    /// The rest of the request, and the server.
    pub(crate) ask: &'a Ask<'a>,
    /// The index; `None` while it is empty.
    pub(crate) index: Option<&'a View<'a>>,
    pub(crate) best_height: Option<Height>,
    /// The newest announcement of the feed that is on disk; `None` if all that can be read is.
    pub(crate) feed_end: Option<u64>,
    /// The mempool, or the reason why it cannot be read. Only for operations that list it as a freshness input.
    pub(crate) pool: Result<MempoolView<'a>, Absent>,
    pub(crate) source: Option<&'a SourceStatus>,
    /// Parts that do not work at present.
    pub(crate) troubles: &'a [Trouble],
    /// The mempool slot, for operations that do not list the mempool as a freshness input.
    pub(crate) slot: &'a MempoolSlot,
    /// The node, if one is configured. Operations that have `pool` do not call it: its answers may take seconds.
    pub(crate) node: Option<&'a dyn NodeAccess>,
    /// The ledger, if this server can hand something in.
    pub(crate) ledger: Option<&'a dyn LedgerAccess>,
    /// The Lightning node whose invoices pay passes. Operations that have `pool` do not call it.
    pub(crate) invoices: Option<&'a dyn InvoiceAccess>,
    /// Bytes from the node, for operations that hold `pool`.
    pub(crate) node_bytes: NodeBytes<'a>,
    /// Prices of the moment, and what the index has.
    pub(crate) prices: PriceAccess<'a>,
    pub(crate) register: &'a RegisterSlot,
    pub(crate) pool_tags: &'a LedgerSlot<KnownTags>,
    pub(crate) profiles: &'a LedgerSlot<KnownProfiles>,
    /// Value that labelled scripts spent in a week.
    pub(crate) volume: &'a VolumeSlot,
    /// Base rates of risk signals.
    pub(crate) rates: &'a RateSlot,
    /// Outputs of coinbases that cannot be spent yet.
    pub(crate) young: &'a YoungSlot,
    pub(crate) damages: &'a Damages,
    pub(crate) chain: &'a ChainConfig,
    /// See [`Ctx::as_if_at`].
    pub(crate) fixed_now: Cell<Option<u32>>,
}

impl<'a> Deref for Ctx<'a> {
    type Target = Call<'a>;

    fn deref(&self) -> &Call<'a> {
        &self.ask.call
    }
}

impl<'a> Ctx<'a> {
    pub(crate) fn view(&self) -> Result<&'a View<'a>, ApiError> {
        self.index.ok_or_else(|| ApiError::syncing("nothing has been indexed yet"))
    }

    /// The fingerprint of the request, which the cursors of a list are bound to.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.ask.fingerprint()
    }

    pub(crate) fn mempool(&self) -> Result<&MempoolView<'a>, ApiError> {
        self.pool.as_ref().map_err(|absent| {
            // Before the indexer has said so, it may only not have begun.
            let off = self.source.is_some_and(|source| source.mempool == MempoolWatch::Off);
            if *absent == Absent::NotWatched && off {
                let detail = format!("{}; its operator can let the indexer follow a node (--node)", absent.reason());
                return ApiError::new(ErrorCode::MempoolUnavailable, detail);
            }
            let wait = if *absent == Absent::OtherTip { 1 } else { 10 };
            ApiError::unavailable(ErrorCode::MempoolUnavailable, absent.reason(), wait)
        })
    }

    /// True while the node may have transactions that the mempool lacks: after a reorganization, lost messages or a
    /// restart of the node, until both are compared.
    pub(crate) fn is_comparing(&self) -> bool {
        self.pool.is_ok() && self.source.is_some_and(|source| source.mempool == MempoolWatch::Loading)
    }

    /// Adds a warning while the node may have transactions that the mempool lacks.
    pub(crate) fn warn_if_comparing(&self) {
        if self.is_comparing() {
            let message = "the mempool is being compared with the node's; transactions may be missing for a moment";
            self.warn("mempool_incomplete", message);
        }
    }

    /// The mempool for operations that work without it. If it is missing or incomplete, the answer carries a warning.
    pub(crate) fn unconfirmed(&self) -> Option<&MempoolView<'a>> {
        self.warn_if_comparing();
        let (found, code, message) = match &self.pool {
            Ok(pool) => match pool.mempool.stats(pool.as_of_ms).dropped {
                0 => return Some(pool),
                dropped => (
                    Some(pool),
                    "mempool_not_whole",
                    format!(
                        "this server dropped the {dropped} transactions with the lowest feerates for lack of memory; the answer omits them"
                    ),
                ),
            },
            Err(absent) => (None, absent.code(), format!("{}: confirmed data only", absent.reason())),
        };
        self.warn(code, message);
        found
    }

    /// Warns that more rows follow, in formats that have no place for a cursor; `part` follows "more".
    pub(crate) fn warn_if_more(&self, format: Format, has_more: bool, part: fmt::Arguments<'_>) {
        if format != Format::Json && has_more {
            self.warn("more_rows", format!("more {part}"));
        }
    }

    /// Lag of the index in blocks, if known.
    pub(crate) fn lag(&self) -> Option<u32> {
        self.index.zip(self.best_height).map(|(view, best)| best.saturating_sub(view.tip().height))
    }

    /// True if the lag exceeds the configured maximum, or if blocks are missing and it is unknown how many.
    pub(crate) fn is_behind(&self) -> bool {
        self.index.is_none()
            || self.lag().is_some_and(|lag| lag > self.chain.max_lag_blocks)
            || lacks_blocks(self.source, self.best_height)
    }

    /// How far the index is behind, in words that follow "the index is".
    pub(crate) fn behind(&self) -> String {
        match (self.index, self.lag()) {
            (None, _) => "empty".to_owned(),
            (Some(_), Some(lag)) if lag > 0 => format!("{lag} blocks behind"),
            _ => "incomplete: block files are missing or damaged".to_owned(),
        }
    }

    /// A not-found error. While the index is behind, it is `index_syncing`, since the object may still appear.
    pub(crate) fn missing(&self, code: ErrorCode, detail: String) -> ApiError {
        match self.index.filter(|_| self.is_behind()) {
            Some(_) => ApiError::syncing(format!("{detail}; the index is {}", self.behind())),
            None => ApiError::new(code, detail),
        }
    }

    /// Age of the newest block in seconds, if it is too old for a chain that goes on all the time. `None` on regtest
    /// and for the demo, whose blocks come when somebody wants them.
    pub(crate) fn old_tip(&self) -> Option<u64> {
        let view = self.index?;
        let goes_on = view.network() != Network::Regtest && self.source.is_none_or(|s| s.kind != SourceKind::Demo);
        let age = (self.now_ms / 1000).saturating_sub(view.tip().time.into());
        Some(age).filter(|age| goes_on && *age > OLD)
    }
}

/// True if the source lacks blocks, and it is unknown how many. If it is known, the lag counts.
pub(crate) fn lacks_blocks(source: Option<&SourceStatus>, best_height: Option<Height>) -> bool {
    best_height.is_none() && has_gap(source)
}

/// True if the source cannot provide its whole chain.
pub(crate) fn has_gap(source: Option<&SourceStatus>) -> bool {
    source.is_some_and(|source| source.gap.is_some())
}

/// Reference to a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct BlockRef {
    /// Height of the block.
    pub(crate) height: Height,
    /// Hash of the block.
    pub(crate) hash: String,
    /// Time of the header (RFC 3339, UTC).
    pub(crate) time: String,
    /// Time of the header in seconds since 1970.
    pub(crate) time_unix: u32,
}

/// The block at `height`, in brief. One row read.
pub(crate) fn block_ref(view: &View<'_>, height: Height) -> Result<BlockRef, ApiError> {
    brief(height, view.header(height)?)
}

/// The blocks at these heights, in brief, by height. One row read for each, all in one look-up.
pub(crate) fn block_refs(view: &View<'_>, heights: &BTreeSet<Height>) -> Result<BTreeMap<Height, BlockRef>, ApiError> {
    let heights: Vec<Height> = heights.iter().copied().collect();
    let rows = view.headers(&heights)?;
    heights.into_iter().zip(rows).map(|(height, row)| Ok((height, brief(height, row)?))).collect()
}

fn brief(height: Height, row: Option<HeaderRow>) -> Result<BlockRef, ApiError> {
    let row = row.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?;
    Ok(BlockRef { height, hash: row.hash.to_string(), time: rfc3339(row.time()), time_unix: row.time() })
}

/// The error that a table lacks a row which another one names.
pub(crate) fn lacks<T: Table>(what: String) -> ReadError {
    ReadError::Lacks { table: T::NAME, what }
}

/// When a confirmed transaction was first seen unconfirmed; `None` if it was not, or if the time is no longer stored.
pub(crate) fn first_seen(ctx: &Ctx<'_>, txid: &Txid) -> Option<String> {
    let pool = ctx.pool.as_ref().ok()?;
    pool.mempool.departed(txid).map(|departed| rfc3339_ms(departed.first_seen_ms))
}

/// Confirmations from which a transaction counts as settled.
pub(crate) const SETTLED_AT: u32 = 6;

pub(crate) fn confirmations(tip: &Tip, height: Height) -> u32 {
    (tip.height + 1).saturating_sub(height)
}
