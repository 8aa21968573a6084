//! `cairn serve` and `cairn run`.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use cairn_link::{Absent, IndexSource, MempoolSlot};
use cairn_link::{Event, Listener, Message};
use cairn_model::{BlockHash, Height, MempoolDelta, MempoolWatch, SourceStatus};
use cairn_reader::{Advanced, ReadError, Reader};

use crate::{
    announce::SOCKET,
    cli::{Run, Serve},
    commands::{Context, db},
    exit::{Exit, Failure},
    follow::Until,
    gateway::Gateway,
    indexing::Indexing,
    projector,
    serving::{Examples, Server},
    stop::Stop,
};

/// Time between two looks at what a writer in another process has committed, should it not say so itself.
const POLL: Duration = Duration::from_secs(1);

/// So many looks later what belongs to no block is taken in too: samples of the mempool.
const REFRESH: u32 = 30;

/// An index that another process may be writing.
struct Followed {
    follower: cairn_reader::Follower,
    /// Best height that the writer knows of; `None` while there is no writer.
    best: Mutex<Option<Height>>,
    mempool: Arc<MempoolSlot>,
    /// What the writer knows of its source; `None` while there is no writer.
    source: Mutex<Option<SourceStatus>>,
    /// Deltas of a step that is not complete yet: nothing of it may be seen.
    coming: Mutex<Vec<MempoolDelta>>,
}

impl Followed {
    fn new(follower: cairn_reader::Follower) -> Self {
        let mempool = Arc::<MempoolSlot>::default();
        mempool.set_absent(Absent::Lost);
        Followed { follower, best: Mutex::default(), mempool, source: Mutex::default(), coming: Mutex::default() }
    }

    /// Moves to the newest tip, which the writer may have announced.
    fn advance(&self, announced: Option<(Height, BlockHash)>) {
        Self::moved(self.follower.advance(announced));
    }

    /// Takes in what was written since, even at the same tip.
    fn refresh(&self) {
        Self::moved(self.follower.refresh());
    }

    fn moved(result: Result<Advanced, ReadError>) {
        match result {
            Ok(now) if now.moved => tracing::info!(height = now.tip.height, hash = %now.tip.hash, "tip moved"),
            Ok(_) => {}
            // What was served before still is; the next look may succeed.
            Err(error) => tracing::warn!(%error, "cannot follow the index"),
        }
    }

    fn set_best(&self, best: Option<Height>) {
        *self.best.lock().unwrap_or_else(PoisonError::into_inner) = best;
    }

    /// What is known of the mempool is void: from here on nobody tells of its changes.
    fn forget(&self) {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.mempool.set_absent(Absent::Lost);
    }

    fn set_source(&self, status: Option<SourceStatus>) {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let was_stale = source.as_ref().is_some_and(|s| s.mempool == MempoolWatch::Stale);
        match status.as_ref().map(|s| s.mempool) {
            Some(MempoolWatch::Off) => self.mempool.set_absent(Absent::NotWatched),
            Some(MempoolWatch::Stale) => self.mempool.set_absent(Absent::Lost),
            Some(MempoolWatch::Loading | MempoolWatch::Synced) if was_stale => self.mempool.found_again(),
            Some(MempoolWatch::Loading | MempoolWatch::Synced) | None => {}
        }
        if let Some(status) = &status {
            self.mempool.set_template(projector::template(status));
        }
        *source = status;
    }

    fn hear(&self, event: Event) {
        match event {
            Event::Said(Message::Tip { height, hash }) => self.advance(Some((height, hash))),
            Event::Said(Message::Best(best)) => self.set_best(best),
            Event::Said(Message::Mempool { deltas, complete }) => {
                let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
                coming.extend(deltas);
                if complete {
                    self.mempool.apply(&mem::take(&mut *coming));
                }
            }
            Event::Said(Message::Source(status)) => self.set_source(Some(*status)),
            Event::Said(Message::Hello { .. }) => {}
            Event::Found => {
                tracing::info!("a writer is there");
                self.forget();
            }
            Event::Lost(why) => {
                tracing::info!(why, "the writer is gone");
                self.set_best(None);
                self.set_source(None);
                self.forget();
            }
        }
    }
}

