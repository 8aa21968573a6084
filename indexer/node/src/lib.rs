//! A Bitcoin Core node as a source of blocks: its RPC and REST interfaces, its ZMQ notifications, and its best chain,
//! block by block.
//!
//! [`NodeClient`] sends requests, with retries and clear errors. [`ChainFollower`] returns the blocks to disconnect and
//! to connect until we have the node's tip. [`TipWatcher`] reports changes of the node. All of it runs on plain
//! threads.

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
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod reply;
mod retry;
mod status;
mod waiting;
mod wallet;
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
pub use wallet::{FinalizedPsbt, FundedPsbt, Funding, ProcessedPsbt, WalletBalances, WalletCoin, WalletInfo};
pub use watch::{TipWatcher, WatchOptions};
pub use zmq::{Gap, GapCause, NodeEvent, Payload, Topic, ZmqEndpoint, endpoints};
