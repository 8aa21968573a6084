//! Settings: one declaration each. An `#[arg]` with an environment variable is a setting. Its flag, its variable, its
//! key in `cairn.toml`, its row in the reference and its line in `cairn config` follow from that declaration.
//!
//! Precedence: flag, environment, `cairn.toml`, default. Clap handles flags, environment and defaults. Values of the
//! file become the defaults before the command line is parsed.

mod access;
mod anchoring;
mod api_key;
mod bound;
mod clients;
mod environment;
mod evidence;
mod file;
mod in_process;
mod limits;
mod listener;
mod log_filter;
mod node;
mod optional;
mod origins;
mod payments;
mod prices;
mod private_key;
mod protocols;
mod reference;
mod sanctions;
mod scrub;
mod show;
mod starter;
mod state;
#[cfg(test)]
mod tests;
mod timestamps;
mod toml_value;
mod traces;
mod values;
mod x402;

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

use cairn_model::{ChainParams, Network, SignetChallenge};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, ValueEnum};

pub(crate) use access::{Access, Lightning, lightning_failure};
pub(crate) use anchoring::Anchoring;
pub(crate) use api_key::ApiKey;
pub(crate) use bound::SERVING as SERVING_MEMORY;
pub(crate) use clients::ClientLimits;
pub(crate) use environment::check_environment;
pub(crate) use evidence::Evidence;
pub(crate) use file::ConfigFile;
pub(crate) use in_process::InProcess;
pub(crate) use limits::{AuditLimit, LEAST as LEAST_MEMORY, Limits, Memory, MempoolMemory, ReadCache, size};
pub(crate) use node::Node;
pub(crate) use optional::Optional;
pub(crate) use payments::{Payments, payment_mark};
pub(crate) use prices::{Addresses, Prices};
pub(crate) use protocols::Protocols;
pub(crate) use reference::reference;
pub(crate) use sanctions::Sanctions;
pub(crate) use scrub::Scrub;
pub(crate) use show::show;
pub(crate) use starter::Starters;
pub(crate) use state::StateDb;
pub(crate) use timestamps::Timestamps;
pub(crate) use traces::Traces;
pub(crate) use values::{explained, nearest, whole};
pub(crate) use x402::x402_terms_failure;

use crate::exit::Failure;

/// Log lines.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub(crate) struct Logging {
    /// Log filter: off, error, warn, info, debug or trace; also per crate, for example warn,cairn_pipeline=debug. If
    /// CAIRN_LOG is not set, RUST_LOG is used.
    #[arg(long, global = true, env = "CAIRN_LOG", value_name = "FILTER", default_value = LOG_DEFAULT)]
    #[arg(value_parser = log_filter::filter)]
    pub(crate) log: String,
    /// Format of the log lines on standard error.
    #[arg(long, global = true, env = "CAIRN_LOG_FORMAT", value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) log_format: LogFormat,
}

impl Logging {
    /// Shows warnings only, unless a setting says otherwise.
    pub(crate) fn quieten(&mut self) {
        if self.log == LOG_DEFAULT {
            "warn".clone_into(&mut self.log);
        }
    }
}

/// Formats of log lines.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Where the index is.
#[derive(Args, Clone, Debug)]
pub(crate) struct IndexDir {
    /// Data folder. The index is in its subfolder `index`.
    #[arg(long, env = "CAIRN_DATADIR", value_name = "DIR")]
    datadir: Option<PathBuf>,
}

impl IndexDir {
    pub(crate) fn datadir(&self) -> Result<&PathBuf, Failure> {
        required_folder(self.datadir.as_ref(), "datadir")
    }

    /// True if one is named, usable or not.
    pub(crate) fn is_set(&self) -> bool {
        self.datadir.is_some()
    }
}

/// Which chain.
#[derive(Args, Clone, Debug)]
pub(crate) struct Chain {
    /// Bitcoin network: main, testnet3, testnet4, signet or regtest.
    #[arg(long, env = "CAIRN_NETWORK", value_name = "NETWORK", value_parser = str::parse::<Network>)]
    network: Option<Network>,
    /// Script that the blocks of a custom signet satisfy, in hexadecimal digits, as in the node's signetchallenge. Only
    /// for network signet. Default: the challenge of the default signet.
    #[arg(long, env = "CAIRN_SIGNET_CHALLENGE", value_name = "HEX", value_parser = str::parse::<SignetChallenge>)]
    signet_challenge: Option<SignetChallenge>,
}

