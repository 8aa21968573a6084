//! Events for the owner of the index.

use std::fmt;

use cairn_model::{BlockHash, Txid};
use serde::Serialize;

use super::{payload::Payload, topic::Topic};

/// News of the node.
#[derive(Debug)]
pub enum NodeEvent {
    /// The node has a new tip (`hashblock`).
    Tip(BlockHash),
    /// The node has a new tip, and here are its bytes (`rawblock`).
    Block {
        /// Hash of its header.
        hash: BlockHash,
        /// The block. Not checked further.
        raw: Payload,
    },
    /// The node connected a block (`sequence`).
    Connected(BlockHash),
    /// The node disconnected a block (`sequence`).
    Disconnected(BlockHash),
    /// A transaction entered the mempool (`sequence`).
    Accepted {
        /// Which.
        txid: Txid,
        /// Number of this change of the mempool.
        mempool_sequence: u64,
    },
    /// A transaction left the mempool, and not into a block (`sequence`).
    Removed {
        /// Which.
        txid: Txid,
        /// Number of this change of the mempool.
        mempool_sequence: u64,
    },
    /// A transaction entered the mempool or a block (`rawtx`). Not checked.
    Tx(Payload),
    /// Messages of a topic may be missing before the next event: repair by a snapshot taken after this event was
    /// received. Then nothing is lost, as later messages are still to come.
    Gap(Gap),
    /// A look at the node found a tip that no message had announced, or the node answers again after a pause.
    Polling {
        /// The node's tip.
        best: BlockHash,
    },
}

/// Messages of a topic are missing, or may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Which messages.
    pub topic: Topic,
    /// The number that was next; `None` where there was none since the connection was made.
    pub expected: Option<u32>,
    /// The number that came; `None` where the cause is not a message.
    pub got: Option<u32>,
    /// Why.
    pub cause: GapCause,
}

/// Why messages may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapCause {
    /// The connection was just made, for the first time or again: what was published before did not reach us.
    Connected,
    /// The first message since: between connection and subscription some may have been published.
    First,
    /// The numbers skip, repeat or go back.
    Sequence,
    /// A message could not be read.
    Garbled,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topic = self.topic;
        match (self.cause, self.expected, self.got) {
            (GapCause::Connected, ..) => write!(f, "{topic}: connected"),
            (GapCause::First, _, Some(got)) => write!(f, "{topic}: first message has number {got}"),
            (GapCause::Sequence, Some(expected), Some(got)) => write!(f, "{topic}: number {got} instead of {expected}"),
            (GapCause::Garbled, ..) => write!(f, "{topic}: a message could not be read"),
            (GapCause::First | GapCause::Sequence, ..) => write!(f, "{topic}: numbers are missing"),
        }
    }
}
