//! The old transport (revision 2024-11-05). Clients send messages with POST to the URL in the first event of an event
//! stream; the stream carries the answers.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response, Sse, sse::Event, sse::KeepAlive},
};
use cairn_http::{Api, ErrorCode, StreamSlots};
use cairn_model::CancelToken;
use futures_util::{Stream, stream};
use tokio::sync::mpsc::{self, Receiver};
use uuid::Uuid;

use crate::{
    front::{Front, post_body},
    rpc,
    streams::{Outlet, UnreadAnswer},
};

/// Path for messages of the old transport.
pub(crate) const MESSAGES: &str = "/mcp/messages";
/// Maximum number of unread answers of a stream; further messages are refused.
const QUEUED: usize = 4;
/// Maximum size of an answer on a stream in bytes. The limits of a batch and of a tool's answer are lower.
const MAX_ANSWER: usize = 4 << 20;
/// Interval of keep-alive comments, for proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const RETRY_AFTER: u32 = 10;

/// An open stream. It is dropped when its reader disconnects, which frees its slot.
struct OpenStream {
    id: Uuid,
    streams: Arc<StreamSlots<Outlet>>,
    receiver: Receiver<UnreadAnswer>,
    stop: CancelToken,
    idle: Duration,
    /// The first event, until it is sent.
    first: Option<String>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.streams.remove(&self.id);
    }
}

pub(crate) fn stream(front: &Front, parts: &Parts) -> Response {
    let client = front.api.client(parts);
    let id = Uuid::new_v4();
    let (sender, receiver) = mpsc::channel(QUEUED);
    let options = &front.options;
    let most = [options.max_streams, options.max_streams_per_client];
    let taken = front.streams.add(id, Outlet::new(sender), client, most);
    if !taken {
        let detail = "too many streams are open; use Streamable HTTP instead: POST to this URL";
        return Api::problem(ErrorCode::TooManyStreams, detail, Some(RETRY_AFTER));
    }
    // The path prefix of the public URL.
    let base = front.api.config().base_url.parse::<axum::http::Uri>();
    let prefix = base.as_ref().map_or("", |uri| uri.path().trim_end_matches('/'));
    let open = OpenStream {
        id,
        streams: Arc::clone(&front.streams),
        receiver,
        stop: options.stop.clone(),
        idle: options.stream_idle,
        first: Some(format!("{prefix}{MESSAGES}?session_id={}", id.simple())),
    };
    let mut response = Sse::new(events(open)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn events(open: OpenStream) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(open, |mut open| async move {
        if let Some(first) = open.first.take() {
            return Some((Ok(Event::default().event("endpoint").data(first)), open));
        }
        let message = tokio::select! {
            message = open.receiver.recv() => message,
            () = open.stop.cancelled() => None,
            () = tokio::time::sleep(open.idle) => None,
        };
        message.map(|unread| (Ok(Event::default().event("message").data(&unread.text)), open))
    })
}

/// Receives a message of the old transport; its answer goes to the stream.
pub(crate) async fn messages(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(refused) = front.hosts.check(&parts.uri, &parts.headers) {
        return *refused;
    }
    if parts.method != Method::POST {
        return Api::method_not_allowed(&parts.method, "POST, OPTIONS");
    }
    let id = parts.uri.query().into_iter().flat_map(|query| query.split('&'));
    let id = id.filter_map(|pair| pair.strip_prefix("session_id=")).find_map(|id| id.parse::<Uuid>().ok());
    let Some(outlet) = id.and_then(|id| front.streams.touch(&id)) else {
        let detail =
            "session_id does not name an open stream; open one with GET, or POST messages to the endpoint itself";
        return Api::problem(ErrorCode::McpSessionNotFound, detail, None);
    };
    let body = match post_body(&front.api, &parts, body).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    // Reserve the queue slot first, so that no work is done for a reader that does not read.
    let full = || {
        let detail = "answers to earlier messages are unread; read them from the stream first";
        Api::problem(ErrorCode::StreamFull, detail, Some(RETRY_AFTER))
    };
    let Ok(permit) = outlet.sender.try_reserve() else { return full() };
    // Work for a stream that has ended is cancelled.
    let answered = async {
        let reply = front.answer(&parts, body).await;
        if reply.status() == StatusCode::ACCEPTED {
            return Some(Ok(None));
        }
        Some(axum::body::to_bytes(reply.into_body(), MAX_ANSWER).await.map(Some))
    };
    let answered = tokio::select! {
        answered = answered => answered,
        () = outlet.sender.closed() => None,
    };
    let Some(answered) = answered else {
        let detail = "the stream of this session has ended; open another one with GET";
        return Api::problem(ErrorCode::McpSessionNotFound, detail, None);
    };
    let Ok(bytes) = answered else {
        return Api::problem(ErrorCode::InternalError, "the server failed to answer", None);
    };
    let Some(bytes) = bytes else { return rpc::accepted() };
    // JSON that we wrote: one line, text.
    let Some(unread) = outlet.count(String::from_utf8_lossy(&bytes).into_owned()) else { return full() };
    permit.send(unread);
    rpc::accepted()
}
