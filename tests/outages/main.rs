//! Troubles of a follower at the tip, one after the other before the same processes: a node that answers with garbage,
//! not at all, or as another one; a disk that is full or cannot be written; a database that is locked or gone; block
//! files that are away or have a branch that breaks a rule. Meanwhile no read fails, health names the trouble within
//! five seconds, the follower goes on within ten seconds of its end, and memory stays bounded.
//!
//! `CAIRN_TEST_OUTAGE` picks the troubles whose name contains it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::print_stdout, missing_docs)]

#[path = "../live/cast.rs"]
#[allow(dead_code)]
mod cast;
#[path = "../live/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "../cli/common.rs"]
#[allow(dead_code)]
mod common;

mod actions;
mod disk;
mod files;
mod reads;
mod rig;
mod starting;
mod table;

use crate::{cast::Form, rig::Rig};

#[test]
fn one_process_outlasts_every_trouble() {
    Rig::start(Form::One).endure(&table::outages());
}

#[test]
fn two_processes_outlast_every_trouble() {
    Rig::start(Form::Two).endure(&table::outages());
}
