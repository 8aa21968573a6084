//! What the process that watches the node knows of it, for readers in other processes and for health checks.

use serde::{Deserialize, Serialize};

use crate::{Height, Sats};

/// Where blocks come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Block files alone.
    #[default]
    Files,
    /// A node.
    Node,
    /// The demo, which makes its blocks and unconfirmed transactions itself.
    Demo,
}

/// How news of the node come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// The node is asked again and again.
    #[default]
    Polling,
    /// The node tells over ZMQ; it is asked now and then for safety.
    Zmq,
}

/// How far the copy of the node's mempool has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MempoolWatch {
    /// Not watched.
    #[default]
    Off,
    /// Its transactions are being read for the first time.
    Loading,
    /// It is followed.
    Synced,
    /// It was followed; the node cannot be asked at present.
    Stale,
}

/// State of the source of blocks and of unconfirmed transactions. Times are seconds since 1970 (UTC).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SourceStatus {
    /// Where blocks come from.
    pub kind: SourceKind,
    /// When this was said.
    pub at: u64,
    /// Whether the node answered the last request; true for files that could be read.
    pub reachable: bool,
    /// When it last answered.
    pub last_answer: Option<u64>,
    /// Height of the best block that the source has.
    pub blocks: Option<Height>,
    /// Height of the best header that the node knows.
    pub headers: Option<Height>,
    /// The node's version as it writes it itself: 310 000 is v31.0.
    pub node_version: Option<u32>,
    /// Lowest feerate of a package in the node's own blocks, in satoshis per 1 000 virtual bytes, if it tells.
    pub block_min_fee: Option<Sats>,
    /// How news of the node come.
    pub news: News,
    /// When the last ZMQ message came.
    pub last_message: Option<u64>,
    /// Possible holes in the node's messages, connections included.
    pub gaps_seen: u64,
    /// Those that a snapshot repaired.
    pub gaps_repaired: u64,
    /// Tips that a look at the node found before any message told of them.
    pub tips_found_by_polling: u64,
    /// How far the mempool has come.
    pub mempool: MempoolWatch,
    /// Transactions of the node's mempool that are known.
    pub mempool_known: u64,
    /// Transactions of the node's mempool that are still to be read.
    pub mempool_missing: u64,
    /// When mempool and node were last compared as a whole.
    pub mempool_reconciled: Option<u64>,
    /// Differences that all comparisons found and repaired: transactions that no message had told of.
    pub mempool_corrections: u64,
    /// Number of the node's mempool changes up to which all is known.
    pub mempool_sequence: Option<u64>,
}
