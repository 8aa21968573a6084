//! The innermost layer: a large answer holds its memory until it is sent or given up, and is sent in pieces, so that
//! other connections have their turn in between.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use hyper::body::{Frame, SizeHint};

use crate::{
    answers::{document::AlreadyInMemory, error::no_room},
    limits::{
        client::Client,
        memory::{SMALL, Share},
    },
    server::Server,
};

/// Marks an answer that is sent as it is, since there is no room to compress it.
#[derive(Clone, Copy)]
pub(super) struct Uncompressed;

/// Memory of compression while an answer waits for a client that does not read.
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
    if size <= SMALL {
        return response;
    }
    let share = server.flight.share(client.as_ref());
    if response.extensions().get::<AlreadyInMemory>().is_some() {
        let has_room = !compresses || share.grow(COMPRESSING);
        let mut response = response.map(|body| Body::new(Pieces::of(body, Some(share))));
        if !has_room {
            response.extensions_mut().insert(Uncompressed);
            // Another client may get it compressed.
            response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        return response;
    }
    if !share.grow(size + if compresses { COMPRESSING } else { 0 }) {
        return no_room().into_response();
    }
    response.map(|body| Body::new(Pieces::of(body, Some(share))))
}

/// Bytes that are sent before another connection has its turn. Whole megabytes take a thread for milliseconds.
const PIECE: usize = 64 << 10;

/// A body in pieces, with its share of the memory.
struct Pieces {
    body: Body,
    rest: Bytes,
    has_paused: bool,
    _share: Option<Share>,
}

impl Pieces {
    fn of(body: Body, share: Option<Share>) -> Self {
        Pieces { body, rest: Bytes::new(), has_paused: false, _share: share }
    }

    fn next(&mut self) -> Frame<Bytes> {
        self.has_paused = false;
        Frame::data(self.rest.split_to(PIECE.min(self.rest.len())))
    }
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            if !self.has_paused {
                self.has_paused = true;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            return Poll::Ready(Some(Ok(self.next())));
        }
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)?) else { return Poll::Ready(None) };
        Poll::Ready(Some(Ok(match frame.into_data() {
            Ok(data) => {
                self.rest = data;
                self.next()
            }
            Err(other) => other,
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, inner) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(inner.lower() + rest);
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_sent_whole_and_in_turns() {
        for length in [1, PIECE, PIECE + 1, 5 * PIECE + 7] {
            let whole: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let mut pieces = Pieces::of(Body::from(whole.clone()), None);
            let mut cx = Context::from_waker(std::task::Waker::noop());
            let (mut sent, mut pauses) = (Vec::new(), 0);
            loop {
                assert_eq!(pieces.size_hint().exact(), Some((length - sent.len()) as u64));
                match Pin::new(&mut pieces).poll_frame(&mut cx) {
                    Poll::Pending => pauses += 1,
                    Poll::Ready(Some(frame)) => {
                        let data = frame.unwrap().into_data().unwrap();
                        assert!(data.len() <= PIECE && !data.is_empty());
                        sent.extend_from_slice(&data);
                    }
                    Poll::Ready(None) => break,
                }
            }
            assert!(sent == whole && pieces.is_end_stream());
            assert_eq!(pauses, (length - 1) / PIECE);
        }
    }
}
