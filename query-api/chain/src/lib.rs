//! The chain as one request of another protocol sees it.
//!
//! [`Chain::read`] pins index and mempool at one tip, and gives a reader ([`Pinned`]) to the caller. Bytes of
//! transactions that only the node has, if there are no block files, are fetched while nothing is pinned; then the
//! caller reads again.

mod history;
mod merkle;
mod node;
mod pinned;
mod wanted;
mod whole;

pub use history::{Entry, Script};
pub use merkle::{branch, parent, root};
pub use node::{BroadcastLimits, NodeAccess, Question, Refused, Unreachable};
pub use pinned::{Chain, Pinned};
pub use whole::{At, Whole};