impl Chain {
    /// As [`Chain::params`]; `None` if neither a network nor a challenge is set.
    ///
    /// # Errors
    /// Fails if a challenge is set without network signet.
    pub(crate) fn given(&self) -> Result<Option<ChainParams>, Failure> {
        (self.network.is_some() || self.signet_challenge.is_some()).then(|| self.params()).transpose()
    }

    /// The network, and which signet.
    ///
    /// # Errors
    /// Fails if no network is set, or if a challenge is set for another network than signet.
    pub(crate) fn params(&self) -> Result<ChainParams, Failure> {
        let network = required(self.network, "network")?;
        match self.signet_challenge {
            None => Ok(network.into()),
            Some(challenge) if network == Network::Signet => Ok(ChainParams::signet(challenge)),
            Some(_) => Err(Failure::usage(format!("--signet-challenge is for --network signet, not for {network}"))
                .hint("leave --signet-challenge out, or give --network signet")),
        }
    }
}

/// Where the block files are.
#[derive(Args, Clone, Debug)]
pub(crate) struct BlocksDir {
    /// Bitcoin Core's `blocks` folder, or a copy, with blk*.dat, rev*.dat and xor.dat. `serve` reads raw transactions
    /// from it. Default of `serve`: the folder that the index was made from.
    #[arg(long, env = "CAIRN_BLOCKS_DIR", value_name = "DIR")]
    pub(crate) blocks_dir: Option<PathBuf>,
}

impl BlocksDir {
    /// The folder, for a command that cannot do without.
    pub(crate) fn folder(&self) -> Result<&PathBuf, Failure> {
        required_folder(self.blocks_dir.as_ref(), "blocks_dir")
    }

    /// The folder, for a command that has no node to read blocks from.
    ///
    /// # Errors
    /// Fails if no folder is set, or if it is not a folder.
    pub(crate) fn without_node(&self) -> Result<&PathBuf, Failure> {
        let key = "blocks_dir";
        if self.blocks_dir.is_none() {
            return Err(Failure::usage("there is no source of blocks: neither --blocks-dir nor --node is set").hint(
                format!(
                    "give a folder of block files (--blocks-dir, CAIRN_BLOCKS_DIR or {key} in {DEFAULT_FILE}), a node \
                     (--node, CAIRN_NODE or node), or both"
                ),
            ));
        }
        required_folder(self.blocks_dir.as_ref(), key)
    }
}

/// How the API is served.
#[derive(Args, Clone, Debug)]
pub(crate) struct Http {
    /// Address and port to listen on. Port 0 picks a free port. To serve other machines, give an address of this
    /// machine or 0.0.0.0.
    #[arg(long, env = "CAIRN_LISTEN", value_name = "ADDR:PORT", default_value = "127.0.0.1:8080",
        value_parser = listener::address)]
    pub(crate) listen: SocketAddr,
    /// Public URL of this server, for links in answers. Default: the URL of the listener.
    #[arg(long, env = "CAIRN_BASE_URL", value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Bitcoin addresses that examples use and that are exempt from conditional limits, comma-separated. `demo` adds
    /// its own.
    #[arg(long, env = "CAIRN_SHOWCASE_ADDRESSES", value_name = "ADDRESSES", value_delimiter = ',')]
    pub(crate) showcase_addresses: Vec<String>,
    /// If true, transaction pages after the first need a wallet session.
    #[arg(long, env = "CAIRN_GATES", value_name = "BOOL", default_value = "true", action = ArgAction::Set)]
    pub(crate) gates: bool,
    /// If true, search engines may list the pages of addresses and transactions. The pages of the chain, of blocks,
    /// entities and pools may always be listed.
    #[arg(long, env = "CAIRN_SEARCH_ENGINES", value_name = "BOOL", default_value = "false", action = ArgAction::Set)]
    pub(crate) search_engines: bool,
    /// If true, agents' tools may take output descriptors and extended public keys (`wallet_lookup`). The model, and
    /// whoever keeps its conversations, then sees them.
    #[arg(long, env = "CAIRN_PRIVATE_TOOLS", value_name = "BOOL", default_value = "false", action = ArgAction::Set)]
    pub(crate) private_tools: bool,
    /// Origins of web pages that may use /mcp/ and send requests that change something (broadcasts, feedback),
    /// comma-separated, for example https://app.example. *: pages of all sites, for a public server only. Pages of this
    /// machine and of the host of --base-url always may.
    #[arg(long, env = "CAIRN_BROWSER_ORIGINS", value_name = "ORIGINS", value_delimiter = ',', value_parser = origins::origin)]
    pub(crate) browser_origins: Vec<String>,
    /// Maximum lag of the index in blocks. Above it, requests that need the tip get 503.
    #[arg(long, env = "CAIRN_MAX_LAG_BLOCKS", value_name = "N", default_value = "6", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub(crate) max_lag_blocks: u32,
    /// Request timeout in seconds.
    #[arg(long, env = "CAIRN_REQUEST_TIMEOUT", value_name = "SECONDS", default_value = "20",
        value_parser = whole::<u64>(1..=600))]
    pub(crate) request_timeout: u64,
    /// Maximum number of requests that run at the same time, for each cost class (light, standard); heavy requests get
    /// a quarter of it. Further requests wait.
    #[arg(long, env = "CAIRN_MAX_CONCURRENT_READS", value_name = "N", default_value = "32",
        value_parser = whole::<u16>(1..=4096))]
    pub(crate) max_concurrent_reads: u16,
    /// Maximum number of requests that wait. Further requests get 503 at once.
    #[arg(long, env = "CAIRN_MAX_QUEUED_REQUESTS", value_name = "N", default_value = "256", value_parser = whole::<u16>(0..=u16::MAX.into()))]
    pub(crate) max_queued_requests: u16,
    #[command(flatten)]
    pub(crate) sanctions: Sanctions,
    #[command(flatten)]
    pub(crate) evidence: Evidence,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) payments: Payments,
    #[command(flatten)]
    pub(crate) timestamps: Timestamps,
    #[command(flatten)]
    pub(crate) protocols: Protocols,
    #[command(flatten)]
    pub(crate) limits: ClientLimits,
    #[command(flatten)]
    pub(crate) admin: AdminListener,
    #[command(flatten)]
    pub(crate) traces: Traces,
    /// Logs requests that take at least this many milliseconds. 0: logs none.
    #[arg(long, env = "CAIRN_SLOW_REQUEST_MS", value_name = "MS", default_value = "1000", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub(crate) slow_request_ms: u32,
}

