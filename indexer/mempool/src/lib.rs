//! The node's mempool, watched: its ZMQ messages and RPC answers become [`cairn_model::MempoolDelta`]s, so that whoever
//! applies them holds exactly the node's mempool, every transaction with the coins that it spends.
//!
//! [`MempoolWatcher`] is a state machine without threads. Its owner hands it events ([`MempoolWatcher::hear`]), tells it
//! what its own index connected and disconnected, and lets it work in bounded steps ([`MempoolWatcher::step`]).
//!
//! # How it works
//!
//! Which transactions the node holds is one question, and is answered at once: by messages in their order, and by
//! snapshots (`getrawmempool` with its sequence), which repair what messages did not bring. What readers see follows it:
//! a transaction that is known to be there *arrives* (its bytes are found or fetched, its coins resolved, its parents
//! awaited) and is then added; one that is known to have left *departs* (the reason is found out) and is then removed.
//! An RPC error therefore loses nothing: the work remains.
//!
//! Readers see transactions relative to *our* tip. What a block holds leaves the mempool when our index has connected
//! the block, and not when the node has; a snapshot is only taken while the node's tip is ours.

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
