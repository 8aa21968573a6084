//! `cairn serve` and `cairn run`.

use std::{sync::Arc, thread};

use cairn_follow::Until;
use cairn_link::FollowedIndex;
use cairn_reader::SecondaryReader;
use prometheus::Registry;

use crate::{
    cli::{Run, Serve},
    commands::{Context, db},
    exit::{Exit, Failure},
    gateway::Gateway,
    indexing::{Indexing, Sources},
    serving::{Examples, Server},
    signals::{self, Signals},
};

/// Serves an index read-only and follows the process that writes it.
pub(crate) fn serve(args: &Serve) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let signals = Signals::take_over()?;
    // Reports a clear error if the index cannot be used.
    drop(db::open(datadir)?);
    // This process may have no write access to the index folder: RocksDB's logs go elsewhere.
    let scratch = std::env::temp_dir().join(format!("cairn-serve-{}", std::process::id()));
    let blocks_dir = args.blocks.blocks_dir.clone();
    let secondary = SecondaryReader::open(&datadir.join("index"), &scratch, blocks_dir, args.cache.cache)?;
    let reader = secondary.reader();
    let (tip, network) = (*reader.view()?.tip(), reader.facts().network);
    tracing::info!(%network, height = tip.height, hash = %tip.hash, "index opened");
    drop(reader);
    let node = Gateway::of(&args.node)?;
    let server = Server::bind(&args.http, Examples::default(), node)?.with_state(args.state.url(&args.index)?);
    let followed = Arc::new(FollowedIndex::new(secondary));
    let threads = followed.follow(datadir, signals.cancel_token())?;
    server.serve(followed, signals.cancel_token())?;
    if !threads.join() {
        return Err(Failure::new(Exit::Other, "a thread panicked; this is a bug"));
    }
    Ok(signals::received().unwrap_or(Exit::Done))
}

/// Indexes and serves.
pub(crate) fn run(args: &Run, context: &Context) -> Result<Exit, Failure> {
    let (network, datadir) = (args.chain.network()?, args.index.datadir()?);
    let signals = Signals::take_over()?;
    let state = args.state.url(&args.index)?;
    // Operators see on one page what indexes and what serves.
    let registry = Registry::new();
    let server = Server::bind(&args.http, Examples::default(), Gateway::of(&args.node)?)?;
    let server = server.with_state(state).with_registry(&registry);
    let sources = Sources::of(network, &args.blocks, &args.node)?;
    let indexing = Indexing::open(network, datadir, sources, args.limits, &context.screen, signals.cancel_token())?;
    let indexing = indexing.counted_in(&registry)?;
    let slot = indexing.slot();
    let signals = Arc::new(signals);
    let ours = Arc::clone(&signals);
    let indexing = thread::Builder::new().name("indexer".to_owned()).spawn(move || {
        // The server stops when indexing stops: a restart is better than unnoticed stale answers.
        let _serving = ours.cancel_token().cancel_on_drop();
        indexing.follow(Until::Cancelled)
    })?;
    let served = server.serve(slot, signals.cancel_token());
    if served.is_err() && signals::received().is_none() {
        // Do not wait for the indexer; committed work is safe.
        return served.map(|()| Exit::Done);
    }
    match indexing.join() {
        Ok(result) => result,
        Err(_) => Err(Failure::new(Exit::Other, "the indexer panicked; this is a bug")),
    }
}
