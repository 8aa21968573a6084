//! The command line of keys, wallet sessions and codes for them.

use cairn_state::{KeyKind, StateUrl};
use clap::{Args, Subcommand, ValueEnum};

use crate::{
    config::{IndexDir, StateDb},
    exit::Failure,
    lifetime::lifetime,
};

#[derive(Args, Debug)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) what: KeysCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum KeysCommand {
    /// Creates a key or session and prints its secret. The secret cannot be shown again.
    Issue(KeysIssue),
    /// Lists all keys and sessions that were ever issued, without their secrets.
    List(KeysAt),
    /// Revokes a key or session. This cannot be undone.
    Revoke(KeysRevoke),
    /// Issues, lists and revokes codes, which clients redeem for a key or session.
    Codes(Codes),
}

#[derive(Args, Debug)]
pub(crate) struct KeysAt {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
}

impl KeysAt {
    /// URL of the database.
    ///
    /// # Errors
    /// Fails if the settings name none.
    pub(crate) fn url(&self) -> Result<StateUrl, Failure> {
        self.state.url(&self.index)
    }
}

#[derive(Args, Debug)]
pub(crate) struct KeysIssue {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// A bridge key (X-WR-API-Key) or a wallet session (Authorization: Bearer). Both give the same access.
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) kind: Kind,
    /// Note for the list, for example the owner's name.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Lifetime in minutes, hours or days, for example 31d. Default: no expiry.
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) expires: Option<u64>,
}

/// Kinds of credentials.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A bridge key.
    Key,
    /// A wallet session.
    Session,
}

impl From<Kind> for KeyKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Key => KeyKind::Bridge,
            Kind::Session => KeyKind::Session,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct KeysRevoke {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// Id, or the first characters of the secret as `cairn keys list` shows them.
    pub(crate) id: String,
}

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
