//! The command line of input events.

use std::{path::PathBuf, time::Duration};

use cairn_events::{Interval, Slug};
use cairn_inputs::{ColumnMap, Layout, Pair, parse_interval, parse_zone};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;

use crate::config::{Addresses, IndexDir, size};

#[derive(Args, Debug)]
pub(crate) struct EventsArgs {
    #[command(subcommand)]
    pub(crate) what: EventsCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum EventsCommand {
    /// Prints the documents of the ledger, the oldest first.
    List(EventsList),
    /// Prints one event, as JSON.
    Show(EventsShow),
    /// Takes a document out of all answers, for good. The ledger keeps it.
    Withdraw(EventsWithdraw),
    /// Writes all documents to one file that ends with its SHA-256. Events cannot be rebuilt from the chain: this is their
    /// backup.
    Export(EventsExport),
    /// Takes in a file of `cairn events export`. Documents that the ledger has are passed over.
    Import(EventsImport),
}

#[derive(Args, Debug)]
pub(crate) struct EventsList {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Prints documents of this source only.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
    /// Prints documents of this kind only: quotes or withdrawal.
    #[arg(long, value_name = "KIND", value_parser = ["quotes", "withdrawal"])]
    pub(crate) kind: Option<String>,
    /// Begins with this sequence number.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) from: u64,
    /// Maximum number of documents to print.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: u32,
    /// Prints a JSON object for each document, on a line of its own.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EventsShow {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Sequence number of an event, or SHA-256 of a document.
    pub(crate) event: String,
}

#[derive(Args, Debug)]
pub(crate) struct EventsWithdraw {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Why. The ledger keeps it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Withdraws a document that the ledger does not have, too: when it comes, it does not count.
    #[arg(long)]
    pub(crate) unseen: bool,
    /// SHA-256 of the document, from `cairn events list --json`.
    pub(crate) document: String,
}

#[derive(Args, Debug)]
pub(crate) struct EventsExport {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// The file to write. It must not exist.
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct EventsImport {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// A file of `cairn events export`.
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct PricesArgs {
    #[command(subcommand)]
    pub(crate) what: PricesCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum PricesCommand {
    /// Reads a file of daily, hourly or minute prices, or of reference rates, and takes it into the ledger. It may be packed
    /// with gzip, or as the only file in a ZIP archive.
    Import(PricesImport),
}

#[derive(Args, Debug)]
pub(crate) struct PricesImport {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Who says it: a short name in small letters, for example kraken. A newer file of the same source replaces what an
    /// older one says; several sources stand beside each other, and their median counts.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Slug,
    /// The licence of the data: an SPDX identifier in small letters, or a short name.
    #[arg(long, value_name = "NAME")]
    pub(crate) licence: Slug,
    /// The layout of the file. Default: it is recognised.
    #[arg(long, value_name = "NAME", value_parser = Layout::named)]
    pub(crate) layout: Option<&'static Layout>,
    /// Describes the columns of a CSV file of another layout, for example time=Date,close=Last,time_format=iso.
    #[arg(long, value_name = "MAP")]
    pub(crate) map: Option<ColumnMap>,
    /// What is quoted, for example BTC/USD. Default: what the file says.
    #[arg(long, value_name = "PAIR")]
    pub(crate) pair: Option<Pair>,
    /// Length of a candle: minute, hour or day. Default: found from the times.
    #[arg(long, value_name = "INTERVAL", value_parser = parse_interval)]
    pub(crate) interval: Option<Interval>,
    /// Time zone of times without one, for example America/New_York. Default: UTC.
    #[arg(long, value_name = "ZONE", value_parser = parse_zone)]
    pub(crate) zone: Option<TimeZone>,
    /// Reads the file and says what is in it; writes nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) addresses: Addresses,
    /// Most bytes of a download, and of a ZIP archive: a number of bytes, or a number with K, M, G or T.
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    pub(crate) max_size: u64,
    /// Most bytes that a packed file unpacks to.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    pub(crate) max_unpacked: u64,
    /// Most seconds of a download.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    pub(crate) max_time: Duration,
    /// The file, or its URL (http:// or https://).
    #[arg(value_name = "FILE|URL")]
    pub(crate) file: PathBuf,
}

/// Parses a time of one second to an hour.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..=3_600) => Ok(Duration::from_secs(seconds)),
        _ => Err("expected a number of seconds from 1 to 3600".to_owned()),
    }
}
