//! `cairn index`.

use crate::{
    cli::Index,
    commands::Context,
    exit::{Exit, Failure},
    follow::{Follower, Until},
    stop::Stop,
};

/// Indexes block files and follows them.
pub(crate) fn index(args: &Index, context: &Context) -> Result<Exit, Failure> {
    let (network, datadir, blocks) = (args.chain.network()?, args.index.datadir()?, args.blocks.required()?);
    let stop = Stop::on_signals()?;
    let mut follower = Follower::open(network, datadir, blocks, &context.screen, &stop)?;
    let until = match (args.to, args.once) {
        (to, true) => Until::Tip { to },
        (Some(to), false) => Until::Height(to),
        (None, false) => Until::Stopped,
    };
    follower.follow(until)
}
