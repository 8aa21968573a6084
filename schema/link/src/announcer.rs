//! The writer's end.

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

/// Frames that may wait for a reader. Beyond, it is cut off: it comes again and gets the present state.
const QUEUE: usize = 16_384;
/// Between two looks for a new reader.
const LOOK: Duration = Duration::from_millis(25);
/// Pause after a failure to take one in.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a reader may leave a write unread.
const PATIENCE: Duration = Duration::from_secs(10);

/// Gives the present state, for a reader that comes. It may repeat what was announced just before: messages can be
/// applied twice.
pub type Present = Box<dyn Fn() -> Vec<Message> + Send + Sync>;

type Frame = Arc<[u8]>;

/// Tells readers what happens.
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
    /// Listens on a socket at `path`. A socket that a killed writer left there is replaced: the caller holds the index
    /// for writing, so nobody else listens on it.
    ///
    /// # Errors
    /// The socket cannot be made; paths longer than 107 bytes are among the reasons.
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

    /// Tells every reader. Never waits: a reader that is too slow is cut off.
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
