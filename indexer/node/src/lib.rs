//! A Bitcoin Core node as a source of blocks: its RPC and REST interfaces, its ZMQ notifications, and its best chain
//! followed block by block.
//!
//! [`NodeClient`] asks, with retries and errors in words. [`ChainFollower`] says what to undo and what to connect, block by
//! block, until we are where the node is. [`TipWatcher`] says when to ask it again. All of it runs on plain threads.

mod amount;
mod answers;
mod auth;
mod blocks;
mod calls;
mod chain;
mod check;
mod client;
mod error;
mod feed;
mod follow;
mod http;
mod retry;
mod status;
mod watch;
mod zmq;

pub use answers::{
    ChainInfo, EntryFees, MempoolEntry, MempoolInfo, MiningInfo, NetworkInfo, RawMempool, TxOutSetInfo, ZmqNotification,
};
pub use auth::NodeAuth;
pub use blocks::NodeBlock;
pub use chain::{BlockAt, ChainUpdate, HeaderChain, OurChain};
pub use check::{NodeInfo, core_name};
pub use client::{NodeClient, NodeConfig};
pub use error::{BlockFault, NodeError, OwnerError};
pub use feed::FetchOptions;
pub use follow::{ChainFollower, ChainStep};
pub use retry::RetryPolicy;
pub use status::{NodeStatus, Notifications, TopicStatus};
pub use watch::{TipWatcher, WatchOptions};
pub use zmq::{Gap, GapCause, NodeEvent, Payload, Topic, ZmqEndpoint, endpoints};