impl IndexSource for Followed {
    fn reader(&self) -> Option<Arc<Reader>> {
        Some(self.follower.reader())
    }

    fn best_height(&self) -> Option<Height> {
        *self.best.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mempool(&self) -> &MempoolSlot {
        &self.mempool
    }

    fn source(&self) -> Option<SourceStatus> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves an index read-only, and follows whoever writes it.
pub(crate) fn serve(args: &Serve) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let stop = Stop::on_signals()?;
    // Says in plain words what is wrong with an index that cannot be used.
    drop(db::open(datadir)?);
    // The index may lie where this process must not write: RocksDB's logs go elsewhere.
    let scratch = std::env::temp_dir().join(format!("cairn-serve-{}", std::process::id()));
    let follower = cairn_reader::Follower::open(
        &datadir.join("index"),
        &scratch,
        args.blocks.blocks_dir.clone(),
        args.cache.cache,
    )?;
    let reader = follower.reader();
    let (tip, network) = (*reader.view()?.tip(), reader.facts().network);
    tracing::info!(%network, height = tip.height, hash = %tip.hash, "index opened");
    drop(reader);
    let node = Gateway::of(&args.node)?;
    let server = Server::bind(&args.http, Examples::default(), node)?.with_state(args.state.url(&args.index)?);
    let followed = Arc::new(Followed::new(follower));
    let projecting = projector::start(Arc::clone(&followed.mempool), &stop)?;
    let hearing = Arc::clone(&followed);
    let listener = Listener::start(&datadir.join(SOCKET), move |event| hearing.hear(event))?;
    let (following, until) = (Arc::clone(&followed), stop.clone());
    let thread = thread::Builder::new().name("follower".to_owned()).spawn(move || {
        let mut looks = 0u32;
        while !until.wait(POLL) {
            looks += 1;
            if looks.is_multiple_of(REFRESH) {
                following.refresh();
            } else {
                following.advance(None);
            }
        }
    })?;
    server.serve(followed, &stop, std::future::pending())?;
    drop(listener);
    if thread.join().is_err() || projecting.join().is_err() {
        return Err(Failure::new(Exit::Other, "a thread panicked; this is a bug"));
    }
    Ok(stop.asked().unwrap_or(Exit::Done))
}

/// Indexes and serves.
pub(crate) fn run(args: &Run, context: &Context) -> Result<Exit, Failure> {
    let (network, datadir) = (args.chain.network()?, args.index.datadir()?);
    let stop = Stop::on_signals()?;
    let state = args.state.url(&args.index)?;
    let server = Server::bind(&args.http, Examples::default(), Gateway::of(&args.node)?)?.with_state(state);
    let indexing = Indexing::open(network, datadir, &args.blocks, &args.node, args.limits, &context.screen, &stop)?;
    let slot = indexing.slot();
    // Indexing that fails ends the serving too: stale answers that nobody notices are worse than a restart.
    let (failed, over) = tokio::sync::oneshot::channel::<()>();
    let indexing = thread::Builder::new().name("indexer".to_owned()).spawn(move || {
        let result = indexing.follow(Until::Stopped);
        // Serving may have ended first.
        let _ = failed.send(());
        result
    })?;
    let served = server.serve(slot, &stop, async move {
        let _ = over.await;
    });
    if served.is_err() && stop.asked().is_none() {
        // The indexer would go on without its server; what it committed is safe.
        return served.map(|()| Exit::Done);
    }
    match indexing.join() {
        Ok(result) => result,
        Err(_) => Err(Failure::new(Exit::Other, "the indexer panicked; this is a bug")),
    }
}
