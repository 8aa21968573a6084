//! The command line of input events.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config::{IndexDir, StateDb, whole};

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
    /// Writes all documents to one file that ends with its SHA-256. Events cannot be rebuilt from the chain: this is
    /// their backup.
    Export(EventsExport),
    /// Takes in a file of `cairn events export`. Documents that the ledger has are passed over.
    Import(EventsImport),
    /// Prints what was handed in on replicas and waits in their database for the machine that writes the index, the
    /// oldest first.
    Waiting(EventsWaiting),
}

#[derive(Args, Debug)]
pub(crate) struct EventsList {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Prints documents of this source only.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
    /// Prints documents of this kind only: quotes, claims, pool_tags, profiles, contest or withdrawal.
    #[arg(long, value_name = "KIND", value_parser = ["quotes", "claims", "pool_tags", "profiles", "contest", "withdrawal"])]
    pub(crate) kind: Option<String>,
    /// Begins with this sequence number.
    #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = whole::<u64>(0..=u64::MAX))]
    pub(crate) from: u64,
    /// Maximum number of documents to print.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(0..=u32::MAX.into()))]
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
    #[command(flatten)]
    pub(crate) state: StateDb,
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
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// A file of `cairn events export`.
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct EventsWaiting {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// Maximum number of entries to print.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub(crate) limit: u32,
}
