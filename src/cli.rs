//! The command line.

use std::path::PathBuf;

use cairn_pipeline::verify::RawCheck;
use cairn_state::TicketState;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

mod access;
mod ask;
mod demo;
mod events;
mod evidence;
mod help;
mod import;
mod keys;
mod labels;
mod prices;
mod reports;
mod sanctions;
mod setup;
mod snapshot;

pub(crate) use self::{
    access::*, ask::*, demo::*, events::*, evidence::*, import::*, keys::*, labels::*, prices::*, reports::*,
    sanctions::*, setup::*, snapshot::*,
};
use crate::config::{
    AdminListener, All, Anchoring, ApiKey, AuditLimit, BlocksDir, Chain, DemoDir, Http, InProcess, IndexDir, Limits,
    Logging, MempoolMemory, Node, Optional, Prices, ReadCache, Scrub, Starters, StateDb, whole,
};

/// An event-sourced Bitcoin chain indexer with a read-only query API.
#[derive(Parser, Debug)]
#[command(name = "cairn", version, long_version = crate::version::long())]
#[command(arg_required_else_help = true, max_term_width = 110)]
pub(crate) struct Cli {
    /// Reads settings from this file instead of ./cairn.toml.
    #[arg(long, global = true, env = "CAIRN_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) logging: Logging,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The command.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Generates a small chain with named actors, indexes it and serves it. Start here to look around.
    Demo(Demo),
    /// Writes a cairn.toml that fits the node and the machine: finds the node's folder, cookie and ports, then examines
    /// everything as `cairn doctor` does. Asks on a terminal; elsewhere flags and defaults count.
    Init(Init),
    /// Prints the sizing sheet: disk, memory and time of the first indexing on this machine, measured on the block
    /// files. Names the source of each number, and what is too small. Writes nothing.
    Plan(Plan),
    /// Indexes blocks from block files, a node or both, then follows new blocks.
    Index(Index),
    /// Serves an index that another process writes or has written, and follows its changes.
    Serve(Serve),
    /// Indexes and serves in one process. Answers follow the chain.
    Run(Run),
    /// Asks any operation of the API, of an index on this machine or of a server. Prints tables on a terminal, and JSON
    /// elsewhere. Works while another process writes the index.
    Ask(Ask),
    /// Speaks the Model Context Protocol over standard input and output, for desktop clients that start their servers
    /// themselves.
    Mcp(Mcp),
    /// Shows each stage: version, checkpoint, rows and bytes.
    Stages(IndexDir),
    /// Rebuilds the tables of stages from the journal. Reads the journal once for all stages. Needs no block files.
    Reindex(Reindex),
    /// Disconnects blocks until the tip is at the given height.
    Unwind(Unwind),
    /// Inspects the tables.
    Db(Db),
    /// Shows the cluster of an address: the scripts that transactions show to have the same owner. Works while another
    /// process writes the index.
    Cluster(Cluster),
    /// Examines the settings in force with what they name: node, block files, disk, memory, addresses to listen on.
    /// Names each fault and the line that mends it. Works while Cairn runs.
    Doctor(Doctor),
    /// Audits the index: reads every row of every table, compares it with the journal, and reports each damage and how
    /// to repair it. With --node, also compares it with the node (headers, `gettxoutsetinfo muhash`).
    Verify(Verify),
    /// Repairs an index in place: rebuilds damaged parts (see `cairn verify`) from the journal, the block files or the
    /// node. If too much is damaged, sets the index aside and indexes the chain again.
    Repair(Repair),
    /// Writes the index as files for other programs, and checks such files. Works while another process writes the
    /// index.
    Snapshot(SnapshotArgs),
    /// Lists, shows, withdraws, exports and imports input events: data other than blocks that enters the index. Works
    /// while another process writes the index.
    Events(EventsArgs),
    /// Checks and compares evidence packs. Needs no index and no server.
    Evidence(EvidenceArgs),
    /// Imports prices and exchange rates. Works while another process writes the index.
    Prices(PricesArgs),
    /// Imports, shows and contests labels: claims about who controls an address and what it is for. Works while another
    /// process writes the index.
    Labels(LabelsArgs),
    /// Imports lists of mining pools. Works while another process writes the index.
    Pools(PoolsArgs),
    /// Imports lists of sanctions, approves their rows, and shows the approved rows. Works while another process writes
    /// the index.
    Sanctions(SanctionsArgs),
    /// Issues, lists and revokes bridge keys and wallet sessions, and codes for them. Works while a server is running.
    Keys(Keys),
    /// Reports sold calls, opens redeemed challenges again, and compares challenges with the payments of the Lightning
    /// node. Works while a server is running.
    Access(AccessArgs),
    /// Lists and closes the tickets that clients opened with POST /v1/feedback. Works while a server is running.
    Feedback(Feedback),
    /// Lists, hides and shows the reports that clients make with POST /v1/community/reports. Works while a server is
    /// running.
    Reports(ReportsArgs),
    /// Backs up and checks the database of keys, sessions, feedback and approvals. Works while a server is running.
    State(StateArgs),
    /// Prints the settings in force and the source of each value.
    Config(Config),
    /// Prints the OpenAPI document of the API (JSON).
    Openapi,
    /// Asks the server that runs with these settings whether it can answer requests: for health checks of containers
    /// and service managers. Needs --admin-listen.
    Ready(AdminListener),
    /// Prints the script by which a shell completes commands and flags of cairn.
    Completions(Completions),
    /// Writes the manual pages of cairn and of each command.
    Manual(Manual),
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// Shell that reads the script.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Manual {
    /// Folder for the pages; it is created if it does not exist. Pages of the same names are replaced.
    #[arg(value_name = "FOLDER")]
    pub(crate) to: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    #[command(flatten)]
    pub(crate) dir: DemoDir,
    #[command(flatten)]
    pub(crate) http: Http,
    /// Keeps the generated tip. Without it, the demo adds a block when a hash to anchor or a payment waits, at most one
    /// in 10 seconds.
    #[arg(long)]
    pub(crate) still: bool,
    #[command(subcommand)]
    pub(crate) what: Option<DemoCommand>,
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
    #[command(flatten)]
    pub(crate) optional: Optional,
    #[command(flatten)]
    pub(crate) mempool: MempoolMemory,
    #[command(flatten)]
    pub(crate) prices: Prices,
    #[command(flatten)]
    pub(crate) state: StateDb,
    #[command(flatten)]
    pub(crate) starter: Starters,
    /// Stops after the block at this height.
    #[arg(long, value_name = "HEIGHT", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub(crate) to: Option<u32>,
    /// Stops at the tip instead of waiting for new blocks.
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
    pub(crate) mempool: MempoolMemory,
    #[command(flatten)]
    pub(crate) http: Http,
    #[command(flatten)]
    pub(crate) scrub: Scrub,
    #[command(flatten)]
    pub(crate) state: StateDb,
}

