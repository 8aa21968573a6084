//! `cairn serve` and `cairn run`.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use cairn_http::IndexSource;
use cairn_link::{Event, Listener, Message};
use cairn_model::{BlockHash, Height};
use cairn_reader::Reader;

use crate::{
    announce::SOCKET,
    cli::{Run, Serve},
    commands::{Context, db},
    exit::{Exit, Failure},
    follow::Until,
    indexing::Indexing,
    serving::{Examples, Server},
    stop::Stop,
};

/// Time between two looks at what a writer in another process has committed, should it not say so itself.
const POLL: Duration = Duration::from_secs(1);

/// An index that another process may be writing.
struct Followed {
    follower: cairn_reader::Follower,
    /// Best height that the writer knows of; `None` while there is no writer.
    best: Mutex<Option<Height>>,
}

impl Followed {
    /// Moves to the newest tip, which the writer may have announced.
    fn advance(&self, announced: Option<(Height, BlockHash)>) {
        match self.follower.advance(announced) {
            Ok(now) if now.moved => tracing::info!(height = now.tip.height, hash = %now.tip.hash, "tip moved"),
            Ok(_) => {}
            // What was served before still is; the next look may succeed.
            Err(error) => tracing::warn!(%error, "cannot follow the index"),
        }
    }

    fn set_best(&self, best: Option<Height>) {
        *self.best.lock().unwrap_or_else(PoisonError::into_inner) = best;
    }

    fn hear(&self, event: Event) {
        match event {
            Event::Said(Message::Tip { height, hash }) => self.advance(Some((height, hash))),
            Event::Said(Message::Best(best)) => self.set_best(best),
            Event::Said(Message::Hello { .. } | Message::Mempool(_)) => {}
            Event::Found => tracing::info!("a writer is there"),
            Event::Lost(why) => {
                tracing::info!(why, "the writer is gone");
                self.set_best(None);
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
}

/// Serves an index read-only, and follows whoever writes it.
pub(crate) fn serve(args: &Serve) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let stop = Stop::on_signals()?;
    // Says in plain words what is wrong with an index that cannot be used.
    drop(db::open(datadir)?);
    // The index may lie where this process must not write: RocksDB's logs go elsewhere.
    let scratch = std::env::temp_dir().join(format!("cairn-serve-{}", std::process::id()));
    let follower = cairn_reader::Follower::open(&datadir.join("index"), &scratch, args.blocks.blocks_dir.clone())?;
    let reader = follower.reader();
    let (tip, network) = (*reader.view()?.tip(), reader.facts().network);
    tracing::info!(%network, height = tip.height, hash = %tip.hash, "index opened");
    drop(reader);
    let server = Server::bind(&args.http, Examples::default())?;
    let followed = Arc::new(Followed { follower, best: Mutex::default() });
    let hearing = Arc::clone(&followed);
    let listener = Listener::start(&datadir.join(SOCKET), move |event| hearing.hear(event))?;
    let (following, until) = (Arc::clone(&followed), stop.clone());
    let thread = thread::Builder::new().name("follower".to_owned()).spawn(move || {
        while !until.wait(POLL) {
            following.advance(None);
        }
    })?;
    server.serve(followed, &stop, std::future::pending())?;
    drop(listener);
    if thread.join().is_err() {
        return Err(Failure::new(Exit::Other, "the follower panicked; this is a bug"));
    }
    Ok(stop.asked().unwrap_or(Exit::Done))
}

/// Indexes and serves.
pub(crate) fn run(args: &Run, context: &Context) -> Result<Exit, Failure> {
    let (network, datadir) = (args.chain.network()?, args.index.datadir()?);
    let stop = Stop::on_signals()?;
    let server = Server::bind(&args.http, Examples::default())?;
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
