//! Bodies that nobody reads to their end, because the request is refused before. A connection that is closed while its
//! client still writes loses the answer: the client sees a broken connection instead. So the rest is read and dropped
//! for a moment, while the answer is sent.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::{runtime::Handle, time::timeout};

/// How long the rest of a body is read.
const MAX_TIME: Duration = Duration::from_secs(5);
/// How much of it is read, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// A body that is read to its end when it is dropped.
pub(super) struct Lingering<B: HttpBody<Data = Bytes> + Unpin + Send + 'static> {
    /// `None` once there is nothing more to read.
    body: Option<B>,
    /// True if the client waits for permission to send the body, and has not got it.
    waits: bool,
}

impl<B: HttpBody<Data = Bytes> + Unpin + Send + 'static> Lingering<B> {
    /// `waits`: the request has `Expect: 100-continue`. Reading its body gives the permission.
    pub(super) fn new(body: B, waits: bool) -> Self {
        Lingering { body: Some(body), waits }
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin + Send + 'static> HttpBody for Lingering<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.waits = false;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin + Send + 'static> Drop for Lingering<B> {
    fn drop(&mut self) {
        let body = self.body.take().filter(|body| !self.waits && !body.is_end_stream());
        if let (Some(body), Ok(runtime)) = (body, Handle::try_current()) {
            runtime.spawn(timeout(MAX_TIME, drain(body)));
        }
    }
}

/// Reads a body to its end, to an error, or to the maximum.
async fn drain<B: HttpBody<Data = Bytes> + Unpin>(mut body: B) {
    let mut left = MAX_BYTES;
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
