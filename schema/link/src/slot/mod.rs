//! Index and mempool as requests in this process find them: put in by whoever follows the chain, read by requests.

mod index;
mod mempool;
mod projector;

pub use index::{IndexSlot, IndexSource};
pub use mempool::{Absent, Lock, MempoolSlot};
pub use projector::Projector;
