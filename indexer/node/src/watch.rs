//! Detects changes of the node by ZMQ, and by polling in case that ZMQ fails.

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cairn_model::{BlockHash, CancelToken};
use crossbeam_channel::Receiver;

use crate::{
    client::NodeClient,
    error::NodeError,
    retry::RetryPolicy,
    status::{NodeStatus, SharedStatus},
    zmq::{NodeEvent, Observer, Queue, QueueLimits, Subscriber, ZmqEndpoint},
};

/// Settings of the watcher.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// ZMQ publishers; empty: the node is only polled.
    pub endpoints: Vec<ZmqEndpoint>,
    /// Polling interval without ZMQ messages of new tips.
    pub poll: Duration,
    /// Polling interval with ZMQ.
    pub safety_poll: Duration,
    /// Longest wait for the answer to a poll.
    pub poll_timeout: Duration,
    /// Maximum number of queued events.
    pub queue_events: usize,
    /// Maximum bytes of blocks and transactions in queued events.
    pub queue_bytes: usize,
}

impl Default for WatchOptions {
    fn default() -> Self {
        WatchOptions {
            endpoints: Vec::new(),
            poll: Duration::from_secs(1),
            safety_poll: Duration::from_secs(10),
            poll_timeout: Duration::from_secs(10),
            queue_events: 16_384,
            queue_bytes: 64 << 20,
        }
    }
}

/// Interval of requests for the state of the node's chain without another cause.
const CHAIN_INFO: Duration = Duration::from_secs(30);
/// Delay until the polling interval adapts to ZMQ connections.
const GLANCE: Duration = Duration::from_millis(250);

/// Watches a node on its own threads until dropped.
pub struct TipWatcher {
    events: Receiver<NodeEvent>,
    status: Arc<SharedStatus>,
    cancel: CancelToken,
    poller: Option<JoinHandle<()>>,
    _subscribers: Vec<Subscriber>,
}

impl TipWatcher {
    /// Starts watching. ZMQ connects and reconnects in the background.
    pub fn start(client: &NodeClient, options: WatchOptions) -> Result<Self, NodeError> {
        let cancel = CancelToken::new();
        let limits = QueueLimits { events: options.queue_events, bytes: options.queue_bytes };
        let (queue, events) = Queue::new(limits, cancel.clone());
        let status = Arc::new(SharedStatus::new(client.url(), &options.endpoints));
        let mut subscribers = Vec::new();
        for endpoint in &options.endpoints {
            let observer: Arc<dyn Observer> = Arc::<SharedStatus>::clone(&status);
            subscribers.push(Subscriber::start(endpoint.clone(), queue.clone(), observer, cancel.clone())?);
        }
        let poller = Poller {
            client: client.with_retry(RetryPolicy::NONE).with_timeout(options.poll_timeout).with_cancel(cancel.clone()),
            status: Arc::clone(&status),
            queue,
            cancel: cancel.clone(),
            options,
            chain_asked: None,
            owed: false,
        };
        let poller = thread::Builder::new().name("node poll".to_owned()).spawn(move || poller.run());
        let poller = poller.map_err(NodeError::Thread)?;
        Ok(TipWatcher { events, status, cancel, poller: Some(poller), _subscribers: subscribers })
    }

    /// Events in order. Wait with a timeout: a node may be silent for a long time.
    #[must_use]
    pub fn events(&self) -> &Receiver<NodeEvent> {
        &self.events
    }

    /// The current status.
    #[must_use]
    pub fn status(&self) -> NodeStatus {
        self.status.get()
    }

    /// Reports that a snapshot repaired this many gaps.
    pub fn repaired(&self, gaps: u64) {
        self.status.repaired(gaps);
    }
}

impl Drop for TipWatcher {
    fn drop(&mut self) {
        self.cancel.cancel();
        // The poller may wait for an answer; it ends by itself after that. Subscribers are waited for.
        if let Some(poller) = self.poller.take().filter(JoinHandle::is_finished) {
            // A panic in it has been reported by itself.
            let _ = poller.join();
        }
    }
}

struct Poller {
    client: NodeClient,
    status: Arc<SharedStatus>,
    queue: Queue,
    cancel: CancelToken,
    options: WatchOptions,
    chain_asked: Option<Instant>,
    /// The owner must be informed of a change that polling found.
    owed: bool,
}

impl Poller {
    fn run(mut self) {
        while !self.cancel.is_cancelled() {
            let asked = Instant::now();
            let mut failed = false;
            match self.client.best_block_hash() {
                Ok(best) => self.answered(best),
                Err(NodeError::Stopped) => return,
                Err(error) => {
                    failed = true;
                    if self.status.failed(error.to_string()) {
                        tracing::warn!(%error, "the node does not answer");
                    }
                }
            }
            // ZMQ may come or go meanwhile.
            loop {
                // A node that does not answer is asked more often: health must show when it is back.
                let rarely = self.status.has_zmq() && !failed;
                let pause = if rarely { self.options.safety_poll } else { self.options.poll };
                let Some(left) = pause.checked_sub(asked.elapsed()) else { break };
                if self.cancel.wait(left.min(GLANCE)) {
                    return;
                }
            }
        }
    }

    fn answered(&mut self, best: BlockHash) {
        let (back, news) = self.status.answered(best, self.client.uses_rest());
        if back {
            tracing::info!(url = self.client.url(), "the node answers again");
        }
        self.owed |= back || news;
        // If the queue is full, the owner has enough to look at; this is announced at a later look.
        if self.owed && self.queue.try_send(NodeEvent::Polling { best }) == Ok(true) {
            self.owed = false;
            if news {
                self.status.polled(best);
            }
        }
        if back || news || self.chain_asked.is_none_or(|asked| asked.elapsed() >= CHAIN_INFO) {
            match self.client.chain_info() {
                Ok(info) => {
                    self.chain_asked = Some(Instant::now());
                    self.status.chain(&info);
                }
                Err(error) => tracing::debug!(%error, "the node's chain state is unknown"),
            }
        }
    }
}
