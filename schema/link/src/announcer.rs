//! The writer's end of the socket.

use std::{
    io::{self, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_model::CancelToken;

use crate::{Message, VERSION};

/// Maximum number of frames queued for a reader. Above it, the reader is disconnected; it reconnects and gets the
/// state.
const QUEUE: usize = 16_384;
/// Interval of checks for a new reader.
const LOOK: Duration = Duration::from_millis(25);
/// Pause after a failure to accept a reader.
const PAUSE: Duration = Duration::from_millis(100);
/// Timeout of a write to a reader.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the current state for a new reader. It may repeat recent messages: messages are idempotent.
pub type Present = Box<dyn Fn() -> Vec<Message> + Send + Sync>;

type Frame = Arc<[u8]>;

/// Sends messages to readers.
pub struct Announcer {
    shared: Arc<Shared>,
    path: PathBuf,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    readers: Mutex<Vec<SyncSender<Frame>>>,
    present: Present,
    cancel: CancelToken,
}

impl Shared {
    fn readers(&self) -> MutexGuard<'_, Vec<SyncSender<Frame>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Announcer {
    /// Listens on a socket at `path`. The socket of a killed writer is replaced: the caller has the index open for
    /// writing, so no other process listens on it.
    ///
    /// # Errors
    /// The socket cannot be created, for example because the path is longer than 107 bytes.
    pub fn bind(path: &Path, present: Present) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared { readers: Mutex::default(), present, cancel: CancelToken::new() });
        let accepting = {
            let shared = Arc::clone(&shared);
            thread::Builder::new().name("announcer".to_owned()).spawn(move || accept(&listener, &shared))?
        };
        Ok(Announcer { shared, path: path.to_owned(), accepting: Some(accepting) })
    }

    /// Sends to every reader. Never waits: a reader that is too slow is disconnected.
    pub fn announce(&self, message: &Message) {
        let mut readers = self.shared.readers();
        if readers.is_empty() {
            return;
        }
        let frame: Frame = message.to_frame().into();
        readers.retain(|reader| match reader.try_send(Arc::clone(&frame)) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                tracing::warn!("a reader is too slow: disconnected, it will reconnect");
                false
            }
            Err(TrySendError::Disconnected(_)) => false,
        });
    }

    /// Number of readers.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.shared.readers().len()
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.shared.cancel.cancel();
        self.shared.readers().clear();
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    while !shared.cancel.is_cancelled() {
        match listener.accept() {
            Ok((stream, _)) => welcome(stream, shared),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => drop(shared.cancel.wait(LOOK)),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a reader");
                shared.cancel.wait(PAUSE);
            }
        }
    }
}

fn welcome(stream: UnixStream, shared: &Arc<Shared>) {
    let (sender, frames) = sync_channel::<Frame>(QUEUE);
    // From here on it gets every announcement; the present state is taken after that, so nothing falls between.
    shared.readers().push(sender);
    let present = Arc::clone(shared);
    let spawned = thread::Builder::new().name("link".to_owned()).spawn(move || {
        // A reader that goes away is no event.
        let _ = tell(stream, &frames, &present);
    });
    if let Err(error) = spawned {
        tracing::warn!(%error, "cannot start a thread for a reader");
    }
}

fn tell(mut stream: UnixStream, frames: &Receiver<Frame>, shared: &Shared) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Message::Hello { version: VERSION }.write(&mut stream)?;
    for message in (shared.present)() {
        message.write(&mut stream)?;
    }
    // Ends when the announcer drops the sender.
    while let Ok(frame) = frames.recv() {
        stream.write_all(&frame)?;
    }
    Ok(())
}
