//! Runs the operations on the index and the mempool, both pinned for one request.

use std::{sync::Arc, time::Duration};

use cairn_http::{Answer, ApiError, Ask, Backend, Freshness, Standing, TipMeta, Versions};
use cairn_link::{Absent, IndexSource, Lock};
use cairn_reader::{ReadError, Reader, View};

use crate::{
    config::ChainConfig,
    context::{Ctx, MEMPOOL, MempoolView, TIP, has_gap, lacks_blocks, reads_mempool},
    node::NodeAccess,
    node_bytes::{Brought, NodeBytes, Wanted},
    operation::Runner,
    values::{rfc3339, rfc3339_ms},
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
    /// By index in the list of operations.
    pub(crate) runners: Vec<Runner>,
}

/// Result of an attempt to answer.
enum Attempt {
    Answered(Answer),
    /// The node must be asked first, without holding any lock.
    Wants(Wanted),
    /// Index and mempool have different tips, at least since this mark of the mempool.
    Apart(u64),
}

impl ChainBackend {
    /// Pins index and mempool as they are now, and runs the operation on them.
    fn attempt(&self, ask: &Ask<'_>, brought: Option<&Brought>, may_wait: bool) -> Result<Attempt, ApiError> {
        let info = &ask.op.info;
        let runner = self.runners.get(ask.at).ok_or_else(ApiError::internal)?;
        let source = self.index.source();
        let slot = self.index.mempool();
        let mark = slot.mark();
        // Pin the mempool first: it does not change while it is held. Then pin the index.
        let lock = reads_mempool(info).then(|| slot.lock());
        let reader = self.index.reader();
        let view = open(reader.as_deref())?;
        let pool = match &lock {
            None => Err(Absent::NotWatched),
            Some(lock) => match lock.absent(view.as_ref().map(|v| &v.tip().hash)) {
                Some(Absent::OtherTip) if may_wait => return Ok(Attempt::Apart(mark)),
                Some(absent) => Err(absent),
                None => Ok(MempoolView {
                    mempool: lock.mempool(),
                    as_of_ms: lock.as_of_ms(),
                    projection: slot.projection(),
                }),
            },
        };
        let ctx = Ctx {
            call: &ask.call,
            index: view.as_ref(),
            best_height: self.index.best_height(),
            pool,
            source: source.as_ref(),
            slot,
            node: self.node.as_deref(),
            node_bytes: NodeBytes::with(brought),
            chain: &self.config,
        };
        let standing = standing(&ctx);
        // Missing bytes may become available later.
        let lasts = brought.is_none_or(Brought::is_whole);
        let etag = ask.etag(|what, versions| add_version(&ctx, lock.as_ref(), what, versions)).filter(|_| lasts);
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
        ask.body(written, &standing, etag, rows_read).map(Attempt::Answered)
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

    fn ready(&self) -> Result<(), String> {
        let lag = |tip: u32| self.index.best_height().map_or(0, |best| best.saturating_sub(tip));
        let cut_short = lacks_blocks(self.index.source().as_ref(), self.index.best_height());
        match tip_height(&*self.index) {
            Ok(Some(_)) if cut_short => Err("block files are missing or damaged: the index is incomplete".to_owned()),
            Ok(Some(tip)) if lag(tip) <= self.config.max_lag_blocks => Ok(()),
            Ok(Some(tip)) => Err(format!("the index is {} blocks behind", lag(tip))),
            Ok(None) => Err("the index is empty".to_owned()),
            Err(error) => {
                tracing::error!(%error, "the index could not be read");
                Err("the index cannot be read".to_owned())
            }
        }
    }

    fn gauges(&self) -> Vec<(&'static str, &'static str, u64)> {
        let heights = [
            (
                "cairn_index_tip_height",
                "Height of the newest block in the index.",
                tip_height(&*self.index).ok().flatten(),
            ),
            ("cairn_best_height", "Height of the best known chain.", self.index.best_height()),
        ];
        let heights = heights.into_iter().filter_map(|(name, help, height)| Some((name, help, height?.into())));
        let gap = self.index.source().map(|source| {
            ("cairn_source_gap", "1 if block files are missing or damaged, otherwise 0.", has_gap(Some(&source)).into())
        });
        heights.chain(gap).collect()
    }

    fn explain(&self, source: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError {
        match source.downcast_ref::<ReadError>() {
            Some(ReadError::Empty) => ApiError::syncing("nothing has been indexed yet"),
            Some(ReadError::Unfinished(stage)) => {
                ApiError::syncing(format!("the tables of stage {stage} are being rebuilt"))
            }
            Some(error @ ReadError::StageVersion { stage, .. }) => {
                // It lasts until the serving program has the indexer's version, or the tables are rebuilt.
                tracing::error!(%error, "tables of another version");
                ApiError::syncing(format!("the tables of stage {stage} have another version"))
            }
            Some(error) => {
                tracing::error!(%error, "the index could not be read");
                ApiError::internal()
            }
            None => {
                tracing::error!(error = %source, "a request failed");
                ApiError::internal()
            }
        }
    }
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
fn standing(ctx: &Ctx<'_>) -> Standing {
    Standing {
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
fn add_version(ctx: &Ctx<'_>, lock: Option<&Lock<'_>>, what: Freshness, versions: &mut Versions) {
    match what {
        TIP => match ctx.index.map(View::tip) {
            None => versions.add(b"no tip"),
            Some(tip) => {
                versions.add(&tip.hash.0);
                versions.add(&tip.height.to_be_bytes());
                versions.add(&ctx.lag().map_or([0xff; 8], |lag| u64::from(lag).to_be_bytes()));
                versions.add(&[has_gap(ctx.source).into(), ctx.old_tip().is_some().into()]);
            }
        },
        MEMPOOL => {
            versions.add(ctx.pool.as_ref().err().map_or(b"", |absent| absent.code().as_bytes()));
            versions.add(&lock.map_or([0; 16], Lock::version));
            let projected = ctx.pool.as_ref().ok().and_then(|pool| pool.projection.as_ref());
            versions.add(&projected.map_or([0xff; 8], |p| p.generation.to_be_bytes()));
        }
        Freshness(other) => {
            debug_assert!(false, "unknown freshness input {other}");
            versions.add(&ctx.call.now_ms.to_be_bytes());
        }
    }
}
