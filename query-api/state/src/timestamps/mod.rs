//! Hashes to be anchored in the chain: they are accepted durably, collected into batches, and each batch is followed
//! from its transaction to a final block. Servers write hashes; the one process that holds the lease writes the rest.

mod anchorer;
mod batch;
mod batches;
pub(crate) mod cache;
mod candidate;
mod hash;
mod lease;
mod lookup;
pub(crate) mod queue;
mod record;
mod report;
mod submit;

pub use anchorer::{AnchorerReport, WalletState};
pub use batch::{Batch, BatchConfirmation, BatchNodes, BatchState, BatchTree, MAX_BATCH_HASHES};
pub use candidate::{Candidate, NewCandidate};
pub use hash::{NewTimestamp, TimestampSource, TimestampState};
pub use lease::AnchorLease;
pub use queue::MAX_QUEUED_TIMESTAMPS;
pub use record::{SubmittedTimestamp, TimestampRecord, WaitingTimestamps};
