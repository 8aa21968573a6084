//! How much the watcher may do, hold and wait.

use std::time::Duration;

/// Limits and waiting times. The defaults suit mainnet.
#[derive(Clone, Debug)]
pub struct MempoolOptions {
    /// Transactions asked for in one request. Default 200.
    pub fetch_batch: usize,
    /// Bytes of transactions that one answer should hold: with large ones, fewer are asked for. Default 4 MiB.
    pub fetch_bytes: usize,
    /// Events taken in by one step. Default 2 000.
    pub event_batch: usize,
    /// Transactions resolved, and transactions removed, by one step. Default 1 000.
    pub work_batch: usize,
    /// Longest wait for an answer of the node. Default 10 s.
    pub rpc_timeout: Duration,

    /// Between two snapshots while messages tell of every change. Default 60 s.
    pub reconcile_every: Duration,
    /// Between two snapshots while they do not. Default 2 s.
    pub poll_every: Duration,
    /// Least time between two snapshots, whatever happens. Default 1 s.
    pub reconcile_pause: Duration,
    /// How long a transaction may lack its coins before a snapshot is taken to see whether it is still there, unless
    /// the node's chain is ahead of ours. Default 300 ms.
    pub unresolved_wait: Duration,
    /// How long a node that has started waits for the mempool of its last run: until it is loaded, or for this long,
    /// what a snapshot lacks is not removed. Default 10 min.
    pub load_wait: Duration,

    /// How long a removal is held back in case that what follows explains it. Default 50 ms.
    pub hold: Duration,
    /// The same while transactions that may explain it are not resolved, or our chain is behind the node's. Default 3 s.
    pub longest_hold: Duration,
    /// Least time between two looks at the node's limits because of removals. Default 250 ms.
    pub floor_pause: Duration,
    /// Age at which the node lets transactions expire (`-mempoolexpiry`). Default 336 h.
    pub expiry: Duration,

    /// Events that wait. If there are more they are dropped, and a snapshot repairs it. Default 100 000.
    pub max_queue_events: usize,
    /// Bytes of transactions in them. Default 64 MiB.
    pub max_queue_bytes: usize,
    /// Transactions that were published before anything else told of them. Default 20 000.
    pub max_cached_bodies: usize,
    /// Memory that they may take. Default 32 MiB.
    pub max_cached_bytes: usize,
    /// Memory of transactions that wait for their coins or parents. What is above is fetched again. Default 64 MiB.
    pub max_pending_bytes: usize,
    /// Transactions that left, or were confirmed, whose first-seen times are remembered. Default 200 000.
    pub max_remembered: usize,
    /// Transactions of which it is known that the node holds them. Default 1 000 000.
    pub max_transactions: usize,
    /// Memory of the transactions with readers, in bytes by our estimate; the limits above come on top. Where the node
    /// holds more, those of the lowest feerates (each by itself) are left out, and the status says so. Default 1 GiB.
    pub max_bytes: u64,
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

/// Milliseconds of a waiting time.
pub(crate) fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
