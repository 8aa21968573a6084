//! When to look at the node again: ZMQ, and a look now and then in case that it fails us.

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
    zmq::{Event, Observer, Queue, QueueLimits, Subscriber, ZmqEndpoint},
};

/// How the node is watched.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// ZMQ publishers; empty: the node is only polled.
    pub endpoints: Vec<ZmqEndpoint>,
    /// Between two looks at the node while no ZMQ tells of tips.
    pub poll: Duration,
    /// Between two looks at the node while ZMQ does.
    pub safety_poll: Duration,
    /// Longest wait for the answer to a look.
    pub poll_timeout: Duration,
    /// Events that wait to be taken.
    pub queue_events: usize,
    /// Bytes of blocks and transactions in them.
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

/// How often height and state of the node's chain are asked for when nothing else makes us.
const CHAIN_INFO: Duration = Duration::from_secs(30);
/// How soon after ZMQ comes or goes the pace of looks follows.
const GLANCE: Duration = Duration::from_millis(250);

/// Watches a node on threads of its own until dropped.
pub struct TipWatcher {
    events: Receiver<Event>,
    status: Arc<SharedStatus>,
    cancel: CancelToken,
    poller: Option<JoinHandle<()>>,
    _subscribers: Vec<Subscriber>,
}

impl TipWatcher {
    /// Begins to watch. ZMQ connects in the background, as often as it takes.
    ///
    /// # Errors
    /// An endpoint's address is none, or no thread can be started.
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

    /// What happens, in order. Wait for it with a timeout: a node may be silent for long.
    #[must_use]
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }

    /// What is known at present.
    #[must_use]
    pub fn status(&self) -> NodeStatus {
        self.status.get()
    }

    /// Tells that so many gaps were repaired by a snapshot.
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
    /// The owner is to be told of what a look found.
    owed: bool,
}

impl Poller {
    fn run(mut self) {
        while !self.cancel.is_cancelled() {
            let asked = Instant::now();
            match self.client.best_block_hash() {
                Ok(best) => self.answered(best),
                Err(NodeError::Stopped) => return,
                Err(error) => {
                    if self.status.failed(error.to_string()) {
                        tracing::warn!(%error, "the node does not answer");
                    }
                }
            }
            // ZMQ may come or go meanwhile.
            loop {
                let pause = if self.status.has_zmq() { self.options.safety_poll } else { self.options.poll };
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
        // If the queue is full, the owner has enough to look at; this is told at a later look.
        if self.owed && self.queue.try_send(Event::Polling { best }) == Ok(true) {
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
