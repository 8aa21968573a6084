//! A reader's end.

use std::{
    io,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::{Message, VERSION};

/// First pause before the socket is tried again; doubles.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest pause.
const LONGEST: Duration = Duration::from_secs(2);
/// How often a silent link is asked whether to stop.
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
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens to the socket at `path` on a thread of its own and passes on what it hears.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(path: &Path, mut hear: impl FnMut(Event) + Send + 'static) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (path, stopped) = (path.to_owned(), Arc::clone(&stop));
        let listen = move || listen(&path, &stopped, &mut hear);
        let thread = thread::Builder::new().name("listener".to_owned()).spawn(listen)?;
        Ok(Listener { stop, thread: Some(thread) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(path: &PathBuf, stop: &AtomicBool, hear: &mut impl FnMut(Event)) {
    let mut pause = PAUSE;
    while !stop.load(Ordering::Relaxed) {
        if let Ok(stream) = UnixStream::connect(path) {
            let mut found = false;
            let end = converse(stream, stop, &mut |event| {
                found = true;
                hear(event);
            });
            if stop.load(Ordering::Relaxed) {
                return;
            }
            if found {
                pause = PAUSE;
            }
            hear(Event::Lost(end.map_or_else(|e| e.to_string(), |()| "closed".to_owned())));
        }
        let mut left = pause;
        while !left.is_zero() && !stop.load(Ordering::Relaxed) {
            let step = left.min(TICK);
            thread::sleep(step);
            left -= step;
        }
        pause = (pause * 2).min(LONGEST);
    }
}

fn converse(stream: UnixStream, stop: &AtomicBool, hear: &mut impl FnMut(Event)) -> io::Result<()> {
    stream.set_read_timeout(Some(TICK))?;
    let mut stream = Patient { stream, stop };
    match Message::read(&mut stream)? {
        Message::Hello { version: VERSION } => hear(Event::Found),
        other => return Err(io::Error::other(format!("expected version {VERSION}, heard {other:?}"))),
    }
    loop {
        hear(Event::Said(Message::read(&mut stream)?));
    }
}

/// Reads on through timeouts until asked to stop, so that no frame is torn by one.
struct Patient<'s> {
    stream: UnixStream,
    stop: &'s AtomicBool,
}

impl io::Read for Patient<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buf) {
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                }
                // `read_exact` would try again for ever.
                Err(e) if e.kind() == io::ErrorKind::Interrupted && self.stop.load(Ordering::Relaxed) => {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                other => return other,
            }
        }
    }
}
