//! The spans of one request, from its arrival to the rows that it read.

use std::{
    rc::Rc,
    sync::Arc,
    time::{Instant, SystemTime},
};

use axum::http::{HeaderMap, Method, StatusCode};
use cairn_work::Work;
use parking_lot::Mutex;

use super::{
    parent::trace_parent,
    sink::Traces,
    span::{Attribute, Span},
};

tokio::task_local! {
    static CURRENT: Arc<RequestTrace>;
}

/// Methods that are named; any other text is the client's.
const METHODS: [Method; 9] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::OPTIONS,
    Method::PUT,
    Method::DELETE,
    Method::PATCH,
    Method::TRACE,
    Method::CONNECT,
];

/// Most spans of a request, besides its own: calls of tools in one message have spans of their own.
const MAX_SPANS: usize = 256;

/// A request that is traced.
pub(crate) struct RequestTrace {
    traces: Traces,
    request: String,
    trace: [u8; 16],
    root: [u8; 8],
    parent: Option<[u8; 8]>,
    began: Instant,
    /// The time at `began`, in nanoseconds since 1970.
    began_at: u64,
    method: &'static str,
    client: Option<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    route: Option<&'static str>,
    spans: Vec<Span>,
    ids: u64,
    has_ended: bool,
}

impl RequestTrace {
    /// The trace of the request that this task answers, if it is traced.
    pub(crate) fn current() -> Option<Arc<RequestTrace>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Answers a request as part of this trace.
    pub(crate) fn scope<F: Future>(self: &Arc<Self>, answering: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(Arc::clone(self), answering)
    }

    /// Sets the path template.
    pub(crate) fn set_route(&self, route: &'static str) {
        self.state.lock().route = Some(route);
    }

    fn at(&self, at: Instant) -> u64 {
        let nanos = at.saturating_duration_since(self.began).as_nanos();
        self.began_at.saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Adds a span and returns its id. Without a parent it is a part of the request itself.
    pub(crate) fn add(
        &self,
        name: impl Into<String>,
        parent: Option<[u8; 8]>,
        [start, end]: [Instant; 2],
        attributes: Vec<(&'static str, Attribute)>,
    ) -> [u8; 8] {
        let mut state = self.state.lock();
        state.ids += 1;
        // The first ids are those of the trace and the request.
        let id = self.traces.id(&self.request, state.ids + 2);
        let span = Span {
            trace: self.trace,
            id,
            parent: Some(parent.unwrap_or(self.root)),
            name: name.into(),
            is_server: false,
            start: self.at(start),
            end: self.at(end),
            attributes,
            has_failed: false,
        };
        if state.has_ended {
            // Work that nobody waited for any more.
            self.traces.send(vec![span]);
        } else if state.spans.len() < MAX_SPANS {
            state.spans.push(span);
        } else {
            self.traces.count_dropped(1);
        }
        id
    }

    fn end(&self, status: Option<StatusCode>) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.has_ended, true) {
            return;
        }
        let mut attributes = vec![
            ("http.request.method", Attribute::Text(self.method.to_owned())),
            ("cairn.request_id", Attribute::Text(self.request.clone())),
        ];
        let client = self.client.map(|client| ("cairn.client", Attribute::Text(format!("{client:016x}"))));
        let route = state.route.map(|route| ("http.route", Attribute::Text(route.to_owned())));
        let code = status.map(|status| ("http.response.status_code", Attribute::Number(status.as_u16().into())));
        attributes.extend([client, route, code].into_iter().flatten());
        let mut spans = vec![Span {
            trace: self.trace,
            id: self.root,
            parent: self.parent,
            name: state.route.map_or_else(|| self.method.to_owned(), |route| format!("{} {route}", self.method)),
            is_server: true,
            start: self.began_at,
            end: self.at(Instant::now()),
            attributes,
            has_failed: status.is_some_and(|status| status.is_server_error()),
        }];
        spans.append(&mut state.spans);
        self.traces.send(spans);
    }
}

/// The span of a whole request. It ends when it is dropped, then without a status: the client has gone.
pub(crate) struct RequestSpan(pub(crate) Arc<RequestTrace>);

