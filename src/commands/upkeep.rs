//! `cairn reindex` and `cairn unwind`.

use cairn_pipeline::{Engine, PipelineError};
use cairn_tables::stages::LATE;

use crate::{
    cli::{Reindex, Unwind},
    commands::Context,
    exit::{Exit, Failure},
    out,
    progress::Reporter,
    signals::{self, Signals},
};

/// Name that stands for all stages except the journal's.
const ALL: &str = "all";

/// Rebuilds stages from the journal.
pub(crate) fn reindex(args: &Reindex, context: &Context) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let signals = Signals::take_over()?;
    let mut engine = Engine::open_existing_within(datadir, args.limits.memory)?;
    args.limits.apply(&mut engine);
    let late = || LATE.iter().map(|stage| stage.name);
    let known: Vec<&str> = engine.stages()?.iter().map(|(stage, _)| stage.name).chain(late()).collect();
    let rebuildable = || known.iter().copied().filter(|name| *name != cairn_stages::CHAIN);
    let all = args.stages.iter().any(|stage| stage == ALL);
    let chosen: Vec<&str> =
        if all { rebuildable().collect() } else { args.stages.iter().map(String::as_str).collect() };
    let reporter = Reporter::new(&context.screen, signals.cancel_token(), None);
    let result = engine.reindex(&chosen, &reporter).and_then(|()| follow_up(&engine, &reporter));
    drop(reporter);
    match result {
        Ok(()) => {}
        Err(PipelineError::Stopped) => {
            tracing::warn!(stages = chosen.join(", "), "stopped; these stages are unusable until they are rebuilt");
            return Ok(signals::exit_of_cancelled());
        }
        Err(error @ (PipelineError::UnknownStage(_) | PipelineError::ChainIsTheJournal)) => {
            let names = rebuildable().collect::<Vec<_>>().join(", ");
            return Err(Failure::from(error).hint(format!("use one of {names}, or {ALL}")));
        }
        Err(error) => return Err(error.into()),
    }
    for stage in chosen {
        let from = if late().any(|of| of == stage) { "the tables of other stages" } else { "the journal" };
        out::print(&format!("{stage}: rebuilt from {from}\n"))?;
    }
    Ok(Exit::Done)
}

/// Brings the data that follows the blocks up to the tip, and makes it durable.
fn follow_up(engine: &Engine, reporter: &Reporter) -> Result<(), PipelineError> {
    engine.follow_up(reporter, true)?;
    engine.settle()
}

pub(crate) fn unwind(args: &Unwind, context: &Context) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let signals = Signals::take_over()?;
    let mut engine = Engine::open_existing(datadir)?;
    let before = engine.tip()?.map(|(height, _)| height);
    let reporter = Reporter::new(&context.screen, signals.cancel_token(), before);
    let result = engine.unwind(args.to, &reporter).and_then(|()| follow_up(&engine, &reporter));
    drop(reporter);
    let exit = match result {
        Ok(()) => Exit::Done,
        Err(PipelineError::Stopped) => signals::exit_of_cancelled(),
        Err(error) => return Err(error.into()),
    };
    if let (Some(before), Some((height, hash))) = (before, engine.tip()?) {
        out::print(&format!("{} blocks disconnected; the tip is {height} {hash}\n", before - height))?;
    }
    Ok(exit)
}
