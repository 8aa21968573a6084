//! Status of the node and its mempool, for readers of the index.

use std::time::Duration;

use cairn_clock::now_secs;
use cairn_mempool::{MempoolState, MempoolStatus};
use cairn_model::{MempoolWatch, News, Sats, SourceKind, SourceStatus};
use cairn_node::{NodeClient, NodeStatus, Notifications, RetryPolicy};

/// After this time without an answer, the state of the node's mempool is unknown.
const STALE: u64 = 30;
/// Interval of reports without changes, in seconds.
const REPEAT: u64 = 2;
/// Timeout for the node's version and settings.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct StatusReports {
    client: NodeClient,
    last: SourceStatus,
    /// Version and minimum feerate of blocks; requested again when the node comes back, perhaps as another version.
    rules: Option<(u32, Option<Sats>)>,
}

impl StatusReports {
    pub(super) fn new(client: &NodeClient) -> Self {
        StatusReports {
            client: client.with_retry(RetryPolicy::NONE).with_timeout(PATIENCE),
            last: SourceStatus::default(),
            rules: None,
        }
    }

    /// The current status; `None` if there is no change that must be published at once. `ails`: for how many seconds
    /// the node's answers about its chain have been of no use.
    pub(super) fn next(&mut self, node: &NodeStatus, mempool: &MempoolStatus, ails: u64) -> Option<SourceStatus> {
        let now = now_secs();
        let (watch, missing) = watch(node, mempool, ails, now);
        let rules = self.rules(node.reachable);
        let status = SourceStatus {
            kind: SourceKind::Node,
            node_version: rules.map(|(version, _)| version),
            block_min_fee: rules.and_then(|(_, fee)| fee),
            at: now,
            reachable: node.reachable,
            last_answer: node.last_answer,
            blocks: node.blocks,
            gap: None,
            headers: node.headers,
            news: if node.notifications == Notifications::Zmq { News::Zmq } else { News::Polling },
            last_message: node.last_message,
            gaps_seen: node.gaps_seen,
            gaps_repaired: node.gaps_seen.min(node.gaps_repaired),
            tips_found_by_polling: node.tips_found_by_polling,
            mempool: watch,
            mempool_known: mempool.transactions,
            mempool_missing: missing,
            mempool_reconciled: mempool.last_reconciled,
            mempool_corrections: mempool.corrections.added + mempool.corrections.removed,
            mempool_sequence: mempool.node_sequence,
        };
        if status.mempool == MempoolWatch::Stale && self.last.mempool != MempoolWatch::Stale {
            tracing::warn!("the node is silent: unconfirmed transactions are no longer shown");
        }
        let urgent = (status.mempool, status.reachable, status.news, status.kind)
            != (self.last.mempool, self.last.reachable, self.last.news, self.last.kind);
        if !urgent && now < self.last.at + REPEAT {
            return None;
        }
        self.last = status.clone();
        Some(status)
    }

    /// The node's version and its settings for block templates.
    fn rules(&mut self, reachable: bool) -> Option<(u32, Option<Sats>)> {
        if !reachable {
            self.rules = None;
        } else if self.rules.is_none() {
            // If the node does not report its settings, the defaults of its version are assumed.
            let mining = || self.client.mining_info().ok().and_then(|mining| mining.block_min_fee);
            self.rules = self.client.network_info().ok().map(|info| (info.version, mining()));
        }
        self.rules
    }
}

/// State of the copy of the mempool, and the number of transactions still to be read.
fn watch(node: &NodeStatus, mempool: &MempoolStatus, ails: u64, now: u64) -> (MempoolWatch, u64) {
    // The tip watcher and the mempool watcher send requests independently: if one got an answer recently, the node is
    // up.
    let old = |at: Option<u64>| at.is_none_or(|at| now.saturating_sub(at) > STALE);
    let silent = ails > STALE || !node.reachable && old(node.last_answer) && old(mempool.last_reconciled);
    match mempool.state {
        _ if silent => (MempoolWatch::Stale, mempool.pending),
        MempoolState::Off => (MempoolWatch::Loading, 0),
        MempoolState::Loading { known, total } => (MempoolWatch::Loading, total.saturating_sub(known)),
        MempoolState::Synced | MempoolState::Polling => (MempoolWatch::Synced, mempool.pending),
    }
}
