//! Records of hashes.

use crate::timestamps::{
    batch::{Batch, BatchState},
    hash::{TimestampSource, TimestampState},
};

/// A hash that was handed in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimestampRecord {
    /// The hash.
    pub hash: Vec<u8>,
    /// The random bytes behind it.
    pub nonce: [u8; 16],
    /// SHA-256 of hash and nonce: a leaf of the tree.
    pub commitment: [u8; 32],
    /// The way that it came in.
    pub source: TimestampSource,
    /// When it was handed in, in seconds since 1970.
    pub submitted_at: u64,
    /// Its batch and its position there; `None` while it waits for one.
    pub batch: Option<(Batch, u32)>,
}

impl TimestampRecord {
    /// Its state.
    #[must_use]
    pub fn state(&self) -> TimestampState {
        match self.batch.as_ref().map(|(batch, _)| batch.state) {
            None => TimestampState::Pending,
            Some(BatchState::Aggregated) => TimestampState::Aggregated,
            Some(BatchState::Broadcast) => TimestampState::Broadcast,
            Some(BatchState::Confirmed) => TimestampState::Confirmed,
            Some(BatchState::Final) => TimestampState::Final,
            Some(BatchState::Failed) => TimestampState::Failed,
        }
    }
}

/// Hashes of a network that wait for a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitingTimestamps {
    /// Their number, as far as it was counted.
    pub count: u64,
    /// When the oldest was handed in, in seconds since 1970; `None` if nothing waits.
    pub oldest: Option<u64>,
}

/// Result of handing in a hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubmittedTimestamp {
    /// Its record.
    pub record: TimestampRecord,
    /// True if it was accepted now; false if it was known.
    pub is_new: bool,
}
