//! A reader's end.

use std::{
    io,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_model::CancelToken;

use crate::{Message, VERSION};

/// First pause before the socket is tried again; doubles.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest pause.
const LONGEST: Duration = Duration::from_secs(2);
/// How often a silent link is left to look whether to end.
const TICK: Duration = Duration::from_millis(250);

/// What a reader hears.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The writer is there; its present state follows. What was known of its mempool before is void.
    Found,
    /// The writer says something.
    Said(Message),
    /// The writer is gone, or speaks another version; it is looked for again and again.
    Lost(String),
}

/// Listens to a writer, whenever there is one.
pub struct Listener {
    cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens to the socket at `path` on a thread of its own and passes on what it hears.
    ///
    /// # Errors
    /// There is no thread to be had.
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

/// Reads on through timeouts until cancelled, so that no frame is torn by one.
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
