//! Whether the index begins with the prices that ship with Cairn.

use clap::{ArgAction, Args};

/// Prices to begin with.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StarterPrices {
    /// If true, an index of the main network begins with the daily prices and reference rates that ship with Cairn. They end
    /// on a fixed day, and answers say so. Other networks begin without prices.
    #[arg(long, env = "CAIRN_STARTER_PRICES", value_name = "BOOL", default_value = "true", action = ArgAction::Set)]
    pub(crate) starter_prices: bool,
}
