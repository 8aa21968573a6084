//! A socket with a time limit for the other side to take written bytes. It also completes the answers that the HTTP
//! library gives on its own to bytes that are not a request: these have a status and nothing else.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::http::StatusCode;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

/// See above.
pub(super) struct Socket {
    stream: TcpStream,
    limit: Duration,
    /// When a write that waits has waited too long.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Makes the whole answer in place of one of the HTTP library.
    complete: Complete,
    /// Unwritten rest of such an answer.
    instead: Vec<u8>,
    /// Dropped with the socket: a protocol that the connection is upgraded to takes the socket over, and with it these.
    _held: Held,
}

/// Values that a connection holds for as long as its socket is open.
pub(super) type Held = Box<dyn Send>;

/// Makes the whole answer of a status.
pub(super) type Complete = Box<dyn Fn(StatusCode) -> Vec<u8> + Send>;

/// The status of an answer of the HTTP library's own. It has no other headers than these; our answers have an id.
fn own_answer(bytes: &[u8]) -> Option<StatusCode> {
    // Such an answer is short, and its status says that the request is bad.
    let text = std::str::from_utf8(bytes.strip_prefix(b"HTTP/1.1 4").filter(|rest| rest.len() < 256)?).ok()?;
    let (line, headers) = text.strip_suffix("\r\n\r\n")?.split_once("\r\n")?;
    let known =
        |header: &str| header == "content-length: 0" || header == "connection: close" || header.starts_with("date: ");
    let status = StatusCode::from_bytes(format!("4{}", line.get(..2)?).as_bytes()).ok()?;
    headers.split("\r\n").all(known).then_some(status)
}

impl Socket {
    pub(super) fn new(stream: TcpStream, limit: Duration, complete: Complete, held: Held) -> Self {
        Socket { stream, limit, stalled: None, complete, instead: Vec::new(), _held: held }
    }

    /// Takes an answer of the HTTP library's own, and has the whole answer written instead. True if it was one.
    fn completes(&mut self, bytes: &[u8]) -> bool {
        let status = own_answer(bytes);
        if let Some(status) = status {
            self.instead = (self.complete)(status);
        }
        status.is_some()
    }

    /// Writes the replacement. The library flushes after its answer, and nothing follows it.
    fn write_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.instead.is_empty() {
            let result = Pin::new(&mut self.stream).poll_write(cx, &self.instead);
            match ready!(self.watch(cx, result))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => drop(self.instead.drain(..written)),
            }
        }
        Poll::Ready(Ok(()))
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
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.completes(bytes) {
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
        let mut given = slices.iter().filter(|slice| !slice.is_empty());
        if let (Some(only), None) = (given.next(), given.next())
            && self.completes(only)
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
        ready!(self.write_instead(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_instead(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_of_the_library_itself_are_completed() {
        let head = |status: &str, headers: &str| {
            own_answer(format!("HTTP/1.1 {status}\r\n{headers}\r\n").as_bytes()).map(|status| status.as_u16())
        };
        let own = "connection: close\r\ncontent-length: 0\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
        for (status, code) in
            [("400 Bad Request", 400), ("414 URI Too Long", 414), ("431 Request Header Fields Too Large", 431)]
        {
            assert_eq!(head(status, own), Some(code));
            assert_eq!(head(status, &format!("x-request-id: 1\r\n{own}")), None);
        }
        assert_eq!(head("200 OK", own), None);
        assert_eq!(head("400 Bad Request", "content-length: 2\r\n"), None);
        for bytes in [&b"HTTP/1.1 4"[..], b"", b"HTTP/1.1 4\xff\xff\r\n\r\n", b"{\"a\":1}"] {
            assert_eq!(own_answer(bytes), None);
        }
    }
}