/// The listener for whoever watches the server.
#[derive(Args, Clone, Debug)]
pub(crate) struct AdminListener {
    /// Address and port of the admin listener: /metrics (Prometheus), /livez and /readyz. Default: no admin listener.
    #[arg(long, env = "CAIRN_ADMIN_LISTEN", value_name = "ADDR:PORT", value_parser = listener::address)]
    pub(crate) admin_listen: Option<SocketAddr>,
}

/// The demo's folder. It is a separate setting, so that a demo never writes into the index of CAIRN_DATADIR.
#[derive(Args, Clone, Debug)]
pub(crate) struct DemoDir {
    /// Folder of the demo's block files and index. Default: `cairn/demo` in the user's cache folder. (The flag of
    /// `cairn demo` is --datadir.)
    #[arg(long, env = "CAIRN_DEMO_DATADIR", value_name = "DIR")]
    pub(crate) demo_datadir: Option<PathBuf>,
}

impl DemoDir {
    /// The folder; `None` if it is the default one.
    pub(crate) fn folder(&self) -> Result<Option<&PathBuf>, Failure> {
        self.demo_datadir.is_some().then(|| required_folder(self.demo_datadir.as_ref(), "datadir")).transpose()
    }
}

/// All settings of commands, for `cairn config` and `cairn doctor` (the global ones are with every command).
#[derive(Args, Clone, Debug)]
pub(crate) struct All {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) chain: Chain,
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
    prices: Prices,
    #[command(flatten)]
    anchoring: Anchoring,
    #[command(flatten)]
    pub(crate) http: Http,
    #[command(flatten)]
    scrub: Scrub,
    #[command(flatten)]
    state: StateDb,
    #[command(flatten)]
    starter: Starters,
    #[command(flatten)]
    demo: DemoDir,
    #[command(flatten)]
    key: ApiKey,
}

impl All {
    /// The memory bounds of the commands with these settings, as comments of a `cairn.toml`.
    pub(crate) fn bounds(&self) -> String {
        self.sizes().bounds()
    }

    /// Bytes of memory that `cairn run` takes at most with these settings.
    pub(crate) fn run_bound(&self) -> u64 {
        self.sizes().run_bound()
    }

    /// The settings that have addresses to listen on, with these.
    pub(crate) fn listeners(&self) -> Vec<(&'static str, SocketAddr)> {
        let protocols = &self.http.protocols;
        let all = [
            ("listen", Some(self.http.listen)),
            ("admin_listen", self.http.admin.admin_listen),
            ("esplora", protocols.esplora),
            ("esplora_internal", protocols.esplora_internal),
            ("electrum", protocols.electrum),
            ("electrum_tls", protocols.electrum_tls),
        ];
        all.into_iter().filter_map(|(key, address)| Some((key, address?))).collect()
    }

