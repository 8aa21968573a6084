//! What is known of the node and of its mempool, put together for the index's readers.

use std::time::Duration;

use cairn_clock::now_secs;
use cairn_mempool::{MempoolState, MempoolStatus};
use cairn_model::{MempoolWatch, News, Sats, SourceKind, SourceStatus};
use cairn_node::{NodeClient, NodeStatus, Notifications, RetryPolicy};

/// A node that has not answered for so long says nothing about its mempool any more.
const STALE: u64 = 30;
/// Time between two reports that say nothing new, in seconds.
const REPEAT: u64 = 2;
/// Longest wait for the node to say what it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// Says how the source is.
pub(super) struct StatusReports {
    client: NodeClient,
    /// What was said last.
    last: SourceStatus,
    /// Version and lowest feerate of blocks; asked for again when the node comes back, perhaps as another.
    rules: Option<(u32, Option<Sats>)>,
}

impl StatusReports {
    /// Of the node behind `client`.
    pub(super) fn new(client: &NodeClient) -> Self {
        StatusReports {
            client: client.with_retry(RetryPolicy::NONE).with_timeout(PATIENCE),
            last: SourceStatus::default(),
            rules: None,
        }
    }

    /// What is known now; `None` if nothing changed that anybody has to hear of at once.
    pub(super) fn next(&mut self, node: &NodeStatus, mempool: &MempoolStatus) -> Option<SourceStatus> {
        let now = now_secs();
        let (watch, missing) = watch(node, mempool, now);
        let rules = self.rules(node.reachable);
        let status = SourceStatus {
            kind: SourceKind::Node,
            node_version: rules.map(|(version, _)| version),
            block_min_fee: rules.and_then(|(_, fee)| fee),
            at: now,
            reachable: node.reachable,
            last_answer: node.last_answer,
            blocks: node.blocks,
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

    /// What the node says of itself and of the blocks that it would make.
    fn rules(&mut self, reachable: bool) -> Option<(u32, Option<Sats>)> {
        if !reachable {
            self.rules = None;
        } else if self.rules.is_none() {
            // A node that does not say how it fills its blocks is believed to do it as its version does by default.
            let mining = || self.client.mining_info().ok().and_then(|mining| mining.block_min_fee);
            self.rules = self.client.network_info().ok().map(|info| (info.version, mining()));
        }
        self.rules
    }
}

/// How far the copy of the mempool has come, and how many transactions are still to be read.
fn watch(node: &NodeStatus, mempool: &MempoolStatus, now: u64) -> (MempoolWatch, u64) {
    // The look at the node's tip and the watcher of its mempool ask it each in their own time: if one got an answer
    // lately the node is there.
    let old = |at: Option<u64>| at.is_none_or(|at| now.saturating_sub(at) > STALE);
    let silent = !node.reachable && old(node.last_answer) && old(mempool.last_reconciled);
    match mempool.state {
        _ if silent => (MempoolWatch::Stale, mempool.pending),
        MempoolState::Off => (MempoolWatch::Loading, 0),
        MempoolState::Loading { known, total } => (MempoolWatch::Loading, total.saturating_sub(known)),
        MempoolState::Synced | MempoolState::Polling => (MempoolWatch::Synced, mempool.pending),
    }
}
