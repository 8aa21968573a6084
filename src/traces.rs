//! Exports the spans of requests to a collector of OpenTelemetry, on a thread of its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use cairn_http::{Span, TraceQueue, Traces, encode_traces};

use crate::exit::Failure;

/// Spans that are sent at once.
const MAX_BATCH: usize = 512;
/// How long spans wait for others at most.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// Interval of looks at whether the server stops.
const LOOK: Duration = Duration::from_millis(100);
/// Time limit of a request to the collector.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of the last requests, when the server stops.
const FLUSH: Duration = Duration::from_millis(800);
/// Least time between two warnings.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(60);

/// The thread that exports spans.
pub(crate) struct Exporter {
    stop: Arc<AtomicBool>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl Exporter {
    /// Starts it: spans of this share of the requests go to the collector; those that cannot be exported are counted.
    ///
    /// # Errors
    /// Fails if no thread can be started.
    pub(crate) fn start(endpoint: &str, share: f64, dropped: Arc<AtomicU64>) -> Result<(Traces, Self), Failure> {
        let (traces, queue) = Traces::new(share, dropped);
        let config = ureq::Agent::config_builder()
            .http_status_as_error(true)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("cairn/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(TIMEOUT))
            .build();
        let (alive, ended) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let sender = Sender { queue, agent: config.into(), url: format!("{endpoint}/v1/traces"), warned: None };
        let stops = Arc::clone(&stop);
        thread::Builder::new().name("traces".to_owned()).spawn(move || {
            let _alive = alive;
            sender.run(&stops);
        })?;
        Ok((traces, Exporter { stop, ended }))
    }

    /// Exports what waits, within a second, and ends.
    pub(crate) fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        if self.ended.recv_timeout(FLUSH) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the collector of traces did not take the last spans in time");
        }
    }
}

struct Sender {
    queue: TraceQueue,
    agent: ureq::Agent,
    url: String,
    warned: Option<Instant>,
}

impl Sender {
    fn run(mut self, stop: &AtomicBool) {
        let (mut batch, mut since): (Vec<Span>, _) = (Vec::new(), Instant::now());
        loop {
            // Read before the queue: what came before the stop is exported.
            let is_last = stop.load(Ordering::Relaxed);
            let (is_empty, is_closed) = match self.queue.next(if is_last { Duration::ZERO } else { LOOK }) {
                Ok(spans) => {
                    if batch.is_empty() {
                        since = Instant::now();
                    }
                    batch.extend(spans);
                    (false, false)
                }
                Err(error) => (true, error == RecvTimeoutError::Disconnected),
            };
            let ends = is_closed || (is_last && is_empty);
            if batch.len() >= MAX_BATCH || (!batch.is_empty() && (ends || since.elapsed() >= MAX_DELAY)) {
                self.send(&batch);
                batch.clear();
            }
            if ends {
                return;
            }
        }
    }

    fn send(&mut self, batch: &[Span]) {
        let request = self.agent.post(&self.url).header("Content-Type", "application/x-protobuf");
        let Err(error) = request.send(encode_traces(batch).as_slice()) else { return };
        self.queue.count_dropped(batch.len());
        if self.warned.is_none_or(|at| at.elapsed() >= BETWEEN_WARNINGS) {
            self.warned = Some(Instant::now());
            tracing::warn!(%error, "the collector of traces (--otlp-endpoint) does not take spans; they are dropped");
        }
    }
}
