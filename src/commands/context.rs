//! What every command is given.

use clap::ArgMatches;

use crate::{config::ConfigFile, progress::Screen};

/// What commands know besides their arguments.
pub(crate) struct Context {
    /// Where progress goes.
    pub(crate) screen: Screen,
    /// The definition of the command line, as it was parsed with.
    pub(crate) command: clap::Command,
    /// What it matched.
    pub(crate) matches: ArgMatches,
    /// `cairn.toml`, if there is one.
    pub(crate) file: Option<ConfigFile>,
}
