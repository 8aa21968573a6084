//! Troubles of a follower at the tip, one after the other before the same processes. A node answers with garbage, not
//! at all, or as another one. A disk is full or cannot be written. A database is locked or gone. Block files are away,
//! or have a branch that breaks a rule. Meanwhile no read fails, health names the trouble within five seconds, the
//! follower goes on within ten seconds of its end, and memory stays bounded.
//!
//! `CAIRN_TEST_OUTAGE` picks the troubles whose name contains it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::print_stdout, missing_docs)]

mod actions;
mod disk;
mod files;
mod reads;
mod rig;
mod starting;
mod table;

use cairn_support::{Form, Program};

use crate::rig::Rig;

/// The program that is tested.
const CAIRN: Program = Program::new(env!("CARGO_BIN_EXE_cairn"));

#[test]
fn one_process_outlasts_every_trouble() {
    Rig::start(Form::One).endure(&table::outages());
}

#[test]
fn two_processes_outlast_every_trouble() {
    Rig::start(Form::Two).endure(&table::outages());
}
