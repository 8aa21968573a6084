//! Context of every command.

use clap::ArgMatches;

use crate::{config::ConfigFile, progress::Screen};

/// Input of commands besides their arguments.
pub(crate) struct Context {
    pub(crate) screen: Screen,
    /// The definition that parsed the command line.
    pub(crate) command: clap::Command,
    pub(crate) matches: ArgMatches,
    /// `cairn.toml`, if there is one.
    pub(crate) file: Option<ConfigFile>,
}
