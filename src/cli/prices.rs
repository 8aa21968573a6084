//! The command line of `cairn prices`.

use cairn_events::{Interval, Slug};
use cairn_inputs::{ColumnMap, Layout, Pair, parse_interval, parse_zone};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;

use super::import::Import;

#[derive(Args, Debug)]
pub(crate) struct PricesArgs {
    #[command(subcommand)]
    pub(crate) what: PricesCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum PricesCommand {
    /// Reads a file of daily, hourly or minute prices, or of reference rates, and takes it into the ledger. It may be
    /// packed with gzip, or as the only file in a ZIP archive.
    Import(PricesImport),
}

#[derive(Args, Debug)]
pub(crate) struct PricesImport {
    #[command(flatten)]
    pub(crate) from: Import,
    /// Who says it: a short name in small letters, for example kraken. A newer file of the same source replaces what an
    /// older one says; several sources stand beside each other, and their median counts. Default: the publisher whose
    /// layout the file has.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<Slug>,
    /// The layout of the file. Default: it is recognised.
    #[arg(long, value_name = "NAME", value_parser = Layout::named)]
    pub(crate) layout: Option<&'static Layout>,
    /// Describes the columns of a CSV file of another layout, for example time=Date,close=Last,time_format=iso.
    #[arg(long, value_name = "MAP")]
    pub(crate) map: Option<ColumnMap>,
    /// The pair, for example BTC/USD. Default: the pair in the file.
    #[arg(long, value_name = "PAIR")]
    pub(crate) pair: Option<Pair>,
    /// Length of a candle: minute, hour or day. Default: found from the times.
    #[arg(long, value_name = "INTERVAL", value_parser = parse_interval)]
    pub(crate) interval: Option<Interval>,
    /// Time zone of times without one, for example America/New_York. Default: UTC.
    #[arg(long, value_name = "ZONE", value_parser = parse_zone)]
    pub(crate) zone: Option<TimeZone>,
}
