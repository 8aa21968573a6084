//! A socket whose other side has to take what is written within some time, and on which what is no request is answered
//! as other failures are.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::refusal::Refusals;

/// See above.
pub(super) struct Socket {
    stream: TcpStream,
    limit: Duration,
    /// When a write that waits has waited too long.
    stalled: Option<Pin<Box<Sleep>>>,
    refusals: Refusals,
    /// What is written instead of what the HTTP library wrote, and how much of it has been.
    instead: Vec<u8>,
    written: usize,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, limit: Duration, refusals: Refusals) -> Self {
        Socket { stream, limit, stalled: None, refusals, instead: Vec::new(), written: 0 }
    }

    /// Passes on how a write went, unless it has waited for too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.stalled = None;
            return result;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Writes what stands instead of something else.
    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.instead.get(self.written..).filter(|rest| !rest.is_empty()) {
            let result = Pin::new(&mut self.stream).poll_write(cx, rest);
            match ready!(self.watch(cx, result))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        self.instead.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }

    /// Takes what the library would write by itself, and keeps what is to be written instead.
    fn replaced(&mut self, bytes: &[u8]) -> bool {
        match self.refusals.instead_of(bytes) {
            Some(instead) => {
                self.instead = instead;
                true
            }
            None => false,
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_instead(cx))?;
        if self.replaced(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_instead(cx))?;
        let mut full = slices.iter().filter(|slice| !slice.is_empty());
        if let (Some(only), None) = (full.next(), full.next())
            && self.replaced(only)
        {
            return Poll::Ready(Ok(only.len()));
        }
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
