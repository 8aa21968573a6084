//! `cairn index`.

use crate::{
    cli::Index,
    commands::Context,
    exit::{Exit, Failure},
    follow::Until,
    indexing::Indexing,
    stop::Stop,
};

/// Indexes block files, or what a node has, and follows either.
pub(crate) fn index(args: &Index, context: &Context) -> Result<Exit, Failure> {
    let (network, datadir) = (args.chain.network()?, args.index.datadir()?);
    let stop = Stop::on_signals()?;
    let indexing = Indexing::open(network, datadir, &args.blocks, &args.node, args.limits, &context.screen, &stop)?;
    let until = match (args.to, args.once) {
        (to, true) => Until::Tip { to },
        (Some(to), false) => Until::Height(to),
        (None, false) => Until::Stopped,
    };
    indexing.follow(until)
}
