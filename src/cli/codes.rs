//! The command line of codes.

use clap::{Args, Subcommand};

use super::{KeysAt, Kind};
use crate::lifetime::lifetime;

#[derive(Args, Debug)]
pub(crate) struct Codes {
    #[command(subcommand)]
    pub(crate) what: CodesCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum CodesCommand {
    /// Creates a code and prints it. It gives one key, and cannot be shown again.
    Issue(CodesIssue),
    /// Lists all codes that were ever issued, with the keys that they gave, without their secrets.
    List(KeysAt),
    /// Revokes a code that is not redeemed yet. This cannot be undone.
    Revoke(CodesRevoke),
}

#[derive(Args, Debug)]
pub(crate) struct CodesIssue {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// The code gives a bridge key (X-WR-API-Key) or a wallet session (Authorization: Bearer). Both give the same
    /// access.
    #[arg(long, value_name = "KIND", value_enum, default_value = "key")]
    pub(crate) kind: Kind,
    /// Note for the lists of codes and keys, for example the client's name.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Lifetime of the key in minutes, hours or days. It begins when the code is redeemed.
    #[arg(long, value_name = "TIME", value_parser = lifetime, default_value = "31d")]
    pub(crate) valid: u64,
    /// Time in which the code can be redeemed, in minutes, hours or days.
    #[arg(long, value_name = "TIME", value_parser = lifetime, default_value = "31d")]
    pub(crate) expires: u64,
}

#[derive(Args, Debug)]
pub(crate) struct CodesRevoke {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// Id, or the first characters of the code as `cairn keys codes list` shows them.
    pub(crate) id: String,
}