impl RequestSpan {
    /// Begins the span of a request, if it is traced and not a part of another one.
    pub(crate) fn begin(
        traces: Option<&Traces>,
        id: &str,
        began: Instant,
        method: &Method,
        headers: &HeaderMap,
        client: impl FnOnce() -> Option<u64>,
    ) -> Option<Self> {
        let traces = traces.filter(|traces| traces.samples(id))?;
        if RequestTrace::current().is_some() {
            return None;
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let began_at = now.saturating_sub(began.elapsed()).as_nanos();
        let mut trace = [0; 16];
        trace[..8].copy_from_slice(&traces.id(id, 0));
        trace[8..].copy_from_slice(&traces.id(id, 1));
        let parent = trace_parent(headers);
        Some(RequestSpan(Arc::new(RequestTrace {
            traces: traces.clone(),
            request: id.to_owned(),
            trace: parent.map_or(trace, |parent| parent.trace),
            root: traces.id(id, 2),
            parent: parent.map(|parent| parent.span),
            began,
            began_at: u64::try_from(began_at).unwrap_or(u64::MAX),
            method: METHODS.iter().find(|known| *known == method).map_or("_OTHER", Method::as_str),
            client: client(),
            state: Mutex::default(),
        })))
    }

    /// Ends it with the status of the answer.
    pub(crate) fn end(self, status: StatusCode) {
        self.0.end(Some(status));
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

/// Waits for something, and adds a span of the wait if the request is traced.
pub(crate) async fn waited<T>(trace: Option<&RequestTrace>, name: &'static str, wait: impl Future<Output = T>) -> T {
    let Some(trace) = trace else { return wait.await };
    let began = Instant::now();
    let result = wait.await;
    trace.add(name, None, [began, Instant::now()], Vec::new());
    result
}

/// Adds the spans of work when it ends: its time in the queue, the work itself, and its reads of each table.
pub(crate) struct WorkSpan {
    pub(crate) trace: Arc<RequestTrace>,
    /// Name of the operation; `None` if it is work of another protocol.
    pub(crate) operation: Option<&'static str>,
    pub(crate) queued: Instant,
    pub(crate) began: Instant,
    pub(crate) work: Rc<Work>,
}

impl WorkSpan {
    /// Begins the span on the thread of the work, if the request is traced.
    pub(crate) fn begin(
        trace: Option<Arc<RequestTrace>>,
        operation: Option<&'static str>,
        queued: Instant,
        work: &Rc<Work>,
    ) -> Option<Self> {
        trace.map(|trace| WorkSpan { trace, operation, queued, began: Instant::now(), work: Rc::clone(work) })
    }
}

impl Drop for WorkSpan {
    fn drop(&mut self) {
        let (used, trace) = (self.work.used(), &self.trace);
        let micros = u64::try_from(used.processor.as_micros()).unwrap_or(u64::MAX);
        let numbers = [
            ("cairn.rows", used.rows),
            ("cairn.bytes", used.bytes),
            ("cairn.processor_micros", micros),
            ("cairn.answer_bytes", used.answer),
        ];
        let operation = self.operation.map(|name| ("cairn.operation", Attribute::Text(name.to_owned())));
        let numbers = numbers.map(|(name, number)| (name, Attribute::Number(number)));
        trace.add("queue", None, [self.queued, self.began], Vec::new());
        let attributes = operation.into_iter().chain(numbers).collect();
        let work = trace.add("work", None, [self.began, Instant::now()], attributes);
        for reads in self.work.reads() {
            let attributes = vec![
                ("cairn.table", Attribute::Text(reads.table.to_owned())),
                ("cairn.rows", Attribute::Number(reads.rows)),
                ("cairn.bytes", Attribute::Number(reads.bytes)),
            ];
            trace.add(format!("read {}", reads.table), Some(work), [reads.first, reads.last], attributes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicU64, time::Duration};

    use axum::http::HeaderValue;
    use cairn_work::Limits;

    use super::*;

    #[test]
    fn the_spans_of_a_request_are_a_tree() {
        let (traces, queue) = Traces::new(1.0, Arc::new(AtomicU64::new(0)));
        let mut headers = HeaderMap::new();
        let parent = HeaderValue::from_static("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
        headers.insert("traceparent", parent);
        let now = Instant::now();
        let span = RequestSpan::begin(Some(&traces), "7", now, &Method::GET, &headers, || Some(5)).unwrap();
        span.0.set_route("/v1/tx/{txid}");
        let work = Rc::new(Work::within(Limits::NONE).traced(true));
        let part = WorkSpan::begin(Some(Arc::clone(&span.0)), Some("transaction"), now, &work);
        for table in ["txs", "headers", "txs"] {
            work.row_of(table).unwrap();
            work.read(10).unwrap();
        }
        drop(part);
        let late = Arc::clone(&span.0);
        span.end(StatusCode::OK);
        let spans = queue.next(Duration::ZERO).unwrap();
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, ["GET /v1/tx/{txid}", "queue", "work", "read txs", "read headers"]);
        let parents: Vec<_> = spans.iter().map(|span| span.parent).collect();
        let (root, work) = (Some(spans[0].id), Some(spans[2].id));
        assert_eq!(parents[1..], [root, root, work, work]);
        assert_eq!(parents[0].map(hex::encode).as_deref(), Some("b7ad6b7169203331"));
        assert!(spans.iter().all(|span| hex::encode(span.trace) == "0af7651916cd43dd8448eb211c80319c"));
        assert!(spans.iter().all(|span| span.start <= span.end && span.start >= spans[0].start));
        let rows = spans[3].attributes.iter().find(|(name, _)| *name == "cairn.rows");
        assert_eq!(rows.map(|(_, value)| value), Some(&Attribute::Number(2)));
        late.add("work", None, [now, now], Vec::new());
        assert_eq!(queue.next(Duration::ZERO).unwrap().len(), 1);
    }

    #[test]
    fn the_spans_of_a_request_are_bounded() {
        let dropped = Arc::new(AtomicU64::new(0));
        let (traces, queue) = Traces::new(1.0, Arc::clone(&dropped));
        let now = Instant::now();
        let span = RequestSpan::begin(Some(&traces), "7", now, &Method::GET, &HeaderMap::new(), || None).unwrap();
        for _ in 0..MAX_SPANS + 2 {
            span.0.add("work", None, [now, now], Vec::new());
        }
        span.end(StatusCode::OK);
        assert_eq!(queue.next(Duration::ZERO).unwrap().len(), MAX_SPANS + 1);
        assert_eq!(dropped.load(std::sync::atomic::Ordering::Relaxed), 2);
    }

    #[test]
    fn a_client_that_goes_leaves_a_span_without_a_status() {
        let (traces, queue) = Traces::new(1.0, Arc::default());
        let method = Method::from_bytes(b"SECRET").unwrap();
        let headers = HeaderMap::new();
        drop(RequestSpan::begin(Some(&traces), "7", Instant::now(), &method, &headers, || None));
        let spans = queue.next(Duration::ZERO).unwrap();
        assert_eq!((spans.len(), spans[0].name.as_str()), (1, "_OTHER"));
        assert!(spans[0].attributes.iter().all(|(name, _)| *name != "http.response.status_code"));
        assert!(RequestSpan::begin(None, "7", Instant::now(), &method, &headers, || None).is_none());
    }
}
