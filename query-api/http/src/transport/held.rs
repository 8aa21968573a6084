//! The innermost layer: a large answer holds its memory until it is sent or given up.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};
use hyper::body::{Frame, SizeHint};

use crate::{
    answers::{document::Kept, error::no_room},
    limits::{
        client::Client,
        memory::{SMALL, Share},
    },
    server::Server,
};

/// What compressing takes while an answer that the client does not read waits.
const COMPRESSING: u64 = 512 << 10;

/// The parts of an answer of unknown size that are under way.
const STREAMING: u64 = 256 << 10;

/// Holds the memory of a large answer. If there is no room, the answer becomes 503 `overloaded`.
pub(super) async fn hold(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let client = request.extensions().get::<Client>().copied();
    let compresses = request.headers().contains_key(header::ACCEPT_ENCODING);
    let response = next.run(request).await;
    let is_events = || {
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
    };
    let size = match response.body().size_hint().exact() {
        Some(size) => size,
        // Event streams have limits of their own.
        None if is_events() => 0,
        None => STREAMING,
    };
    if size <= SMALL || response.extensions().get::<Kept>().is_some() {
        return response;
    }
    let share = server.flight.share(client.as_ref());
    if !share.grow(size + if compresses { COMPRESSING } else { 0 }) {
        return no_room().into_response();
    }
    response.map(|body| Body::new(Held { body, _share: share }))
}

/// A body with its share of the memory.
struct Held {
    body: Body,
    _share: Share,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
