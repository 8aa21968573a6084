//! Lines of a connection, with limits of length and time.

use std::{io, time::Duration};

use cairn_http::HeldMemory;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::{Instant, sleep_until, timeout},
};

/// Longest line in bytes: a transaction of the largest standard size, in hexadecimal digits.
pub(crate) const MAX_LINE: usize = 1 << 20;
/// Memory for a line without a share of the memory for messages.
const FREE_LINE: usize = 16 << 10;
/// Longer lines hold memory for the longest.
const USUAL_LINE: usize = 64 << 10;
/// Memory of a line, and of its parsed form, as a multiple of its length.
const PARSED: usize = 3;
/// Time for the rest of a line after its first byte.
const LINE_TIME: Duration = Duration::from_secs(30);
/// A client that takes no byte for this long is disconnected.
const STALLED: Duration = Duration::from_secs(30);
/// Bytes that are written before other connections have their turn.
const PIECE: usize = 64 << 10;

/// Why no line comes.
#[derive(Debug)]
pub(crate) enum NoLine {
    /// The client closed the connection, or was silent for too long.
    Ended,
    /// The line is too long, or there is no memory for it.
    TooLong,
}

/// Reads lines. Dropping a call of [`Lines::next`] loses no bytes.
pub(crate) struct Lines {
    buffer: Vec<u8>,
    /// Bytes of the buffer that have no line break.
    searched: usize,
    /// When the unfinished line has taken too long.
    ends_at: Option<Instant>,
    /// Bytes that the buffer may have.
    room: usize,
    memory: Option<HeldMemory>,
}

impl Lines {
    pub(crate) fn new() -> Self {
        Lines { buffer: Vec::new(), searched: 0, ends_at: None, room: FREE_LINE, memory: None }
    }

    /// Takes a complete line out of the buffer, without its line break.
    fn take(&mut self) -> Option<Vec<u8>> {
        let found = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(at) = found else {
            self.searched = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(self.searched + at + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.pop();
        (self.searched, self.ends_at) = (0, None);
        Some(line)
    }

    /// Gives back memory that the last line needed.
    pub(crate) fn rest(&mut self) {
        if self.buffer.len() <= FREE_LINE {
            self.buffer.shrink_to(if self.buffer.is_empty() { 0 } else { FREE_LINE });
            (self.memory, self.room) = (None, FREE_LINE);
        }
    }

    /// Takes memory for a longer line. False without memory, and if the line is too long.
    fn extend(&mut self, hold: impl Fn() -> HeldMemory) -> bool {
        let room = if self.room < USUAL_LINE { USUAL_LINE } else { MAX_LINE };
        let is_held = room > self.room && self.memory.get_or_insert_with(hold).grow(PARSED * room).is_ok();
        if is_held {
            self.room = room;
        }
        is_held
    }

    /// Waits for the next line. `idle` is when it must have begun; `hold` gives memory for a long one.
    pub(crate) async fn next(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        idle: Instant,
        hold: impl Fn() -> HeldMemory,
    ) -> Result<Vec<u8>, NoLine> {
        loop {
            if let Some(line) = self.take() {
                return Ok(line);
            }
            if self.buffer.len() >= self.room && !self.extend(&hold) {
                return Err(NoLine::TooLong);
            }
            let ends_at = match (self.buffer.is_empty(), self.ends_at) {
                (true, _) => idle,
                (false, Some(at)) => at,
                (false, None) => *self.ends_at.insert(Instant::now() + LINE_TIME),
            };
            let mut limited = stream.take((self.room - self.buffer.len()) as u64);
            tokio::select! {
                read = limited.read_buf(&mut self.buffer) => match read {
                    Ok(0) | Err(_) => return Err(NoLine::Ended),
                    Ok(_) => {}
                },
                () = sleep_until(ends_at) => return Err(NoLine::Ended),
            }
        }
    }
}

/// Writes bytes whole, unless the client stops reading.
pub(crate) async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let stalled = |_| io::Error::from(io::ErrorKind::TimedOut);
    for piece in bytes.chunks(PIECE) {
        let mut rest = piece;
        while !rest.is_empty() {
            match timeout(STALLED, stream.write(rest)).await.map_err(stalled)?? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => rest = rest.get(written..).unwrap_or_default(),
            }
        }
        tokio::task::yield_now().await;
    }
    timeout(STALLED, stream.flush()).await.map_err(stalled)?
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    async fn next(lines: &mut Lines, stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
        lines.next(stream, soon(), || panic!("a short line needs no memory")).await.ok()
    }

    #[tokio::test]
    async fn lines_come_whole_however_they_are_sent() {
        let (mut near, mut far) = duplex(1 << 16);
        let mut lines = Lines::new();
        far.write_all(b"one\ntwo\n\nthr").await.unwrap();
        for expected in [&b"one"[..], b"two", b""] {
            assert_eq!(next(&mut lines, &mut near).await.as_deref(), Some(expected));
        }
        // Waiting for the rest is given up, and nothing is lost.
        let waiting = timeout(Duration::from_millis(20), next(&mut lines, &mut near)).await;
        assert!(waiting.is_err());
        for byte in b"ee\n" {
            far.write_all(&[*byte]).await.unwrap();
        }
        assert_eq!(next(&mut lines, &mut near).await.as_deref(), Some(&b"three"[..]));
        lines.rest();
        assert_eq!(lines.buffer.capacity(), 0);
        far.write_all(b"unfinished").await.unwrap();
        drop(far);
        assert_eq!(next(&mut lines, &mut near).await, None);
    }

    #[tokio::test]
    async fn silence_ends_the_connection() {
        let (mut near, _far) = duplex(64);
        let idle = Instant::now() + Duration::from_millis(20);
        let ended = Lines::new().next(&mut near, idle, || panic!("no line")).await;
        assert!(matches!(ended, Err(NoLine::Ended)));
    }

    #[tokio::test]
    async fn answers_are_written_whole() {
        let (mut near, mut far) = duplex(1 << 10);
        let bytes: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
        let expected = bytes.clone();
        let writing = tokio::spawn(async move { write(&mut near, &bytes).await });
        let mut read = Vec::new();
        far.read_to_end(&mut read).await.unwrap();
        assert!(writing.await.unwrap().is_ok() && read == expected);
    }
}
