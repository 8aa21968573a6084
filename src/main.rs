//! The `cairn` command: reads settings, starts logging, runs one command and exits with a documented code.

mod address_space;
mod anchoring;
mod ask;
mod checkouts;
mod cli;
mod commands;
mod config;
mod counted;
mod eta;
mod exit;
mod fetching;
mod following;
mod gateway;
mod holder;
mod in_process;
mod inbox;
mod indexing;
mod lifetime;
mod lightning;
mod listening;
mod logs;
mod old_sales;
mod other_listeners;
mod out;
mod pass_invoices;
mod progress;
mod replicas;
mod runtime;
mod scratch;
mod scrubbing;
mod service;
mod serving;
mod signals;
mod starter;
mod stdio;
mod traces;
mod version;
mod with_state;
mod x402;

use std::{ffi::OsString, io::Write};

use clap::{FromArgMatches, parser::ValueSource};
use signal_hook::low_level;

use crate::exit::{Exit, Failure};

/// RocksDB is built with the same allocator, so the process has only one.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Settings that the allocator reads before `main`; the environment variable MALLOC_CONF overrides them. By default
/// each thread keeps 20 to 200 freed blocks of each size up to 32 KiB, a megabyte for each of the threads that read the
/// index, and freed pages stay for ten seconds. A server with 72 such threads used 103 MiB for that. Here a thread
/// keeps at most 20 blocks of a size, and at most 2 if a slab has only few of the size. Keeping no blocks above 1 KiB
/// would take a lock for each buffer of an answer: an overview then cost a tenth more.
#[expect(unsafe_code, reason = "the name of the symbol is the allocator's interface; nothing else defines it")]
#[unsafe(export_name = "malloc_conf")]
pub static ALLOCATOR_SETTINGS: &[u8; 106] =
    b"tcache_max:4096,tcache_nslots_small_min:2,tcache_nslots_small_max:20,dirty_decay_ms:1000,muzzy_decay_ms:0\0";

fn main() {
    // A large index has thousands of files, and all of them stay open. If the limit is too low, opening the index
    // fails.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let exit = run(std::env::args_os().collect()).unwrap_or_else(|failure| {
        // Work that a signal cancelled has not failed.
        if let (Exit::Interrupted, Some(exit)) = (failure.exit, signals::received()) {
            return exit;
        }
        // Standard error may be closed; the exit code still reports the failure.
        let _ = writeln!(std::io::stderr(), "{failure}");
        failure.exit
    });
    let _ = std::io::stdout().flush();
    // Skip RocksDB's exit handlers. They destroy state that a thread needs if it still reads from a hanging disk, and
    // the process would abort. All commits are on disk, and everything that must be closed is closed.
    low_level::exit(i32::from(exit.code()));
}

fn run(args: Vec<OsString>) -> Result<Exit, Failure> {
    let plain = cli::command();
    let file = config::read_file(&plain, &args)?;
    let lossy = |name: OsString| name.to_string_lossy().into_owned();
    let variables = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value))).collect();
    let warnings = config::check_environment(&plain, &variables)?;
    let command = config::prepare(plain, file.as_ref(), &|name| std::env::var_os(name));
    let parsed = command.clone().try_get_matches_from(&args).and_then(|m| Ok((cli::Cli::from_arg_matches(&m)?, m)));
    let (mut cli, matches) = match parsed {
        Ok(parsed) => parsed,
        // Clap returns help and version as errors too.
        Err(error) => {
            let error = config::explained(error, &command, &args);
            out::written(error.print())?;
            return Ok(if error.use_stderr() { Exit::Usage } else { Exit::Done });
        }
    };
    // Who asks one question on a terminal wants the answer.
    if matches!(cli.command, cli::Command::Ask(_)) && matches.value_source("log") == Some(ValueSource::DefaultValue) {
        cli.logging.quieten();
    }
    let screen = progress::Screen::stderr();
    logs::start(&cli.logging, &screen)?;
    for warning in
        file.as_ref().and_then(config::ConfigFile::warning).into_iter().chain(warnings.iter().map(String::as_str))
    {
        tracing::warn!("{warning}");
    }
    commands::run(cli.command, &commands::Context { screen, command, matches, file })
}
