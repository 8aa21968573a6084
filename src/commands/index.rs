//! `cairn index`.

use cairn_follow::Until;
use prometheus::Registry;

use crate::{
    cli::Index,
    commands::Context,
    config::Memory,
    exit::{Exit, Failure},
    indexing::{Indexing, Sources},
    signals::Signals,
};

/// Indexes blocks from block files, a node or both, then follows new blocks.
pub(crate) fn index(args: &Index, context: &Context) -> Result<Exit, Failure> {
    let (chain, datadir) = (args.chain.params()?, args.index.datadir()?);
    let prices = args.prices.settings()?;
    // Without a named database, this process shares none with another machine.
    let state = args.state.named()?;
    let signals = Signals::take_over()?;
    let until = match (args.to, args.once) {
        (to, true) => Until::Tip { to },
        (Some(to), false) => Until::Height(to),
        (None, false) => Until::Cancelled,
    };
    let sources = Sources::of(chain, &args.blocks, &args.node)?.without_end(until == Until::Cancelled);
    let sources = sources.with_silent_payments(args.optional.silent_payments);
    let memory = Memory { limits: args.limits, cache: 0, mempool: args.mempool.mempool_memory };
    let indexing =
        Indexing::open(chain, datadir, sources, memory, args.starter, &context.screen, signals.cancel_token())?;
    let indexing = indexing.with_prices(prices.filter(|_| !args.once), &Registry::new())?.for_replicas(state);
    indexing.follow(until)
}
