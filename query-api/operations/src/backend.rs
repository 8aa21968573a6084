//! Runs the operations on the index and the mempool, both pinned for one request.

use std::{
    cell::{Cell, OnceCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use cairn_chain::NodeAccess;
use cairn_http::{Answer, ApiError, Aside, Ask, Backend, DataState, Freshness, Metric, TipMeta, Versions};
use cairn_link::{Absent, IndexSource, PinnedMempool};
use cairn_metrics::{
    BEST_HEIGHT, DAMAGED_TABLES, DAMAGES, INDEX_TIP_HEIGHT, SCRUB_BYTES, SCRUB_LAST_END, SCRUBS, SOURCE_GAP,
};
use cairn_model::day_of;
use cairn_reader::{Damages, ReadError, Reader, View};
use cairn_tables::TABLES;

use crate::{
    base_rates::RateSlot,
    config::ChainConfig,
    context::{
        BESIDE, CLAIMS, Ctx, LABELS, MARKET, MEMPOOL, MempoolView, PRICE, PriceAccess, RATES, SNAPSHOT, TIP, has_gap,
        lacks_blocks, reads_live_quotes, reads_mempool,
    },
    entities::KnownProfiles,
    explain::{damaged, explain, note},
    feed::FeedMark,
    invoices::InvoiceAccess,
    ledger::LedgerAccess,
    ledger_cache::LedgerSlot,
    node_bytes::{NodeAnswer, NodeBytes, TxRequest},
    operation::Runner,
    pools::KnownTags,
    price_now,
    register::RegisterSlot,
    series::SeriesSlot,
    service::{SnapshotState, VolumeSlot},
    troubles::{self, TroubleSlot, all_troubles},
    values::{rfc3339, rfc3339_ms},
    young::YoungSlot,
};

/// How often, and how long each time, a request waits until index and mempool have the same tip. They differ between a
/// commit and its deltas, and while the index catches up.
const WAITS: u32 = 10;
const WAIT: Duration = Duration::from_millis(50);

/// Runs the operations.
pub(crate) struct ChainBackend {
    pub(crate) index: Arc<dyn IndexSource>,
    pub(crate) config: ChainConfig,
    pub(crate) node: Option<Arc<dyn NodeAccess>>,
    pub(crate) ledger: Option<Arc<dyn LedgerAccess>>,
    pub(crate) invoices: Option<Arc<dyn InvoiceAccess>>,
    pub(crate) damages: Arc<Damages>,
    pub(crate) troubles: Arc<TroubleSlot>,
    pub(crate) series: SeriesSlot,
    pub(crate) register: RegisterSlot,
    pub(crate) pool_tags: LedgerSlot<KnownTags>,
    pub(crate) profiles: LedgerSlot<KnownProfiles>,
    pub(crate) volume: VolumeSlot,
    pub(crate) rates: RateSlot,
    pub(crate) young: YoungSlot,
    pub(crate) mark: FeedMark,
    /// By index in the list of operations.
    pub(crate) runners: Vec<Runner>,
}

/// Result of an attempt to answer.
enum Attempt {
    Answered(Answer),
    /// The node must be asked first, without a version of index or mempool held meanwhile.
    Wants(TxRequest),
    /// Index and mempool have different tips, at least since this mark of the mempool.
    Apart(u64),
}

impl ChainBackend {
    /// Pins index and mempool as they are now, and runs the operation on them.
    fn attempt(&self, ask: &Ask<'_>, brought: Option<&NodeAnswer>, may_wait: bool) -> Result<Attempt, ApiError> {
        let info = &ask.op.info;
        let runner = self.runners.get(ask.at).ok_or_else(ApiError::internal)?;
        let source = self.index.source();
        let troubles = all_troubles(&*self.index, &self.troubles);
        let slot = self.index.mempool();
        let mark = slot.mark();
        // Pin the mempool first, then the index: neither changes for this request, and neither is locked.
        let pinned = reads_mempool(info).then(|| slot.pin());
        let reader = self.index.reader();
        let mut view = match open(reader.as_deref()) {
            // Health operations must answer even when the index is damaged.
            Err(error) if error.is_damage() && info.area == "service" => {
                note(&self.damages, &error);
                None
            }
            opened => opened?,
        };
        if let Some(view) = &mut view {
            view.work_for(Rc::clone(&ask.call.work));
        }
        let pool = match &pinned {
            None => Err(Absent::NotWatched),
            Some(pinned) => match pinned.absent(view.as_ref().map(|v| &v.tip().hash)) {
                Some(Absent::OtherTip) if may_wait => return Ok(Attempt::Apart(mark)),
                Some(absent) => Err(absent),
                None => Ok(MempoolView {
                    mempool: pinned.mempool(),
                    as_of_ms: pinned.as_of_ms(),
                    projection: pinned.projection().cloned(),
                }),
            },
        };
        let ctx = Ctx {
            ask,
            index: view.as_ref(),
            best_height: self.index.best_height(),
            feed_end: self.index.feed_end(),
            pool,
            source: source.as_ref(),
            troubles: &troubles,
            slot,
            node: self.node.as_deref(),
            ledger: self.ledger.as_deref(),
            invoices: self.invoices.as_deref(),
            node_bytes: NodeBytes::with(brought),
            prices: PriceAccess {
                reader: reader.as_ref(),
                slot: &self.series,
                live: if reads_live_quotes(info) { self.index.live_quotes() } else { Arc::default() },
                dollars: OnceCell::new(),
            },
            register: &self.register,
            pool_tags: &self.pool_tags,
            profiles: &self.profiles,
            volume: &self.volume,
            rates: &self.rates,
            young: &self.young,
            damages: &self.damages,
            chain: &self.config,
            fixed_now: Cell::new(None),
        };
        let data_state = data_state(&ctx);
        // Missing bytes may become available later.
        let lasts = brought.is_none_or(NodeAnswer::is_whole);
        let etag = ask.etag(|what, versions| add_version(&ctx, pinned.as_ref(), what, versions)).filter(|_| lasts);
        if let Some(etag) = etag.as_ref().filter(|etag| ask.is_known(etag)) {
            return Ok(Attempt::Answered(Answer::NotModified { etag: etag.clone() }));
        }
        if info.needs_tip && ctx.is_behind() {
            return Err(ApiError::syncing(format!("this request needs the tip, but the index is {}", ctx.behind())));
        }
        if brought.is_none() && self.node.is_some() {
            let wanted = ask.call.silently(|| (runner.wants)(&ctx, &ask.input))?;
            if let Some(wanted) = wanted {
                return Ok(Attempt::Wants(wanted));
            }
        }
        let written = (runner.run)(&ctx, &ask.input, ask.selection())?;
        let rows_read = view.as_ref().map_or(0, View::rows_read);
        ask.body(written, &data_state, etag, rows_read).map(Attempt::Answered)
    }
}

impl Backend for ChainBackend {
    fn network(&self) -> Option<&'static str> {
        self.index.reader().map(|reader| reader.facts().network.name())
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, ApiError> {
        let (mut brought, mut waits) = (None, 0);
        loop {
            match self.attempt(ask, brought.as_ref(), waits < WAITS)? {
                Attempt::Answered(answer) => return Ok(answer),
                // It asks the node for bytes once.
                Attempt::Wants(wanted) => brought = self.node.as_deref().map(|node| wanted.fetch(node)),
                Attempt::Apart(mark) => {
                    ask.call.work.poll()?;
                    self.index.mempool().wait(mark, WAIT);
                    waits += 1;
                }
            }
        }
    }

    fn ready(&self) -> Result<String, String> {
        let lag = |tip: u32| self.index.best_height().map_or(0, |best| best.saturating_sub(tip));
        let cut_short = lacks_blocks(self.index.source().as_ref(), self.index.best_height());
        match tip_height(&*self.index).inspect_err(|error| note(&self.damages, error)) {
            Ok(_) if !self.damages.tables().is_empty() => Err(damaged(&self.damages.tables())),
            Ok(Some(_)) if cut_short => Err("block files are missing or damaged: the index is incomplete".to_owned()),
            Ok(Some(tip)) if lag(tip) <= self.config.max_lag_blocks => {
                Ok(troubles::remarks(&all_troubles(&*self.index, &self.troubles)))
            }
            Ok(Some(tip)) => Err(format!("the index is {} blocks behind", lag(tip))),
            Ok(None) => Err("the index is empty".to_owned()),
            Err(error) if error.is_damage() => Err(damaged(&self.damages.tables())),
            Err(error) => {
                tracing::error!(%error, "the index could not be read");
                Err("the index cannot be read".to_owned())
            }
        }
    }

    fn readings(&self) -> Vec<Metric> {
        let tip = tip_height(&*self.index).inspect_err(|error| note(&self.damages, error)).ok().flatten();
        let heights = [(INDEX_TIP_HEIGHT, tip), (BEST_HEIGHT, self.index.best_height())];
        let heights = heights.into_iter().filter_map(|(of, at)| Some(Metric::gauge(of.name, of.help, at?.into())));
        let gap = self
            .index
            .source()
            .map(|source| Metric::gauge(SOURCE_GAP.name, SOURCE_GAP.help, has_gap(Some(&source)).into()));
        let troubles = troubles::readings(&all_troubles(&*self.index, &self.troubles));
        heights.chain(gap).chain(troubles).chain(of_damages(&self.damages)).collect()
    }

    fn mark(&self) -> u64 {
        self.mark.read(&*self.index)
    }

    fn aside(&self) -> Aside {
        let step = self.rates.step(&*self.index, self.config.max_lag_blocks);
        step.unwrap_or_else(|error| {
            note(&self.damages, &error);
            tracing::warn!(%error, "the base rates of risk signals cannot be computed");
            Aside::Nothing
        })
    }

    fn hear(&self, answer: Result<Vec<u8>, ApiError>) {
        self.rates.hear(answer);
    }

    fn explain(&self, source: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError {
        explain(&self.damages, source)
    }
}

/// Damage, and progress of the scrubber.
fn of_damages(damages: &Damages) -> Vec<Metric> {
    let scrubbed = damages.scrubbed();
    // Every table is shown from the start: an increase from nothing to 1 would not be seen as one.
    let mut counts = damages.counts();
    for table in &TABLES {
        if counts.iter().all(|(name, _)| *name != table.name) {
            counts.push((table.name, 0));
        }
    }
    let mut readings = vec![
        Metric::counters(DAMAGES.name, DAMAGES.help, "table", counts),
        Metric::gauge(DAMAGED_TABLES.name, DAMAGED_TABLES.help, damages.tables().len() as u64),
        Metric::counter(SCRUB_BYTES.name, SCRUB_BYTES.help, scrubbed.bytes),
        Metric::counter(SCRUBS.name, SCRUBS.help, scrubbed.complete),
    ];
    readings.extend(scrubbed.last_end.map(|end| Metric::gauge(SCRUB_LAST_END.name, SCRUB_LAST_END.help, end)));
    readings
}

/// A view of the current index; `None` while it is empty.
fn open(reader: Option<&Reader>) -> Result<Option<View<'_>>, ReadError> {
    match reader.map(Reader::view).transpose() {
        Err(ReadError::Empty) => Ok(None),
        other => other,
    }
}

/// Height of the tip of the index; `None` while it is empty.
fn tip_height(index: &dyn IndexSource) -> Result<Option<u32>, ReadError> {
    let reader = index.reader();
    Ok(open(reader.as_deref())?.map(|view| view.tip().height))
}

/// The state of the data for `_meta`.
fn data_state(ctx: &Ctx<'_>) -> DataState {
    DataState {
        freshness: match &ctx.pool {
            Ok(pool) => Some(rfc3339_ms(pool.as_of_ms)),
            Err(_) => ctx.index.map(|view| rfc3339(view.tip().mono_time)),
        },
        tip: ctx.index.map(|view| TipMeta {
            height: view.tip().height,
            hash: view.tip().hash.to_string(),
            lag_blocks: ctx.best_height.map(|best| best.saturating_sub(view.tip().height)),
        }),
        network: ctx.index.map(|view| view.network().name()),
    }
}

/// Adds the version of an input that an answer depends on.
fn add_version(ctx: &Ctx<'_>, pinned: Option<&PinnedMempool>, what: Freshness, versions: &mut Versions) {
    match what {
        TIP => match ctx.index.map(View::tip) {
            None => versions.add(b"no tip"),
            Some(tip) => {
                versions.add(&tip.hash.0);
                versions.add(&tip.height.to_be_bytes());
                versions.add(&tip.seq.to_be_bytes());
                versions.add(&ctx.lag().map_or([0xff; 8], |lag| u64::from(lag).to_be_bytes()));
                versions.add(&[has_gap(ctx.source).into(), ctx.old_tip().is_some().into()]);
                versions.add(ctx.damages.tables().join(" ").as_bytes());
            }
        },
        MEMPOOL => {
            versions.add(ctx.pool.as_ref().err().map_or(b"", |absent| absent.code().as_bytes()));
            versions.add(&pinned.map_or([0; 16], PinnedMempool::version));
            versions.add(&[u8::from(ctx.is_comparing())]);
            let projected = ctx.pool.as_ref().ok().and_then(|pool| pool.projection.as_ref());
            versions.add(&projected.map_or([0xff; 8], |p| p.generation.to_be_bytes()));
            // The same version is projected again when the rules of the node become known.
            versions.add(&projected.map_or([0xff; 8], |p| p.template.min_rate.0.to_be_bytes()));
            versions.add(&[projected.map_or(0xff, |p| p.template.selection as u8)]);
        }
        PRICE => price_now::add_dollars(ctx, versions),
        MARKET => price_now::add_market(ctx, versions),
        CLAIMS => versions.add(&day_of(ctx.now()).to_be_bytes()),
        LABELS => match ctx.index.map(|view| view.labels().are_settled()) {
            None | Some(Ok(true)) => versions.add(b"settled"),
            // Such an answer is not used again.
            Some(_) => versions.add(&ctx.now_ms.to_be_bytes()),
        },
        SNAPSHOT => SnapshotState::add_version(ctx, versions),
        RATES => ctx.rates.add_version(versions),
        BESIDE => match ctx.index.map(|view| view.flows().made_beside()) {
            None => versions.add(b"no tip"),
            Some(Ok(made)) => versions.add(&made),
            Some(Err(_)) => versions.add(&ctx.now_ms.to_be_bytes()),
        },
        Freshness(other) => {
            debug_assert!(false, "unknown freshness input {other}");
            versions.add(&ctx.now_ms.to_be_bytes());
        }
    }
}