    fn sizes(&self) -> bound::Sizes {
        bound::Sizes {
            memory: self.limits.memory,
            cache: self.cache.cache,
            mempool: self.mempool.mempool_memory,
            connections: self.http.limits.max_connections.into(),
            reads: self.http.max_concurrent_reads.into(),
            fetches: self.prices.are_fetched(),
            has_electrum: self.http.protocols.has_electrum(),
        }
    }
}

/// Key of the argument that names the file. The file itself cannot contain it.
const FILE: &str = "config";
/// The file that is read without being named, from the current folder.
pub(crate) const DEFAULT_FILE: &str = "cairn.toml";
/// Used if CAIRN_LOG is not set: the variable that Rust programs share.
const LOG_FALLBACK: &str = "RUST_LOG";
const LOG_DEFAULT: &str = "info";

/// A folder that must be set. It need not exist yet, but nothing else may be in its place.
fn required_folder<'a>(path: Option<&'a PathBuf>, key: &str) -> Result<&'a PathBuf, Failure> {
    let path = required(path, key)?;
    match path.metadata() {
        Ok(found) if !found.is_dir() => {
            let flag = key.replace('_', "-");
            Err(Failure::usage(format!("--{flag} {} is a file, not a folder", path.display()))
                .hint(format!("give a folder, for example --{flag} {}", path.with_file_name("cairn").display())))
        }
        _ => Ok(path),
    }
}

fn required<T>(value: Option<T>, key: &str) -> Result<T, Failure> {
    value.ok_or_else(|| {
        let (flag, variable) = (key.replace('_', "-"), key.to_uppercase());
        Failure::usage(format!("--{flag} is missing"))
            .hint(format!("give the flag, or set CAIRN_{variable} or {key} in {DEFAULT_FILE}"))
    })
}

/// True for a setting, false for an argument of one command.
fn is_setting(arg: &Arg) -> bool {
    arg.get_env().is_some() && arg.get_id() != FILE
}

/// True if the value must not be shown: the setting is declared with `hide_env_values`.
fn is_secret(arg: &Arg) -> bool {
    arg.is_hide_env_values_set()
}

/// Prepares a command for its parsing: the file's values become the defaults, and empty variables count as not set.
pub(crate) fn prepare(command: Command, file: Option<&ConfigFile>, env: &dyn Fn(&str) -> Option<OsString>) -> Command {
    let ids: Vec<String> = command.get_arguments().filter(|a| is_setting(a)).map(|a| a.get_id().to_string()).collect();
    let mut command = ids.iter().fold(command, |command, id| {
        command.mut_arg(id, |mut arg| {
            if let Some(values) = file.and_then(|f| f.values(id)) {
                arg = arg.default_values(values.to_vec());
            }
            let name = arg.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
            if set(&name) {
                arg
            } else if id == "log" && set(LOG_FALLBACK) {
                arg.env(LOG_FALLBACK)
            } else if env(&name).is_some() {
                arg.env(None::<&str>)
            } else {
                arg
            }
        })
    });
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    for name in &names {
        command = command.mut_subcommand(name, |sub| prepare(sub, file, env));
    }
    command
}

/// The file that the command line or the environment names, else `cairn.toml` where it exists.
///
/// # Errors
/// Fails if a named file cannot be read, a file is invalid, or another user may have written the `cairn.toml` that was
/// found.
pub(crate) fn read_file(command: &Command, args: &[OsString]) -> Result<Option<ConfigFile>, Failure> {
    // Other mistakes on the command line are reported by the real parse.
    let matches = command.clone().ignore_errors(true).try_get_matches_from(args).ok();
    let named = matches.as_ref().and_then(named_file);
    let file = match named {
        Some(path) => Some(ConfigFile::read(&path)?),
        None => {
            let found = Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists());
            found.map(|path| ConfigFile::read_found(&path)).transpose()?
        }
    };
    if let Some(file) = &file {
        file.check(command)?;
    }
    Ok(file)
}

fn named_file(matches: &ArgMatches) -> Option<PathBuf> {
    let here = matches.try_get_one::<PathBuf>(FILE).ok().flatten().cloned();
    here.or_else(|| named_file(matches.subcommand()?.1)).filter(|path| !path.as_os_str().is_empty())
}
