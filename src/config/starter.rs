//! Whether the index begins with the prices and labels that ship with Cairn.

use clap::{ArgAction, Args};

/// Data that ships with Cairn and that an index begins with.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Starters {
    /// If true, an index of the main network begins with the daily prices and reference rates that ship with Cairn.
    /// They end on a fixed day, and answers say so. Other networks begin without prices.
    #[arg(long, env = "CAIRN_STARTER_PRICES", value_name = "BOOL", default_value = "true", action = ArgAction::Set)]
    pub(crate) starter_prices: bool,
    /// If true, an index of the main network begins with the labels that ship with Cairn: who some 40,000 addresses are
    /// said to be, by whom. None was fetched again from its publisher, and answers show the age of each. Other networks
    /// begin without labels.
    #[arg(long, env = "CAIRN_STARTER_LABELS", value_name = "BOOL", default_value = "true", action = ArgAction::Set)]
    pub(crate) starter_labels: bool,
}

impl Starters {
    pub(crate) const NONE: Starters = Starters { starter_prices: false, starter_labels: false };
}
