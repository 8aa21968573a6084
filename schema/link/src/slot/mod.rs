//! Shared index and mempool for requests in this process. The follower writes them, requests read them.

mod index;
mod mempool;
mod projector;

pub use index::{IndexSlot, IndexSource};
pub use mempool::{Absent, MempoolSlot, PinnedMempool};
pub use projector::Projector;
