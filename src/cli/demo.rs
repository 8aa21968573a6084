//! `cairn demo pay`.

use clap::{Args, Subcommand};

use crate::config::{DemoDir, whole};

#[derive(Subcommand, Debug)]
pub(crate) enum DemoCommand {
    /// Pays an address from the wallet of the demo that runs in the same folder. The demo's next block has the payment.
    Pay(DemoPay),
}

#[derive(Args, Debug)]
pub(crate) struct DemoPay {
    #[command(flatten)]
    pub(crate) dir: DemoDir,
    /// Regtest address, for example the payment address of a community report.
    pub(crate) address: String,
    /// Satoshis.
    #[arg(value_parser = whole::<u64>(546..=10_000_000_000))]
    pub(crate) sats: u64,
}
