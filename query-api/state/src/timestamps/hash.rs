//! Hashes as they are handed in, and the words of their states.

use crate::named::named;

named! {
    /// The way that a hash came in.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum TimestampSource {
        /// By an operation of the API.
        Api = "api",
        /// By the protocol of calendars.
        Calendar = "calendar",
    }
}

named! {
    /// State of a hash.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum TimestampState {
        /// It is stored and waits for a batch.
        Pending = "pending",
        /// It is in a batch, whose transaction is not sent yet.
        Aggregated = "aggregated",
        /// The transaction of its batch was sent.
        Broadcast = "broadcast",
        /// The transaction is in a block.
        Confirmed = "confirmed",
        /// The block has 6 confirmations.
        Final = "final",
        /// Its batch cannot be anchored. Handing the hash in again puts it into another one.
        Failed = "failed",
    }
}

/// A hash to anchor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTimestamp {
    /// The network in whose chain it is to be anchored.
    pub network: &'static str,
    /// The hash: 1 to [`crate::MAX_DIGEST_BYTES`] bytes.
    pub hash: Vec<u8>,
    /// The way that it came in.
    pub source: TimestampSource,
}