#[derive(Args, Debug)]
pub(crate) struct Mcp {
    /// URL of a Cairn server, for example https://example.org. Without it, --datadir names an index on this machine,
    /// and no server is needed.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) key: ApiKey,
    #[command(flatten)]
    pub(crate) here: InProcess,
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
    pub(crate) optional: Optional,
    #[command(flatten)]
    pub(crate) cache: ReadCache,
    #[command(flatten)]
    pub(crate) mempool: MempoolMemory,
    #[command(flatten)]
    pub(crate) prices: Prices,
    #[command(flatten)]
    pub(crate) anchoring: Anchoring,
    #[command(flatten)]
    pub(crate) http: Http,
    #[command(flatten)]
    pub(crate) scrub: Scrub,
    #[command(flatten)]
    pub(crate) state: StateDb,
    #[command(flatten)]
    pub(crate) starter: Starters,
}

#[derive(Args, Debug)]
pub(crate) struct Reindex {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Names of stages, separated by commas, or `all`. `cairn stages` shows the names. The chain stage is the journal
    /// itself and cannot be rebuilt.
    #[arg(long = "stage", value_name = "NAME", value_delimiter = ',', required = true)]
    pub(crate) stages: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Unwind {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Height of the new tip.
    #[arg(long, value_name = "HEIGHT", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub(crate) to: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) node: Node,
    /// Blocks to compare with the block files, witnesses included.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Raw::Sample)]
    pub(crate) raw: Raw,
    #[command(flatten)]
    pub(crate) limit: AuditLimit,
}

/// Blocks that are compared with the block files.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Raw {
    /// None.
    None,
    /// Every hundredth block.
    Sample,
    /// All blocks. Reads all block files.
    All,
}

