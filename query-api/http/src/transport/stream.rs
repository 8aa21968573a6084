//! Operations as streams of server-sent events. A stream asks its operation again when there may be something new, from
//! the event on that it sent last: so parameters, limits and access are those of the operation, and a stream costs
//! nothing while nothing happens.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::{Stream, stream};
use serde_json::value::RawValue;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};
use uuid::Uuid;

use crate::{
    answers::{code::ErrorCode, error::ApiError},
    contract::{cost::Cost, operation::StreamSpec},
    limits::client::Client,
    requests::{http::dispatch, work::STREAM_RETRY_SECS},
    server::Server,
};

/// How often it is looked whether there may be something new.
const LOOK: Duration = Duration::from_millis(250);
/// It is asked at least this often, in case a look missed something.
const ASK: Duration = Duration::from_secs(30);
/// Interval of comments that keep the connection alive, for proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Time that clients should wait before they connect again, in milliseconds.
const RETRY: Duration = Duration::from_secs(3);
/// Longest id of an event that is looked at, in characters: no event has a longer one.
const MAX_ID: usize = 64;
/// Longest answer of an operation that is streamed, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// True if a request asks for a stream of events.
pub(super) fn is_wanted(method: &Method, headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(','));
    method == Method::GET
        && kinds.any(|kind| kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream"))
}

/// An answer of a streamed operation, as far as a stream reads it.
#[derive(serde::Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
    /// The event to go on after.
    last_id: Option<String>,
    has_more: bool,
    /// True if the event that was asked for is of another stream.
    reset: bool,
}

/// Form of an event in a stream.
#[derive(serde::Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: &'a str,
    #[serde(borrow, rename = "type")]
    kind: &'a str,
}

/// An open stream. It is dropped when its reader disconnects, which frees its place.
struct OpenStream {
    server: Arc<Server>,
    at: usize,
    /// The request, without the event to go on after.
    parts: Parts,
    query: String,
    streamed: StreamSpec,
    id: Uuid,
    /// Resolves when the place is needed for another client, or the server stops.
    held: oneshot::Receiver<()>,
    waiting: VecDeque<Event>,
    last: Option<String>,
    has_more: bool,
    /// State at the last request.
    mark: u64,
    asked: Instant,
    /// Until when it does not ask, since it asked too much.
    pause: Option<Duration>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.server.streams.remove(&self.id);
    }
}

