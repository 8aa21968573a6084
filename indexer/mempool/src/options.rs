//! Limits and timeouts of the watcher.

use std::time::Duration;

/// Limits and timeouts. The defaults suit mainnet.
#[derive(Clone, Debug)]
pub struct MempoolOptions {
    /// Transactions requested at once. Default: 200.
    pub fetch_batch: usize,
    /// Target size of one answer in bytes: fewer large transactions are requested at once. Default: 4 MiB.
    pub fetch_bytes: usize,
    /// Events processed by one step. Default: 2 000.
    pub event_batch: usize,
    /// Transactions resolved, and transactions removed, by one step. Default: 1 000.
    pub work_batch: usize,
    /// Timeout of requests to the node. Default: 10 s.
    pub rpc_timeout: Duration,

    /// Interval of snapshots while messages announce every change. Default: 60 s.
    pub reconcile_every: Duration,
    /// Interval of snapshots without such messages. Default: 2 s.
    pub poll_every: Duration,
    /// Minimum interval of snapshots. Default: 1 s.
    pub reconcile_pause: Duration,
    /// Time for which a transaction may lack its coins before a snapshot checks that it is still there, unless the
    /// node's chain is ahead of ours. Default: 300 ms.
    pub unresolved_wait: Duration,
    /// Maximum time for a started node to load the mempool of its last run. Until it is loaded, or this time has
    /// passed, transactions that a snapshot lacks are not removed. Default: 10 min.
    pub load_wait: Duration,

    /// Time for which a removal is held back, because a later message may explain it. Default: 50 ms.
    pub hold: Duration,
    /// The same while transactions that may explain it are not resolved, or our chain is behind the node's. Default: 3
    /// s.
    pub longest_hold: Duration,
    /// Minimum interval of requests for the node's limits because of removals. Default: 250 ms.
    pub floor_pause: Duration,
    /// Age at which the node expires transactions (`-mempoolexpiry`). Default: 336 h.
    pub expiry: Duration,

    /// Maximum number of queued events. Further events are dropped, and a snapshot repairs it. Default: 100 000.
    pub max_queue_events: usize,
    /// Maximum bytes of transactions in queued events. Default: 64 MiB.
    pub max_queue_bytes: usize,
    /// Maximum number of published transactions without another announcement. Default: 20 000.
    pub max_cached_bodies: usize,
    /// Maximum memory of these transactions. Default: 32 MiB.
    pub max_cached_bytes: usize,
    /// Maximum memory of transactions that wait for coins or parents. Further ones are fetched again. Default: 64 MiB.
    pub max_pending_bytes: usize,
    /// Departed or confirmed transactions whose first-seen times are stored. Default: 200 000.
    pub max_remembered: usize,
    /// Maximum number of listed transactions of the node. Default: 1 000 000.
    pub max_transactions: usize,
    /// Maximum estimated memory of the transactions of readers in bytes, in addition to the limits above. If the node
    /// has more, those with the lowest individual feerates are left out, and the status says so. Default: 1 GiB.
    pub max_bytes: u64,
}

impl MempoolOptions {
    /// Returns limits that together keep the mempool within `memory` bytes. Transactions are shared with readers, who
    /// also have indexes: their limit (`MempoolLimits::within`) is reached first, and answers say so. The rest is for
    /// arrivals, for transactions that are left out, and for those that have left. No limit is above its default.
    #[must_use]
    pub fn within(memory: u64) -> Self {
        /// Estimated memory of a listed transaction that is left out, or of a stored first-seen time, with a margin.
        const LISTED: u64 = 190;
        let default = MempoolOptions::default();
        let part = |of: u64| usize::try_from(memory / of).unwrap_or(usize::MAX);
        MempoolOptions {
            max_queue_bytes: default.max_queue_bytes.min(part(24)),
            // Two hashes and a number each, besides the transactions.
            max_queue_events: default.max_queue_events.min(part(32 * 96)),
            max_cached_bytes: default.max_cached_bytes.min(part(24)),
            max_pending_bytes: default.max_pending_bytes.min(part(24)),
            max_remembered: default.max_remembered.min(part(16 * LISTED)),
            // Either published, which the next limit counts, or left out.
            max_transactions: default.max_transactions.min(part(8 * LISTED)),
            max_bytes: default.max_bytes.min(memory / 2),
            ..default
        }
    }
}

impl Default for MempoolOptions {
    fn default() -> Self {
        MempoolOptions {
            fetch_batch: 200,
            fetch_bytes: 4 << 20,
            event_batch: 2_000,
            work_batch: 1_000,
            rpc_timeout: Duration::from_secs(10),
            reconcile_every: Duration::from_secs(60),
            poll_every: Duration::from_secs(2),
            reconcile_pause: Duration::from_secs(1),
            unresolved_wait: Duration::from_millis(300),
            load_wait: Duration::from_secs(600),
            hold: Duration::from_millis(50),
            longest_hold: Duration::from_secs(3),
            floor_pause: Duration::from_millis(250),
            expiry: Duration::from_secs(336 * 3600),
            max_queue_events: 100_000,
            max_queue_bytes: 64 << 20,
            max_cached_bodies: 20_000,
            max_cached_bytes: 32 << 20,
            max_pending_bytes: 64 << 20,
            max_remembered: 200_000,
            max_transactions: 1_000_000,
            max_bytes: 1 << 30,
        }
    }
}

/// A duration in milliseconds.
pub(crate) fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_together_stay_within_the_memory() {
        let plenty = MempoolOptions::within(1 << 40);
        assert_eq!((plenty.max_bytes, plenty.max_transactions), (1 << 30, 1_000_000));
        for memory in [32u64 << 20, 512 << 20] {
            let limits = MempoolOptions::within(memory);
            let buffers = limits.max_queue_bytes + limits.max_cached_bytes + limits.max_pending_bytes;
            let entries = 96 * limits.max_queue_events + 190 * limits.max_remembered;
            // A transaction that is published takes more than one that is only listed.
            let listed = 190 * limits.max_transactions;
            assert!(limits.max_bytes + (buffers + entries + listed) as u64 <= memory, "{limits:?}");
            assert!(limits.max_bytes >= memory / 2 && limits.max_transactions > 20_000, "{limits:?}");
        }
    }
}