impl From<Raw> for RawCheck {
    fn from(raw: Raw) -> Self {
        match raw {
            Raw::None => RawCheck::None,
            Raw::Sample => RawCheck::Sample,
            Raw::All => RawCheck::All,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Repair {
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
    /// Blocks to compare with the block files, witnesses included. Differences are repaired.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Raw::Sample)]
    pub(crate) raw: Raw,
    /// Repairs the index even if input events (imported labels, prices, contests, approvals) cannot be read and are
    /// lost. Without this flag, such a repair changes nothing and lists the missing events.
    #[arg(long)]
    pub(crate) without_events: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    pub(crate) what: StateCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum StateCommand {
    /// Copies the database into a file that only you can read. The copy has only hashes of secrets. For PostgreSQL, use
    /// pg_dump.
    Backup(StateBackup),
    /// Checks that the pages, tables and rows of the database are undamaged, and that it is the database that was last
    /// used here.
    Check(KeysAt),
    /// Accepts an older copy or another database in place of a lost one. With --new, creates an empty database.
    Accept(StateAccept),
}

#[derive(Args, Debug)]
pub(crate) struct StateAccept {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// Creates an empty database if the one that was used is missing. Its keys, sessions, feedback and approvals are
    /// lost.
    #[arg(long)]
    pub(crate) new: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StateBackup {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// Overwrites the file if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// The file to write.
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Cluster {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Address on the network of the index, or scripthash:<hex> with SHA-256(scriptPubKey) in natural byte order.
    pub(crate) address: String,
    /// Shows the cluster as it was after the block at this height.
    #[arg(long, value_name = "HEIGHT", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub(crate) at: Option<u32>,
    /// Also explains why this address is in the same cluster: lists the transactions that connect both addresses.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) explain: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Maximum number of members to print.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<usize>(1..=10_000))]
    pub(crate) limit: usize,
    /// Continues where an earlier answer ended: give the value of its `next`.
    #[arg(long, value_name = "PLACE")]
    pub(crate) from: Option<String>,
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
    /// State of the tickets to print.
    #[arg(long = "only", value_name = "STATE", value_enum, default_value_t = Tickets::Open)]
    pub(crate) only: Tickets,
    /// Maximum number of tickets to print.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub(crate) limit: u32,
}

/// States of tickets to print.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tickets {
    /// Open tickets.
    Open,
    /// Closed tickets that an operator acted on.
    Resolved,
    /// Closed tickets that an operator decided not to act on.
    Rejected,
    /// All tickets.
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
    /// Closes the ticket as rejected instead of resolved.
    #[arg(long)]
    pub(crate) reject: bool,
    /// Note to store with the ticket. Clients do not see it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Id of the ticket, from `cairn feedback list`.
    pub(crate) id: String,
}

#[derive(Args, Debug)]
pub(crate) struct Db {
    #[command(subcommand)]
    pub(crate) what: DbCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum DbCommand {
    /// Shows rows and bytes of each table, as the database estimates them.
    Stats(IndexDir),
    /// Prints a SHA-256 over the rows of each table. Equal tables have equal checksums. Reads the whole index.
    Checksum(IndexDir),
    /// Prints the value of one row in hex.
    Get(DbGet),
}

#[derive(Args, Debug)]
pub(crate) struct DbGet {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Name of the table, as `cairn db stats` shows it.
    pub(crate) table: String,
    /// Key of the row in hex, as the table's documentation shows it, without the tag byte of a shared column family.
    pub(crate) key: String,
}

#[derive(Args, Debug)]
pub(crate) struct Config {
    /// Prints the reference of all settings (Markdown) instead of their values.
    #[arg(long)]
    pub(crate) reference: bool,
    #[command(flatten)]
    pub(crate) all: All,
}

pub(crate) fn command() -> clap::Command {
    // The only setting whose flag differs from its name: a demo has no other folder.
    let named = |command: clap::Command| command.mut_arg("demo_datadir", |arg| arg.long("datadir"));
    help::with_help(Cli::command().mut_subcommand("demo", |demo| named(demo).mut_subcommand("pay", named)))
}
