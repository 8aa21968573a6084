//! What can go wrong with a node, in words for whoever runs it.

use std::{fmt, path::PathBuf, time::Duration};

use cairn_model::{BlockHash, Height, Network};
use cairn_sources::DecodeError;

/// Errors of the owner of the chain that is being brought to the node's.
pub type OwnerError = Box<dyn std::error::Error + Send + Sync>;

/// Why a node cannot be used, or not now, or not for this.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The address is no address of a node. It is not repeated here: it may hold a password.
    #[error("the node's address cannot be used: {reason}")]
    BadUrl {
        /// What is wrong.
        reason: &'static str,
    },
    /// Nothing answers, or the connection breaks before the answer is whole.
    #[error("no answer from the node at {url}: {reason}")]
    Unreachable {
        /// Address without credentials.
        url: String,
        /// The operating system's words.
        reason: String,
    },
    /// The answer took too long.
    #[error("the node at {url} did not answer {method} within {} s", limit.as_secs())]
    TimedOut {
        /// Address without credentials.
        url: String,
        /// RPC method or REST path.
        method: String,
        /// How long was waited.
        limit: Duration,
    },
    /// The cookie file is absent.
    #[error(
        "cookie file {path}: not found; is the node running, and is this the data folder of its network \
         (test networks have a subfolder)?"
    )]
    NoCookie {
        /// The file.
        path: PathBuf,
    },
    /// The cookie file does not read, or is none.
    #[error("cookie file {path}: {reason}")]
    BadCookie {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// HTTP status 401.
    #[error("the node at {url} refuses {credentials}")]
    WrongCredentials {
        /// Address without credentials.
        url: String,
        /// Which credentials: a path or a user's name, never the secret.
        credentials: String,
    },
    /// HTTP status 403.
    #[error("the node at {url} does not allow {method} from here (see its rpcallowip and rpcwhitelist)")]
    Forbidden {
        /// Address without credentials.
        url: String,
        /// RPC method.
        method: String,
    },
    /// Something answers, but no Bitcoin Core.
    #[error("what answers at {url} is no Bitcoin Core node: {reason}")]
    NotANode {
        /// Address without credentials.
        url: String,
        /// What was answered.
        reason: String,
    },
    /// Error −28.
    #[error("the node is still starting: {message}")]
    WarmingUp {
        /// The node's words.
        message: String,
    },
    /// HTTP status 503 or 500 without words.
    #[error("the node at {url} is overloaded: {message}")]
    Busy {
        /// Address without credentials.
        url: String,
        /// The node's words.
        message: String,
    },
    /// The node follows another network.
    #[error("the node follows {found}, not {expected}")]
    WrongNetwork {
        /// The network asked for.
        expected: Network,
        /// The node's name for its own.
        found: String,
    },
    /// The node's version is not supported.
    #[error("the node is of version {}, which is too old: 25.0 or newer is needed", Version(*version))]
    TooOld {
        /// As in `getnetworkinfo`: major × 10 000 + minor × 100.
        version: u32,
    },
    /// The node has deleted a block that is needed.
    #[error("the node prunes: block {needed} is needed, the lowest that it still has is {}", OrUnknown(*lowest))]
    Pruned {
        /// What was asked for: a height or a hash.
        needed: String,
        /// Lowest height that the node has in full; `None` where it did not say.
        lowest: Option<Height>,
    },
    /// The node has not come as far as we are. Nothing is undone for it: it is waited for.
    #[error("the node is behind: it is at block {node} of {headers}, we are at {ours}")]
    Behind {
        /// Height of the node's tip.
        node: Height,
        /// Height of the best header that it knows.
        headers: Height,
        /// Our height.
        ours: Height,
    },
    /// Not even the first block is the same.
    #[error("the node's chain begins with block {theirs}, ours with {ours}")]
    OtherChain {
        /// The node's genesis.
        theirs: BlockHash,
        /// Ours.
        ours: BlockHash,
    },
    /// The node's chain changed each time that it was read.
    #[error("the node's chain changes faster than it can be read")]
    Unsettled,
    /// The node does not know the block.
    #[error("the node does not know block {hash}")]
    BlockMissing {
        /// What was asked for.
        hash: BlockHash,
    },
    /// The node knows the block's header, but does not have the block.
    #[error("the node does not have block {hash}: {message}")]
    BlockNotDownloaded {
        /// What was asked for.
        hash: BlockHash,
        /// The node's words.
        message: String,
    },
    /// What came is not the block that was asked for.
    #[error("asked for block {hash}, the node sent {fault}")]
    BadBlock {
        /// What was asked for.
        hash: BlockHash,
        /// What came instead.
        fault: BlockFault,
    },
    /// An answer of another form than documented.
    #[error("the node's answer to {method} cannot be read: {reason}")]
    BadAnswer {
        /// RPC method or REST path.
        method: String,
        /// What is wrong.
        reason: String,
    },
    /// An error of the node's that has no variant of its own.
    #[error("the node answers {method} with error {code}: {message}")]
    Rpc {
        /// RPC method.
        method: String,
        /// Bitcoin Core's error code.
        code: i64,
        /// The node's words.
        message: String,
    },
    /// A ZMQ socket cannot be made.
    #[error("ZMQ at {address}: {reason}")]
    Zmq {
        /// Address of the publisher.
        address: String,
        /// The library's words.
        reason: String,
    },
    /// Asked to stop meanwhile.
    #[error("stopped")]
    Stopped,
    /// No thread could be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
    /// Our own chain could not be read.
    #[error(transparent)]
    Owner(OwnerError),
}

