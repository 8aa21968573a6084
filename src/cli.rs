//! The command line.

use std::path::PathBuf;

use cairn_state::{KeyKind, TicketState};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::{
    config::{All, BlocksDir, Chain, DemoDir, Http, IndexDir, Limits, Logging, Node, ReadCache, StateDb},
    exit::Exit,
    lifetime::lifetime,
};

/// An event-sourced Bitcoin chain indexer with a read-only query API.
#[derive(Parser, Debug)]
#[command(name = "cairn", version, arg_required_else_help = true, max_term_width = 110)]
pub(crate) struct Cli {
    /// Reads settings from this file instead of ./cairn.toml.
    #[arg(long, global = true, env = "CAIRN_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) logging: Logging,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Makes a small chain with named actors, indexes it and serves it: the way to look around.
    Demo(Demo),
    /// Indexes block files, or what a node has, and follows either.
    Index(Index),
    /// Serves an index that another process makes or made, and follows it.
    Serve(Serve),
    /// Indexes and serves in one process: answers follow the chain.
    Run(Run),
    /// Shows the stages: version, checkpoint, rows and bytes.
    Stages(IndexDir),
    /// Rebuilds the tables of a stage from the journal, without the block files.
    Reindex(Reindex),
    /// Disconnects blocks down to a height.
    Unwind(Unwind),
    /// Looks into the tables.
    Db(Db),
    /// Audits the index against itself (supply, coins = history = totals, MuHash of the coin set) and, with --node,
    /// against the node (headers, `gettxoutsetinfo muhash`).
    Verify(Verify),
    /// Issues, lists and revokes bridge keys and wallet sessions; beside a running server, too.
    Keys(Keys),
    /// Lists and closes the tickets that clients opened with POST /v1/feedback; beside a running server, too.
    Feedback(Feedback),
    /// Prints the settings in force, and where each comes from.
    Config(Config),
    /// Prints the API's description (OpenAPI, JSON).
    Openapi,
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    #[command(flatten)]
    pub(crate) dir: DemoDir,
    #[command(flatten)]
    pub(crate) http: Http,
}

#[derive(Args, Debug)]
pub(crate) struct Index {
    #[command(flatten)]
    pub(crate) chain: Chain,
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) blocks: BlocksDir,
    #[command(flatten)]
    pub(crate) node: Node,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Stops at this height.
    #[arg(long, value_name = "HEIGHT")]
    pub(crate) to: Option<u32>,
    /// Stops at the tip instead of waiting for further blocks.
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) blocks: BlocksDir,
    #[command(flatten)]
    pub(crate) node: Node,
    #[command(flatten)]
    pub(crate) cache: ReadCache,
    #[command(flatten)]
    pub(crate) http: Http,
    #[command(flatten)]
    pub(crate) state: StateDb,
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) chain: Chain,
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) blocks: BlocksDir,
    #[command(flatten)]
    pub(crate) node: Node,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) http: Http,
    #[command(flatten)]
    pub(crate) state: StateDb,
}

#[derive(Args, Debug)]
pub(crate) struct Reindex {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Name of the stage (see `cairn stages`), or all. The chain stage is the journal itself: it cannot be rebuilt.
    #[arg(long, value_name = "NAME")]
    pub(crate) stage: String,
}

#[derive(Args, Debug)]
pub(crate) struct Unwind {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// The height that becomes the tip.
    #[arg(long, value_name = "HEIGHT")]
    pub(crate) to: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) node: Node,
}

#[derive(Args, Debug)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) what: KeysCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum KeysCommand {
    /// Makes a key or a session and prints its secret, this once.
    Issue(KeysIssue),
    /// Shows all that were ever issued, without their secrets.
    List(KeysAt),
    /// Ends a key or a session for good.
    Revoke(KeysRevoke),
}

#[derive(Args, Debug)]
pub(crate) struct KeysAt {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
}

#[derive(Args, Debug)]
pub(crate) struct KeysIssue {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// A bridge key (X-WR-API-Key) or a wallet session (Authorization: Bearer). Both open the same.
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) kind: Kind,
    /// Whose it is, or the like, for the list.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// How long it is valid: minutes, hours or days, as in 31d. Without, until it is revoked.
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) expires: Option<u64>,
}

/// What can be issued.
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
    /// Its id, or its first characters as `cairn keys list` shows them.
    pub(crate) id: String,
}

#[derive(Args, Debug)]
pub(crate) struct Feedback {
    #[command(subcommand)]
    pub(crate) what: FeedbackCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum FeedbackCommand {
    /// Prints tickets, the oldest first.
    List(FeedbackList),
    /// Closes an open ticket.
    Resolve(FeedbackResolve),
}

#[derive(Args, Debug)]
pub(crate) struct FeedbackList {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// Which tickets.
    #[arg(long = "only", value_name = "STATE", value_enum, default_value_t = Tickets::Open)]
    pub(crate) only: Tickets,
    /// How many tickets at most.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: u32,
}

/// Which tickets.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tickets {
    /// Those that nobody has closed.
    Open,
    /// Those that an operator has acted on.
    Resolved,
    /// Those that an operator has decided not to act on.
    Rejected,
    /// All of them.
    All,
}

impl From<Tickets> for Option<TicketState> {
    fn from(tickets: Tickets) -> Self {
        match tickets {
            Tickets::Open => Some(TicketState::Open),
            Tickets::Resolved => Some(TicketState::Resolved),
            Tickets::Rejected => Some(TicketState::Rejected),
            Tickets::All => None,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct FeedbackResolve {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// Closes the ticket as rejected: nothing is done about it.
    #[arg(long)]
    pub(crate) reject: bool,
    /// A note to keep with the ticket. Clients do not see it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Id of the ticket, as `cairn feedback list` prints it.
    pub(crate) id: String,
}

#[derive(Args, Debug)]
pub(crate) struct Db {
    #[command(subcommand)]
    pub(crate) what: DbCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum DbCommand {
    /// Rows and bytes of each table, from the database's own estimates.
    Stats(IndexDir),
    /// SHA-256 over the rows of each table: equal in two indexes exactly if the tables are. Reads everything.
    Checksum(IndexDir),
    /// Prints the value of a row in hex.
    Get(DbGet),
}

#[derive(Args, Debug)]
pub(crate) struct DbGet {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// The table, as `db stats` names it.
    pub(crate) table: String,
    /// The row's key in hex, as the table's documentation draws it, without the tag of a shared family.
    pub(crate) key: String,
}

#[derive(Args, Debug)]
pub(crate) struct Config {
    /// Prints the reference of all settings (Markdown) instead.
    #[arg(long)]
    pub(crate) reference: bool,
    #[command(flatten)]
    all: All,
}

/// The command line's definition.
pub(crate) fn command() -> clap::Command {
    // The one setting whose flag differs from its name: a demo knows no other folder.
    let demo = |demo: clap::Command| demo.mut_arg("demo_datadir", |arg| arg.long("datadir"));
    Cli::command().mut_subcommand("demo", demo).after_long_help(format!("Exit codes:\n{}", Exit::list()))
}
