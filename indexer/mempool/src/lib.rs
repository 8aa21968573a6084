//! Watches the node's mempool. ZMQ messages and RPC answers become [`cairn_model::MempoolDelta`]s. A reader that
//! applies them has exactly the node's mempool, each transaction with the coins that it spends.
//!
//! [`MempoolWatcher`] is a state machine without threads. Its owner passes events ([`MempoolWatcher::hear`]), reports
//! the blocks that the index connected and disconnected, and runs it in bounded steps ([`MempoolWatcher::step`]).
//!
//! # How it works
//!
//! The list of the node's transactions is maintained immediately: by messages in order, and by snapshots
//! (`getrawmempool` with its sequence), which repair lost messages. The readers' state follows the list. A listed
//! transaction *arrives* (its bytes are found or fetched, its coins resolved, its parents awaited) and is then added. A
//! transaction that left the list *departs* (the reason is determined) and is then removed. An RPC error loses nothing:
//! the work remains.
//!
//! Readers see transactions relative to *our* tip. Confirmed transactions leave the mempool when our index connects the
//! block, not when the node does. A snapshot is taken only while the node has our tip.

mod admit;
mod arrivals;
mod blocks;
mod body;
mod clock;
mod coins;
mod departures;
mod dismiss;
mod events;
mod fetch;
mod options;
mod pool;
mod queue;
mod reconcile;
mod remembered;
mod resolve;
mod rpc;
mod status;
mod trim;
mod watcher;

pub use coins::{CoinSource, CoinsError, ConfirmedCoin};
pub use options::MempoolOptions;
pub use status::{Corrections, MempoolState, MempoolStatus};
pub use watcher::{IndexTip, MempoolUpdate, MempoolWatcher, WatchError};
