//! Errors of the node, with messages for operators.

use std::{fmt, path::PathBuf, time::Duration};

use cairn_model::{BlockHash, ChainParams, Height, Network};
use cairn_sources::DecodeError;

/// Errors of the owner of the local chain.
pub type OwnerError = Box<dyn std::error::Error + Send + Sync>;

/// Why a request to the node failed, or why the node cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The URL is invalid. The message does not repeat it, because it may contain a password.
    #[error("invalid URL of the node: {reason}")]
    BadUrl {
        /// Description of the error.
        reason: &'static str,
    },
    /// No connection, or it breaks before the answer is complete.
    #[error("no answer from the node at {url}: {reason}")]
    Unreachable {
        /// Address without credentials.
        url: String,
        /// Message of the operating system.
        reason: String,
    },
    /// The answer took too long.
    #[error("the node at {url} did not answer {method} within {} s", limit.as_secs())]
    TimedOut {
        /// Address without credentials.
        url: String,
        /// RPC method or REST path.
        method: String,
        /// The time limit.
        limit: Duration,
    },
    /// The cookie file is absent.
    #[error(
        "cookie file {path}: not found; check that the node is running and that this is the data folder of its network \
         (test networks have a subfolder)"
    )]
    NoCookie {
        /// The file.
        path: PathBuf,
    },
    /// The cookie file cannot be read, or has no cookie.
    #[error("cookie file {path}: {reason}")]
    BadCookie {
        /// The file.
        path: PathBuf,
        /// Description of the error.
        reason: String,
    },
    /// HTTP status 401.
    #[error("the node at {url} rejects {credentials}")]
    WrongCredentials {
        /// Address without credentials.
        url: String,
        /// Which credentials: a path or a user's name, never the secret.
        credentials: String,
    },
    /// HTTP status 403.
    #[error("the node at {url} does not allow {method}; check its rpcallowip and rpcwhitelist")]
    Forbidden {
        /// Address without credentials.
        url: String,
        /// RPC method.
        method: String,
    },
    /// The server is not Bitcoin Core.
    #[error("the server at {url} is not Bitcoin Core: {reason}")]
    NotANode {
        /// Address without credentials.
        url: String,
        /// The answer.
        reason: String,
    },
    /// Error −28.
    #[error("the node is still starting: {message}")]
    WarmingUp {
        /// Message of the node.
        message: String,
    },
    /// HTTP status 503, or 429, 500, 502 or 504 without a message of the node.
    #[error("the node at {url} is overloaded: {message}")]
    Busy {
        /// Address without credentials.
        url: String,
        /// Message of the node.
        message: String,
    },
    /// The node is on another network.
    #[error("the node is on {found}, not on {expected}")]
    WrongNetwork {
        /// The expected network.
        expected: Network,
        /// The node's network, as the node names it.
        found: String,
    },
    /// The node is on another signet.
    #[error("the node is on {}, not on {}", Signet(found), Signet(expected.challenge_hex().unwrap_or_default()))]
    WrongSignet {
        /// The expected signet.
        expected: ChainParams,
        /// The challenge of the node's signet, as the node reports it.
        found: String,
    },
    /// The node's version is not supported.
    #[error("node version {} is too old; 25.0 or newer is required", Version(*version))]
    TooOld {
        /// As in `getnetworkinfo`: major × 10 000 + minor × 100.
        version: u32,
    },
    /// The node has deleted a block that is needed.
    #[error("the node is pruned: block {needed} is needed, its lowest block is {}", OrUnknown(*lowest))]
    Pruned {
        /// The requested height or hash.
        needed: String,
        /// Lowest height that the node has in full; `None` if unknown.
        lowest: Option<Height>,
    },
    /// The node is behind the index. The index is not unwound; the follower waits.
    #[error("the node is behind: it is at block {node} of {headers}, the index is at {ours}")]
    Behind {
        /// Height of the node's tip.
        node: Height,
        /// Height of its best header.
        headers: Height,
        /// Height of the index.
        ours: Height,
    },
    /// The genesis blocks differ.
    #[error("the node's chain begins with block {theirs}, the index with {ours}")]
    OtherChain {
        /// The node's genesis.
        theirs: BlockHash,
        /// The index's genesis.
        ours: BlockHash,
    },
    /// The node's chain changed on every attempt to read it.
    #[error("the node's chain changes faster than it can be read")]
    Unsettled,
    /// The node does not know the block.
    #[error("the node does not know block {hash}")]
    BlockMissing {
        /// The requested block.
        hash: BlockHash,
    },
    /// The node knows the block's header, but does not have the block.
    #[error("the node does not have block {hash}: {message}")]
    BlockNotDownloaded {
        /// The requested block.
        hash: BlockHash,
        /// Message of the node.
        message: String,
    },
    /// The node sent something other than the requested block.
    #[error("the node sent {fault} instead of block {hash}")]
    BadBlock {
        /// The requested block.
        hash: BlockHash,
        /// The node's answer.
        fault: BlockFault,
    },
    /// The answer does not have the documented form.
    #[error("invalid answer of the node to {method}: {reason}")]
    BadAnswer {
        /// RPC method or REST path.
        method: String,
        /// Description of the error.
        reason: String,
    },
    /// Any other error of the node.
    #[error("the node answered {method} with error {code}: {message}")]
    Rpc {
        /// RPC method.
        method: String,
        /// Bitcoin Core's error code.
        code: i64,
        /// Message of the node.
        message: String,
    },
    /// A ZMQ socket cannot be created.
    #[error("ZMQ at {address}: {reason}")]
    Zmq {
        /// Address of the publisher.
        address: String,
        /// Message of the library.
        reason: String,
    },
    /// The work was cancelled.
    #[error("stopped")]
    Stopped,
    /// No thread could be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
    /// The local chain could not be read.
    #[error(transparent)]
    Owner(OwnerError),
}

impl NodeError {
    /// True if the same request may succeed later without any change.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            // A node removes its cookie when it stops and writes a new one when it starts.
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
            | NodeError::WrongSignet { .. }
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

    /// True if the node is at fault or away: it may be another one later, or answer otherwise. A follower that has once
    /// been at its tip waits for that.
    #[must_use]
    pub fn is_of_node(&self) -> bool {
        !matches!(
            self,
            NodeError::BadUrl { .. }
                | NodeError::Zmq { .. }
                | NodeError::Stopped
                | NodeError::Thread(_)
                | NodeError::Owner(_)
        )
    }

    /// True if the follower should wait and retry: the error is transient, or disappears as the node catches up.
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

/// The node's answer instead of the requested block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlockFault {
    /// Another block.
    #[error("block {0}")]
    OtherBlock(BlockHash),
    /// Bytes that are not a block, or whose Merkle root does not match.
    #[error("an invalid block: {0}")]
    NoBlock(DecodeError),
}

struct Version(u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 10_000, self.0 / 100 % 100)
    }
}

/// Names a signet by its challenge.
struct Signet<'a>(&'a str);

/// Characters of a challenge that a message shows.
const SHOWN_CHARACTERS: usize = 220;

impl fmt::Display for Signet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = ChainParams::from(Network::Signet).challenge_hex();
        let is_default = default.is_some_and(|default| default.eq_ignore_ascii_case(self.0));
        f.write_str(if is_default { "the default signet, with challenge " } else { "the signet with challenge " })?;
        match self.0.char_indices().nth(SHOWN_CHARACTERS) {
            Some((at, _)) => write!(f, "{}…", &self.0[..at]),
            None => f.write_str(self.0),
        }
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
