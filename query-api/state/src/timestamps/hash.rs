//! Hashes as they are handed in, and the words of their states.

/// The way that a hash came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimestampSource {
    /// By an operation of the API.
    Api,
    /// By the protocol of calendars.
    Calendar,
}

impl TimestampSource {
    const ALL: [TimestampSource; 2] = [TimestampSource::Api, TimestampSource::Calendar];

    /// Its name in small letters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimestampSource::Api => "api",
            TimestampSource::Calendar => "calendar",
        }
    }

    /// The source with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// State of a hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TimestampState {
    /// It is stored and waits for a batch.
    Pending,
    /// It is in a batch, whose transaction is not sent yet.
    Aggregated,
    /// The transaction of its batch was sent.
    Broadcast,
    /// The transaction is in a block.
    Confirmed,
    /// The block has 6 confirmations.
    Final,
    /// Its batch cannot be anchored. Handing the hash in again puts it into another one.
    Failed,
}

impl TimestampState {
    /// All states, in their order.
    pub const ALL: [TimestampState; 6] = [
        TimestampState::Pending,
        TimestampState::Aggregated,
        TimestampState::Broadcast,
        TimestampState::Confirmed,
        TimestampState::Final,
        TimestampState::Failed,
    ];

    /// Its name in small letters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimestampState::Pending => "pending",
            TimestampState::Aggregated => "aggregated",
            TimestampState::Broadcast => "broadcast",
            TimestampState::Confirmed => "confirmed",
            TimestampState::Final => "final",
            TimestampState::Failed => "failed",
        }
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
