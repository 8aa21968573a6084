//! How a stand-in node is set up.

use std::path::PathBuf;

use cairn_chaingen::{ChainBuilder, Everything};

/// How clients prove who they are (HTTP Basic).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// A cookie file, made again at every start and deleted at every stop.
    #[default]
    Cookie,
    /// `-rpcuser` and `-rpcpassword`; there is no cookie file then.
    UserPassword {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
}

/// A ZMQ topic of Bitcoin Core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Hash of the new tip.
    HashBlock,
    /// The new tip, serialized.
    RawBlock,
    /// Id of a transaction that entered the mempool, or that is in a block connected or disconnected.
    HashTx,
    /// The same transactions, serialized.
    RawTx,
    /// Connected and disconnected blocks; transactions added to and removed from the mempool.
    Sequence,
}

impl Topic {
    /// All five.
    pub const ALL: [Topic; 5] = [Topic::HashBlock, Topic::RawBlock, Topic::HashTx, Topic::RawTx, Topic::Sequence];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Topic::HashBlock => "hashblock",
            Topic::RawBlock => "rawblock",
            Topic::HashTx => "hashtx",
            Topic::RawTx => "rawtx",
            Topic::Sequence => "sequence",
        }
    }
}

/// Which ZMQ topics are published, and where.
#[derive(Clone, Debug)]
pub struct ZmqOptions {
    /// The topics published; empty turns ZMQ off.
    pub topics: Vec<Topic>,
    /// All topics on one address (as most configurations have it), or one address for each.
    pub shared: bool,
    /// Messages that a socket keeps per subscriber before it drops further ones; 0 is without limit.
    /// Core's default is 1000; here 0, so that only commanded faults lose messages.
    pub high_water_mark: i32,
}

impl Default for ZmqOptions {
    fn default() -> Self {
        Self { topics: Topic::ALL.to_vec(), shared: true, high_water_mark: 0 }
    }
}

/// Where blocks come from.
#[derive(Debug)]
pub enum Source {
    /// A builder: blocks hold what the script puts in them. Its blocks so far are the node's first ones.
    Builder(Box<ChainBuilder>),
    /// The random generator, which [`World::grow`](crate::World::grow) and [`World::fork`](crate::World::fork) draw on.
    Everything(Box<Everything>),
}

/// How to start the stand-in.
#[derive(Debug)]
pub struct StandInOptions {
    /// `CLIENT_VERSION`, 250000 to 310000; decides the details in which these versions differ.
    pub version: u32,
    /// Seed of the keys and of the script's own choices.
    pub seed: u64,
    /// Where blocks come from; none is a new builder with the seed above.
    pub source: Option<Source>,
    /// Blocks mined to the wallet before the start, on top of what the source holds. 101 give it a first coin to spend.
    pub premine: u32,
    /// Authentication.
    pub auth: Auth,
    /// The cookie file; none is a file `.cookie` in a temporary folder.
    pub cookie_file: Option<PathBuf>,
    /// `-rest`.
    pub rest: bool,
    /// `-txindex`.
    pub txindex: bool,
    /// `-coinstatsindex`: `gettxoutsetinfo` for any block.
    pub coinstatsindex: bool,
    /// ZMQ.
    pub zmq: ZmqOptions,
    /// `-maxmempool`, in bytes.
    pub max_mempool: u64,
    /// `-minrelaytxfee`, sat per 1000 virtual bytes; none is the version's default (1000; 100 from v30 on).
    pub min_relay_fee: Option<u64>,
    /// Mock time, Unix seconds; none is the system's clock.
    pub time: Option<u64>,
}

impl Default for StandInOptions {
    fn default() -> Self {
        Self {
            version: 280_000,
            seed: 1,
            source: None,
            premine: 0,
            auth: Auth::Cookie,
            cookie_file: None,
            rest: true,
            txindex: false,
            coinstatsindex: false,
            zmq: ZmqOptions::default(),
            max_mempool: 300_000_000,
            min_relay_fee: None,
            time: None,
        }
    }
}

impl StandInOptions {
    pub(crate) fn relay_fee(&self) -> u64 {
        self.min_relay_fee.unwrap_or(if self.version >= 300_000 { 100 } else { 1_000 })
    }
}