/// Opens a stream of an operation.
pub(super) async fn open(server: Arc<Server>, at: usize, streamed: StreamSpec, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    parts.headers.remove(header::ACCEPT);
    parts.headers.remove(header::IF_NONE_MATCH);
    let query = parts.uri.query().unwrap_or_default();
    let is_resume = |pair: &&str| decoded(pair.split('=').next().unwrap_or_default()) == streamed.resume;
    let (resume, rest): (Vec<&str>, Vec<&str>) = query.split('&').filter(|pair| !pair.is_empty()).partition(is_resume);
    // A client that connects again sends the last id that it saw in a header, and repeats its first URL.
    let header = parts.headers.get("last-event-id").filter(|id| !id.is_empty());
    let header = header.map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let reconnects = header.is_some();
    let last = header.or_else(|| resume.last().map(|pair| decoded(pair.split_once('=').unwrap_or_default().1)));
    let last = last.map(|id| id.chars().take(MAX_ID).collect());
    let client = parts.extensions.get::<Client>().map(|client| client.network());
    let (holder, held) = oneshot::channel();
    let query = rest.join("&");
    let mut open = OpenStream {
        mark: server.backend.mark(),
        id: server.new_id(),
        server,
        at,
        parts,
        query,
        streamed,
        held,
        waiting: VecDeque::new(),
        last,
        has_more: false,
        asked: Instant::now(),
        pause: None,
    };
    // A wrong request is reported as with any other operation, except a wrong event id of a client that connects again.
    let asked = open.ask().await;
    let asked = match asked {
        Err(refused) if reconnects && refused.status() == StatusCode::UNPROCESSABLE_ENTITY => open.start_over().await,
        asked => asked,
    };
    if let Err(refused) = asked {
        return *refused;
    }
    let config = &open.server.config;
    let most = [config.max_streams, config.max_streams_per_client];
    if !open.server.streams.add(open.id, holder, client, most) {
        let detail = "too many streams are open; ask for pages instead, without Accept: text/event-stream";
        return ApiError::new(ErrorCode::TooManyStreams, detail).retryable(Some(STREAM_RETRY_SECS)).into_response();
    }
    let mut response = Sse::new(events(open)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn events(open: OpenStream) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(open, |mut open| async move {
        loop {
            if let Some(event) = open.waiting.pop_front() {
                return Some((Ok(event), open));
            }
            if !open.has_more {
                let pause = open.pause.take();
                let ends = tokio::select! {
                    _ = &mut open.held => true,
                    () = wait(&open.server, open.mark, open.asked, pause) => false,
                };
                if ends {
                    return None;
                }
            }
            let asked = match open.charge() {
                Ok(()) => open.ask().await,
                Err(refused) => Err(refused),
            };
            if let Err(refused) = asked
                && !open.goes_on(&refused)
            {
                return None;
            }
        }
    })
}

/// Waits until there may be something new.
async fn wait(server: &Server, mark: u64, asked: Instant, pause: Option<Duration>) {
    if let Some(pause) = pause {
        sleep(pause).await;
        return;
    }
    while server.backend.mark() == mark && asked.elapsed() < ASK {
        sleep(LOOK).await;
    }
}

impl OpenStream {
    /// Charges the client for coming in again; the first time it has paid already.
    fn charge(&self) -> Result<(), Box<Response>> {
        let client = self.parts.extensions.get::<Client>();
        let charged = client.map_or(Ok(()), |client| self.server.charge(client, Cost::Light.units()));
        charged.map_err(|error| Box::new(error.into_response()))
    }

    /// Asks the operation for the events after the last one.
    ///
    /// # Errors
    /// Returns the answer to give if it has no events.
    async fn ask(&mut self) -> Result<(), Box<Response>> {
        (self.mark, self.asked) = (self.server.backend.mark(), Instant::now());
        let path = self.parts.uri.path();
        let resume = self.last.as_ref().map(|last| format!("{}={}", self.streamed.resume, escaped(last)));
        let pairs: Vec<&str> = [self.query.as_str(), resume.as_deref().unwrap_or_default()]
            .into_iter()
            .filter(|pair| !pair.is_empty())
            .collect();
        let target = format!("{path}?{}", pairs.join("&"));
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = target.parse().map_err(|_| Box::new(ApiError::internal().into_response()))?;
        *request.headers_mut() = self.parts.headers.clone();
        *request.extensions_mut() = self.parts.extensions.clone();
        let response = dispatch(Arc::clone(&self.server), self.at, None, request).await;
        if response.status() != StatusCode::OK {
            return Err(Box::new(response));
        }
        let failed = || Box::new(ApiError::internal().into_response());
        let bytes = to_bytes(response.into_body(), MAX_ANSWER).await.map_err(|_| failed())?;
        self.take(&bytes).ok_or_else(failed)
    }

    /// Begins at the newest event, since the id that the client sent is not an id of this stream. A browser never
    /// connects again after an error (HTML Living Standard, 9.2.3), so it gets a `reset` instead.
    async fn start_over(&mut self) -> Result<(), Box<Response>> {
        self.last = None;
        self.ask().await?;
        let reset = self.reset(self.last.as_deref());
        self.waiting.push_front(reset);
        Ok(())
    }

    /// The event that reports missed events to the client: with the newest id, and the path where the client can read
    /// them.
    fn reset(&self, newest: Option<&str>) -> Event {
        let feed = format!("{}{}", self.server.config.base_url, self.streamed.feed);
        let data = serde_json::json!({"last_id": newest, "feed": feed});
        // Without an id, a client that connects again would send the old one. An empty id makes it forget that.
        Event::default().event("reset").id(newest.unwrap_or_default()).data(data.to_string())
    }

    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        let page: Page<'_> = serde_json::from_slice(bytes).ok()?;
        if page.reset {
            let reset = self.reset(page.last_id.as_deref());
            self.waiting.push_back(reset);
        }
        for event in page.events {
            let head: Head<'_> = serde_json::from_str(event.get()).ok()?;
            self.waiting.push_back(Event::default().retry(RETRY).event(head.kind).id(head.id).data(event.get()));
        }
        self.last = page.last_id.or(self.last.take());
        self.has_more = page.has_more;
        Some(())
    }

    /// Whether the stream continues after an answer without events: the server is busy, or the client asks too much.
    fn goes_on(&mut self, refused: &Response) -> bool {
        let seconds = refused.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        self.has_more = false;
        self.pause = Some(Duration::from_secs(seconds.unwrap_or(5)));
        matches!(refused.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
    }
}

/// A name or a value of a query as text.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// A value for a query.
fn escaped(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
