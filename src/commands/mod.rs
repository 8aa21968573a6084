//! The commands. Each file has one command, or a few that belong together.

mod access;
mod claims;
mod cluster;
mod codes;
mod contests;
mod context;
mod db;
mod demo;
mod doctor;
mod events;
mod evidence;
mod feedback;
mod import;
mod index;
mod init;
mod keys;
mod labels;
mod manual;
mod mcp;
mod operator;
mod plan;
mod prices;
mod ready;
mod repair;
mod reports;
mod sanctions;
mod serve;
mod snapshot;
mod state;
mod submit;
mod upkeep;
mod verify;

pub(crate) use context::Context;

use crate::{
    address_space,
    cli::Command,
    config,
    exit::{Exit, Failure},
    out, serving,
};

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Failure> {
    if let Some(memory) = memory_of(&command) {
        address_space::check(memory)?;
    }
    match command {
        Command::Demo(args) => demo::demo(&args, context),
        Command::Init(args) => init::init(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Index(args) => index::index(&args, context),
        Command::Serve(args) => serve::serve(&args),
        Command::Run(args) => serve::run(&args, context),
        Command::Ask(args) => crate::ask::ask(&args),
        Command::Mcp(args) => mcp::mcp(&args),
        Command::Stages(args) => db::stages(&args),
        Command::Reindex(args) => upkeep::reindex(&args, context),
        Command::Unwind(args) => upkeep::unwind(&args, context),
        Command::Db(args) => db::db(&args.what),
        Command::Cluster(args) => cluster::cluster(&args),
        Command::Snapshot(args) => snapshot::snapshot(&args.what, context),
        Command::Events(args) => events::events(&args.what),
        Command::Evidence(args) => evidence::evidence(&args.what),
        Command::Prices(args) => prices::prices(&args.what),
        Command::Labels(args) => labels::labels(&args.what),
        Command::Pools(args) => labels::pools(&args.what),
        Command::Sanctions(args) => sanctions::sanctions(&args.what),
        Command::Keys(args) => keys::keys(&args.what),
        Command::Access(args) => access::access(&args.what),
        Command::Feedback(args) => feedback::feedback(&args.what),
        Command::Reports(args) => reports::reports(&args.what),
        Command::State(args) => state::state(&args.what),
        Command::Repair(args) => repair::repair(&args, context),
        Command::Verify(args) => verify::verify(&args, context),
        Command::Config(args) => {
            let plain = crate::cli::command();
            out::print(&if args.reference {
                config::reference(&plain)
            } else {
                let leaf = context.matches.subcommand().map_or(&context.matches, |(_, leaf)| leaf);
                config::show(&plain, &context.command, leaf, context.file.as_ref()) + &args.all.bounds()
            })?;
            Ok(Exit::Done)
        }
        Command::Openapi => {
            out::print(&serving::openapi()?)?;
            Ok(Exit::Done)
        }
        Command::Ready(args) => ready::ready(&args),
        Command::Completions(args) => manual::completions(args.shell),
        Command::Manual(args) => manual::manual(&args.to),
    }
}

/// Returns the memory that a command may use by its settings; `None` for commands that need little.
fn memory_of(command: &Command) -> Option<u64> {
    match command {
        Command::Index(args) => Some(args.limits.memory + args.mempool.mempool_memory),
        Command::Run(args) => Some(args.limits.memory + args.cache.cache + args.mempool.mempool_memory),
        Command::Reindex(args) => Some(args.limits.memory),
        Command::Serve(args) => Some(args.cache.cache + args.mempool.mempool_memory),
        Command::Mcp(args) if args.url.is_none() => Some(args.here.cache.cache + args.here.mempool.mempool_memory),
        // The demo's chain is small, regardless of the limits.
        Command::Demo(_) => Some(0),
        _ => None,
    }
}