impl NodeError {
    /// Whether the same request may succeed a little later, without anybody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            // A node removes its cookie when it ends and writes one when it starts.
            NodeError::Unreachable { .. }
            | NodeError::TimedOut { .. }
            | NodeError::NoCookie { .. }
            | NodeError::WarmingUp { .. }
            | NodeError::Busy { .. } => true,
            NodeError::BadUrl { .. }
            | NodeError::BadCookie { .. }
            | NodeError::WrongCredentials { .. }
            | NodeError::Forbidden { .. }
            | NodeError::NotANode { .. }
            | NodeError::WrongNetwork { .. }
            | NodeError::TooOld { .. }
            | NodeError::Pruned { .. }
            | NodeError::Behind { .. }
            | NodeError::OtherChain { .. }
            | NodeError::Unsettled
            | NodeError::BlockMissing { .. }
            | NodeError::BlockNotDownloaded { .. }
            | NodeError::BadBlock { .. }
            | NodeError::BadAnswer { .. }
            | NodeError::Rpc { .. }
            | NodeError::Zmq { .. }
            | NodeError::Stopped
            | NodeError::Thread(_)
            | NodeError::Owner(_) => false,
        }
    }

    /// Whether whoever follows the node should wait and ask again: the fault is transient, or goes away as the node
    /// catches up.
    #[must_use]
    pub fn is_worth_waiting(&self) -> bool {
        self.is_transient()
            || matches!(
                self,
                NodeError::Behind { .. }
                    | NodeError::Unsettled
                    | NodeError::BlockMissing { .. }
                    | NodeError::BlockNotDownloaded { .. }
            )
    }
}

/// What came instead of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlockFault {
    /// A block of another hash.
    #[error("block {0}")]
    OtherBlock(BlockHash),
    /// Bytes that are no block, or whose Merkle root does not match.
    #[error("bytes that are no block: {0}")]
    NoBlock(DecodeError),
}

struct Version(u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 10_000, self.0 / 100 % 100)
    }
}

struct OrUnknown(Option<Height>);

impl fmt::Display for OrUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(height) => write!(f, "{height}"),
            None => f.write_str("unknown"),
        }
    }
}
