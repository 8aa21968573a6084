//! Time limits for the bodies of requests, whatever reads them.

use std::{
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

/// Operations have time limits of their own, with better error texts; this one is for the rest.
const MORE: Duration = Duration::from_secs(1);

/// A body, and when its time is up.
pub(super) struct Deadline {
    body: Incoming,
    limit: Duration,
    /// Begins when it is first waited for: most requests have no body.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    pub(super) fn new(body: Incoming, limit: Duration) -> Self {
        Deadline { body, limit: limit + MORE, sleep: None }
    }
}

/// The body did not arrive in time.
#[derive(Debug)]
struct TooLate;

impl fmt::Display for TooLate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body did not arrive within the time limit of a request")
    }
}

impl Error for TooLate {}

impl HttpBody for Deadline {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let limit = self.limit;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(limit)));
        match sleep.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err(TooLate.into()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
