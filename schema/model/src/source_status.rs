//! Status of the source of blocks, for readers in other processes and for health checks.

use serde::{Deserialize, Serialize};

use crate::{Height, Sats};

/// Where blocks come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Block files only.
    #[default]
    Files,
    /// A node.
    Node,
    /// The demo, which generates its blocks and unconfirmed transactions.
    Demo,
}

/// How changes of the node are detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// The node is polled.
    #[default]
    Polling,
    /// The node sends ZMQ messages; it is also polled at long intervals.
    Zmq,
}

/// State of the copy of the node's mempool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MempoolWatch {
    /// Not watched.
    #[default]
    Off,
    /// It is being loaded for the first time.
    Loading,
    /// It is in sync.
    Synced,
    /// It was in sync; the node is unreachable at present.
    Stale,
}

/// State of the source of blocks and of unconfirmed transactions. Times are seconds since 1970 (UTC).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SourceStatus {
    /// Where blocks come from.
    pub kind: SourceKind,
    /// Time of this report.
    pub at: u64,
    /// True if the node answered the last request, or if the files could be read.
    pub reachable: bool,
    /// Time of its last answer.
    pub last_answer: Option<u64>,
    /// Height of the source's best block.
    pub blocks: Option<Height>,
    /// Why the source cannot provide its whole chain, for example because a block file is missing; `None` if it can.
    #[serde(default)]
    pub gap: Option<String>,
    /// Height of the node's best header.
    pub headers: Option<Height>,
    /// The node's version number: 310 000 is v31.0.
    pub node_version: Option<u32>,
    /// Minimum package feerate of the node's block templates, in satoshis per 1 000 virtual bytes, if known.
    pub block_min_fee: Option<Sats>,
    /// How changes of the node are detected.
    pub news: News,
    /// Time of the last ZMQ message.
    pub last_message: Option<u64>,
    /// Possible gaps in the node's messages, including reconnects.
    pub gaps_seen: u64,
    /// Gaps that a snapshot repaired.
    pub gaps_repaired: u64,
    /// Tips found by polling before a message announced them.
    pub tips_found_by_polling: u64,
    /// State of the mempool.
    pub mempool: MempoolWatch,
    /// Transactions of the node's mempool that are listed.
    pub mempool_known: u64,
    /// Transactions of the node's mempool that are not loaded yet.
    pub mempool_missing: u64,
    /// Time of the last full comparison of mempool and node.
    pub mempool_reconciled: Option<u64>,
    /// Differences that full comparisons found and repaired: transactions that no message announced.
    pub mempool_corrections: u64,
    /// The node's mempool sequence up to which the copy is complete.
    pub mempool_sequence: Option<u64>,
}
