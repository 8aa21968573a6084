//! The reader's end of the socket.

use std::{
    io,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_model::CancelToken;

use crate::{Message, VERSION};

/// First pause before a reconnect; it doubles.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest pause.
const LONGEST: Duration = Duration::from_secs(2);
/// Read timeout, after which cancellation is checked.
const TICK: Duration = Duration::from_millis(250);

/// An event for a reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Connected to the writer; its current state follows. The previous mempool is invalid.
    Found,
    /// A message from the writer.
    Said(Message),
    /// Disconnected, or the writer has another version; the listener keeps trying to reconnect.
    Lost(String),
}

/// Listens to a writer, and reconnects when it disconnects.
pub struct Listener {
    cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts a thread that listens to the socket at `path` and passes on events.
    pub fn start(path: &Path, mut hear: impl FnMut(Event) + Send + 'static) -> io::Result<Self> {
        let cancel = CancelToken::new();
        let (path, cancelled) = (path.to_owned(), cancel.clone());
        let listen = move || listen(&path, &cancelled, &mut hear);
        let thread = thread::Builder::new().name("listener".to_owned()).spawn(listen)?;
        Ok(Listener { cancel, thread: Some(thread) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.cancel.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(path: &PathBuf, cancel: &CancelToken, hear: &mut impl FnMut(Event)) {
    let mut pause = PAUSE;
    while !cancel.is_cancelled() {
        if let Ok(stream) = UnixStream::connect(path) {
            let mut found = false;
            let end = converse(stream, cancel, &mut |event| {
                found = true;
                hear(event);
            });
            if cancel.is_cancelled() {
                return;
            }
            if found {
                pause = PAUSE;
            }
            hear(Event::Lost(end.map_or_else(|e| e.to_string(), |()| "closed".to_owned())));
        }
        cancel.wait(pause);
        pause = (pause * 2).min(LONGEST);
    }
}

fn converse(stream: UnixStream, cancel: &CancelToken, hear: &mut impl FnMut(Event)) -> io::Result<()> {
    stream.set_read_timeout(Some(TICK))?;
    let mut stream = Patient { stream, cancel };
    match Message::read(&mut stream)? {
        Message::Hello { version: VERSION } => hear(Event::Found),
        other => return Err(io::Error::other(format!("expected version {VERSION}, received {other:?}"))),
    }
    loop {
        hear(Event::Said(Message::read(&mut stream)?));
    }
}

/// Continues reading after timeouts until cancelled, so that a timeout never splits a frame.
struct Patient<'c> {
    stream: UnixStream,
    cancel: &'c CancelToken,
}

impl io::Read for Patient<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buf) {
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if self.cancel.is_cancelled() {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                }
                // `read_exact` would try again for ever.
                Err(e) if e.kind() == io::ErrorKind::Interrupted && self.cancel.is_cancelled() => {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                other => return other,
            }
        }
    }
}
