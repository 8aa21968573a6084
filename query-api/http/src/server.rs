//! State shared by all requests, and the definition of a service.

use std::{fmt, hash::RandomState, sync::Arc};

use cairn_work::Turns;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use uuid::{NoContext, Timestamp, Uuid};

use crate::{
    access::till::Till,
    answers::document::Document,
    config::HttpConfig,
    contract::{format::TextFormat, offer::AgreedOperation, operation::RegisteredOperation},
    describe::{self, about::About},
    limits::{
        admission::Admission, budget::Budgets, memory::FlightMemory, session::Sessions, stream_slots::StreamSlots,
    },
    requests::{ask::Backend, queue::WorkQueue, snapshot::SnapshotSlot},
    transport::{connections::permits::ConnectionPermits, hosts::Hosts, metrics::Metrics},
};

/// A service: its operations, its backend and its description.
pub struct Service {
    /// Configuration.
    pub config: HttpConfig,
    /// Further configuration that affects answers: a change of this text changes their ETags.
    pub configured: String,
    /// The operations, in listing order.
    pub operations: Vec<RegisteredOperation>,
    /// All operations of the interface. Those that are not implemented return 501.
    pub agreed: Vec<AgreedOperation>,
    /// Implementation of the operations.
    pub backend: Arc<dyn Backend>,
    /// Formats of parameters.
    pub formats: &'static [TextFormat],
    /// The service state: sessions, keys and what users write. `None`: no client has a session or key.
    pub state: Option<cairn_state::State>,
    /// Sell single calls, each by its protocol. Of several payments in a request, that of the first till is used.
    pub tills: Vec<Arc<dyn Till>>,
    /// Milliseconds since 1970, as of the call.
    pub clock: fn() -> u64,
    /// Metrics of requests; keep a clone to read them.
    pub metrics: Arc<Metrics>,
    /// Description of the service.
    pub about: About,
    /// HTML pages besides the reference.
    pub pages: Vec<Document>,
    /// Names of operations that are executed each minute, without parameters, while it is served. Operations find the
    /// answers in [`Call::snapshot`](crate::Call::snapshot).
    pub precomputed: Vec<&'static str>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Service {
    /// The OpenAPI 3.1.0 document, as `/openapi.json` serves it.
    #[must_use]
    pub fn openapi(&self) -> Value {
        describe::openapi::describe(&self.operations, &self.about, self.formats, &self.config)
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// State shared by all requests.
pub(crate) struct Server {
    pub(crate) config: HttpConfig,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) formats: &'static [TextFormat],
    pub(crate) about: About,
    pub(crate) clock: fn() -> u64,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) sessions: Sessions,
    pub(crate) state: Option<cairn_state::State>,
    pub(crate) tills: Vec<Arc<dyn Till>>,
    pub(crate) operations: Vec<RegisteredOperation>,
    /// Operations of the interface that are not implemented.
    pub(crate) planned: Vec<AgreedOperation>,
    pub(crate) admission: Admission,
    /// Permits of connections, over all protocols.
    pub(crate) permits: Arc<ConnectionPermits>,
    /// Threads for admitted requests.
    pub(crate) queue: WorkQueue,
    /// One processor is left to short requests, if there are several.
    pub(crate) turns: Arc<Turns>,
    pub(crate) budgets: Budgets,
    /// Memory of bodies and answers on their way.
    pub(crate) flight: Arc<FlightMemory>,
    /// Makes pseudonyms of clients: a hash with a random key that never leaves the process.
    pub(crate) pseudonyms: RandomState,
    /// Version of the configuration that affects answers.
    pub(crate) state_version: [u8; 16],
    /// URL of the OpenAPI document.
    pub(crate) docs: String,
    pub(crate) documents: Vec<Document>,
    /// Hosts and origins that may change something.
    pub(crate) hosts: Hosts,
    /// Operations that are executed each minute, by index in the list.
    pub(crate) precomputed: Vec<usize>,
    /// Their last answers.
    pub(crate) snapshot: SnapshotSlot,
    /// Open streams of events.
    pub(crate) streams: StreamSlots<oneshot::Sender<()>>,
}

impl Server {
    pub(crate) fn new(service: Service) -> Self {
        service.metrics.prepare(&service.operations);
        let mut documents = describe::documents(&service.operations, &service.about, service.formats, &service.config);
        documents.extend(service.pages);
        let built = |row: &AgreedOperation| {
            service.operations.iter().any(|op| op.paths().any(|path| row.is(op.info.method.name(), path)))
        };
        let planned = service.agreed.into_iter().filter(|row| !built(row)).collect();
        let mut state_version = [0u8; 16];
        let digest = Sha256::digest(format!("{:?}{}", service.config, service.configured).as_bytes());
        state_version.copy_from_slice(&digest[..16]);
        let index_of = |name: &&str| service.operations.iter().position(|op| op.info.name == *name);
        Server {
            precomputed: service.precomputed.iter().filter_map(index_of).collect(),
            snapshot: SnapshotSlot::default(),
            streams: StreamSlots::default(),
            sessions: Sessions::of(service.state.clone(), service.config.session_cache, service.clock),
            state: service.state,
            tills: service.tills,
            queue: WorkQueue::new(),
            permits: ConnectionPermits::new(service.config.max_connections, service.config.max_connections_per_client),
            admission: Admission::new(
                service.config.max_concurrent_reads,
                service.config.max_queued_requests,
                Arc::clone(&service.metrics.queued),
            ),
            turns: Arc::new(Turns::of(processors().saturating_sub(1).max(1))),
            budgets: Budgets::new(service.config.rate_limit),
            flight: FlightMemory::new(),
            pseudonyms: RandomState::new(),
            docs: format!("{}/openapi.json", service.config.base_url),
            hosts: Hosts::new(&service.config.base_url, &service.config.browser_origins),
            config: service.config,
            backend: service.backend,
            formats: service.formats,
            about: service.about,
            clock: service.clock,
            metrics: service.metrics,
            operations: service.operations,
            planned,
            state_version,
            documents,
        }
    }

    /// A new id of a request. It has the time of the server's clock, which no setting of the system makes panic.
    pub(crate) fn new_id(&self) -> Uuid {
        let ms = (self.clock)();
        let nanos = u32::try_from(ms % 1000 * 1_000_000).unwrap_or_default();
        Uuid::new_v7(Timestamp::from_unix(NoContext, ms / 1000, nanos))
    }
}
