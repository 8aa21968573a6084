//! `cairn serve` and `cairn run`.

use std::{sync::Arc, thread};

use cairn_follow::Until;
use cairn_link::{FollowedIndex, IndexSlot};
use prometheus::Registry;

use crate::{
    anchoring::Anchoring,
    cli::{Run, Serve},
    commands::Context,
    config::Memory,
    exit::{Exit, Failure},
    following,
    gateway::Gateway,
    inbox::Inbox,
    indexing::{Indexing, Sources},
    replicas::WriterWatch,
    scrubbing::Scrubber,
    serving::{Examples, Server},
    signals::{self, Signals},
};

/// Serves an index read-only and follows the process that writes it. If nothing is indexed yet, waits for that process:
/// until then requests that need the index get 503.
pub(crate) fn serve(args: &Serve) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let signals = Signals::take_over()?;
    // The folder is dropped after the index.
    let (followed, _scratch, on_network) = following::open(datadir, &args.blocks, &args.cache)?;
    let node = Gateway::of(&args.node)?;
    let server = Server::bind(&args.http, Examples::default(), node)?.with_state(args.state.url(&args.index)?);
    let server = server.with_network(on_network).with_payment_mark(datadir);
    args.http.payments.config(on_network)?;
    args.http.access.check(on_network)?;
    let followed = followed.with_mempool_memory(args.mempool.mempool_memory).with_damages(server.damages());
    let followed = Arc::new(followed);
    let shared = args.state.named()?;
    let inbox = Inbox::of(datadir.to_owned()).or_queue(Arc::<FollowedIndex>::clone(&followed), shared.clone());
    let server = server.with_ledger(inbox);
    let watch = WriterWatch { index: Arc::clone(&followed), datadir: datadir.to_owned(), url: shared };
    let watch = watch.start(signals.cancel_token())?;
    let threads = followed.follow(datadir, signals.cancel_token())?;
    let scrubber = Scrubber::start(&datadir.join("index"), &args.scrub, server.damages(), signals.cancel_token())?;
    server.serve(followed, signals.cancel_token())?;
    if !scrubber.join() || !threads.join() || watch.join().is_err() {
        return Err(Failure::new(Exit::Other, "a thread panicked; this is a bug"));
    }
    Ok(signals::received().unwrap_or(Exit::Done))
}

pub(crate) fn run(args: &Run, context: &Context) -> Result<Exit, Failure> {
    let (chain, datadir) = (args.chain.params()?, args.index.datadir()?);
    let network = chain.network();
    args.http.payments.config(Some(network))?;
    args.http.access.check(Some(network))?;
    let prices = args.prices.settings()?;
    let wallet = args.anchoring.settings(chain);
    let signals = Signals::take_over()?;
    let state = args.state.url(&args.index)?;
    // Operators see metrics of indexing and of serving on one page.
    let registry = Registry::new();
    let server = Server::bind(&args.http, Examples::default(), Gateway::of(&args.node)?)?;
    let inbox = Inbox::of(datadir.to_owned());
    let server =
        server.with_state(state.clone()).with_ledger(inbox).with_registry(&registry).with_network(Some(network));
    let server = server.with_payment_mark(datadir);
    let sources = Sources::of(chain, &args.blocks, &args.node)?.without_end(true);
    let sources = sources.with_silent_payments(args.optional.silent_payments);
    let memory = Memory { limits: args.limits, cache: args.cache.cache, mempool: args.mempool.mempool_memory };
    let indexing =
        Indexing::open(chain, datadir, sources, memory, args.starter, &context.screen, signals.cancel_token())?;
    let indexing = indexing.counted_in(&registry)?.with_prices(prices, &registry)?.for_replicas(Some(state.clone()));
    let slot = indexing.slot();
    let anchoring = match (wallet, args.node.config(8)?) {
        (None, _) => None,
        (Some((wallet, settings)), Some(node)) => {
            Some(Anchoring::of_wallet(settings, wallet, &node, state, Arc::<IndexSlot>::clone(&slot), &registry)?)
        }
        (Some(_), None) => {
            return Err(
                Failure::usage("timestamps_wallet needs a node").hint("name it with --node and its cookie file")
            );
        }
    };
    let scrubber = Scrubber::start(&datadir.join("index"), &args.scrub, server.damages(), signals.cancel_token())?;
    let signals = Arc::new(signals);
    let ours = Arc::clone(&signals);
    let indexing = thread::Builder::new().name("indexer".to_owned()).spawn(move || {
        // The server stops when indexing stops: a restart is better than unnoticed stale answers.
        let _serving = ours.cancel_token().cancel_on_drop();
        indexing.follow(Until::Cancelled)
    })?;
    let anchoring = anchoring.map(Anchoring::start).transpose()?;
    let served = server.serve(slot, signals.cancel_token());
    drop(anchoring);
    if served.is_err() && signals::received().is_none() {
        // Do not wait for the indexer; committed work is safe.
        return served.map(|()| Exit::Done);
    }
    match (indexing.join(), scrubber.join()) {
        (Ok(result), true) => result,
        (Ok(_), false) => Err(Failure::new(Exit::Other, "the scrubber panicked; this is a bug")),
        (Err(_), _) => Err(Failure::new(Exit::Other, "the indexer panicked; this is a bug")),
    }
}
