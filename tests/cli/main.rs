//! The command line from outside: exit codes, settings, a whole run on a small chain, the demo, stopping.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod access_killed;
mod ask;
mod bound;
mod checkpoint;
mod cluster;
mod damaged_blocks;
mod demo;
mod demo_live;
mod deployed;
mod doctor;
mod evidence;
mod exit_codes;
mod feedback;
mod fetching;
mod fetching_tls;
mod flow;
mod following;
mod gaps;
mod hostile;
mod init;
mod keys;
mod labels;
mod ledger;
mod memory;
mod packaged;
mod pages;
mod plan;
mod questions;
mod readme;
mod recommended;
mod repair;
mod replicas;
mod reports;
mod sanctions;
mod scrub;
mod settings;
mod signet;
mod snapshot;
mod state;
mod stdio;
mod stopping;
mod traces;
mod waiting;
mod watched;

use cairn_support::Program;

/// The program that is tested.
const CAIRN: Program = Program::new(env!("CARGO_BIN_EXE_cairn"));
