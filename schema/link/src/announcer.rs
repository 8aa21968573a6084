//! The writer's end of the socket.

use std::{
    fs::{self, DirBuilder, Permissions},
    io::{self, Read, Write},
    os::unix::{
        fs::{DirBuilderExt, MetadataExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cairn_model::CancelToken;
use parking_lot::Mutex;

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
/// Interval of checks if a reader that gets nothing is still there.
const PROBE: Duration = Duration::from_secs(1);
/// Interval of checks that the socket is still at its path.
const REBIND: Duration = Duration::from_secs(1);
/// Maximum number of readers: the servers of one index. Each takes a thread and a queue, and is sent the whole state.
pub const MAX_READERS: usize = 32;

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
    readers: Mutex<Readers>,
    present: Present,
    cancel: CancelToken,
}

#[derive(Default)]
struct Readers {
    all: Vec<(u64, SyncSender<Frame>)>,
    next: u64,
}

impl Announcer {
    /// Listens on a socket at `path`. The socket of a killed writer is replaced: the caller has the index open for
    /// writing, so no other process listens on it. Its owner may connect, its group if the umask lets it, and nobody
    /// else whatever the umask.
    ///
    /// # Errors
    /// Fails if the socket cannot be created, for example because the path is longer than 107 bytes.
    pub fn bind(path: &Path, present: Present) -> io::Result<Self> {
        let door = Endpoint::open(path)?;
        let shared = Arc::new(Shared { readers: Mutex::default(), present, cancel: CancelToken::new() });
        let accepting = {
            let shared = Arc::clone(&shared);
            thread::Builder::new().name("announcer".to_owned()).spawn(move || accept(door, &shared))?
        };
        Ok(Announcer { shared, path: path.to_owned(), accepting: Some(accepting) })
    }

    /// Sends to every reader. Never waits: a reader that is too slow is disconnected.
    pub fn announce(&self, message: &Message) {
        let mut readers = self.shared.readers.lock();
        if readers.all.is_empty() {
            return;
        }
        let frame: Frame = message.to_frame().into();
        readers.all.retain(|(_, reader)| match reader.try_send(Arc::clone(&frame)) {
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
        self.shared.readers.lock().all.len()
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.shared.cancel.cancel();
        self.shared.readers.lock().all.clear();
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Makes the socket in a folder that only its owner can enter, and moves it to `path` when its permissions are set: at
/// no moment can others connect.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let remove = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    // A short name: the path of a socket has at most 107 bytes.
    let folder = path.with_file_name(format!(".l{}", std::process::id()));
    remove(fs::remove_dir_all(&folder))?;
    DirBuilder::new().mode(0o700).create(&folder)?;
    let made = folder.join("s");
    let listening = UnixListener::bind(&made).and_then(|listener| {
        let by_umask = fs::metadata(&made)?.permissions().mode();
        fs::set_permissions(&made, Permissions::from_mode((by_umask & 0o660) | 0o600))?;
        remove(fs::remove_file(path))?;
        fs::rename(&made, path)?;
        Ok(listener)
    });
    let removed = fs::remove_dir_all(&folder);
    let listener = listening?;
    removed?;
    Ok(listener)
}

struct Endpoint {
    listener: UnixListener,
    path: PathBuf,
    file: (u64, u64),
    looked: Instant,
}

impl Endpoint {
    fn open(path: &Path) -> io::Result<Self> {
        let listener = listen(path)?;
        listener.set_nonblocking(true)?;
        let file = fs::symlink_metadata(path)?;
        Ok(Endpoint { listener, path: path.to_owned(), file: (file.dev(), file.ino()), looked: Instant::now() })
    }

    /// Listens on a new socket if somebody has removed or replaced this one, looking now and then.
    fn reopen_if_gone(&mut self) {
        if self.looked.elapsed() < REBIND {
            return;
        }
        self.looked = Instant::now();
        let there = fs::symlink_metadata(&self.path).map(|file| (file.dev(), file.ino()));
        if there.is_ok_and(|file| file == self.file) {
            return;
        }
        // Without room for it, the next look may succeed. Readers that are connected stay.
        match Endpoint::open(&self.path) {
            Ok(door) => {
                tracing::warn!(path = %self.path.display(), "the socket was gone: it is there again");
                *self = door;
            }
            Err(error) => tracing::debug!(%error, "the socket is gone and cannot be made"),
        }
    }
}

fn accept(mut door: Endpoint, shared: &Arc<Shared>) {
    while !shared.cancel.is_cancelled() {
        door.reopen_if_gone();
        match door.listener.accept() {
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
    let number = {
        let mut readers = shared.readers.lock();
        if readers.all.len() >= MAX_READERS {
            // The stream is closed; the reader tries again later.
            tracing::warn!(readers = MAX_READERS, "too many readers of the index: one was turned away");
            return;
        }
        let number = readers.next;
        readers.next += 1;
        readers.all.push((number, sender));
        number
    };
    let leave = move |shared: &Shared| shared.readers.lock().all.retain(|(of, _)| *of != number);
    let present = Arc::clone(shared);
    let spawned = thread::Builder::new().name("link".to_owned()).spawn(move || {
        // A reader that disconnects is not an event.
        let _ = tell(stream, &frames, &present);
        leave(&present);
    });
    if let Err(error) = spawned {
        leave(shared);
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
    loop {
        match frames.recv_timeout(PROBE) {
            Ok(frame) => stream.write_all(&frame)?,
            // Without frames, nothing else shows that a reader has gone and its place is free.
            Err(RecvTimeoutError::Timeout) if is_gone(&mut stream)? => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// True if the other side has closed the stream. Readers send nothing; whatever one sends is ignored.
fn is_gone(stream: &mut UnixStream) -> io::Result<bool> {
    stream.set_nonblocking(true)?;
    let read = stream.read(&mut [0; 64]);
    stream.set_nonblocking(false)?;
    match read {
        Ok(count) => Ok(count == 0),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn until(what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(20), "{what}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn readers_are_bounded_and_places_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let announcer = Announcer::bind(&path, Box::new(Vec::new)).unwrap();
        let held: Vec<UnixStream> = (0..MAX_READERS).map(|_| UnixStream::connect(&path).unwrap()).collect();
        until("all have a place", || announcer.readers() == MAX_READERS);
        // One more is turned away without a word.
        let mut more = UnixStream::connect(&path).unwrap();
        more.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert_eq!(more.read(&mut [0; 64]).unwrap(), 0);
        assert_eq!(announcer.readers(), MAX_READERS);
        drop(held);
        until("their places are free", || announcer.readers() == 0);
        let mut next = UnixStream::connect(&path).unwrap();
        assert!(next.read(&mut [0; 64]).unwrap() > 0, "it is greeted");
    }

    #[test]
    fn only_owner_and_group_may_connect() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        fs::write(&path, "left by a writer that was killed").unwrap();
        let announcer = Announcer::bind(&path, Box::new(Vec::new)).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert!(mode & 0o600 == 0o600 && mode & 0o117 == 0, "{mode:o}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        UnixStream::connect(&path).unwrap();
        drop(announcer);
        assert!(!path.exists());
    }
}
