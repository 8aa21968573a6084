//! Files are made durable while others are still writing them, so that little is left to wait for in the end.

use std::{
    fs::File,
    io,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::Builder,
};

use parking_lot::{Condvar, Mutex};

/// Most files that wait. With more, the disk does not keep up, and asking for still more would not help.
const WAITING: usize = 64;

/// A thread that waits for the disk. Clones share it; it ends with the last of them.
#[derive(Clone, Debug)]
pub(crate) struct WriteBehind {
    /// `None` where no thread could be started: everything is left for the end.
    files: Option<SyncSender<File>>,
    state: Arc<State>,
}

#[derive(Default, Debug)]
struct State {
    under_way: Mutex<UnderWay>,
    changed: Condvar,
}

#[derive(Default, Debug)]
struct UnderWay {
    files: usize,
    /// The system reports a failed write once, to the first caller that asks.
    failed: Option<io::Error>,
}

impl State {
    fn work(&self, files: &Receiver<File>) {
        for file in files {
            let result = file.sync_data();
            let mut under_way = self.under_way.lock();
            under_way.files -= 1;
            if let Err(e) = result {
                under_way.failed.get_or_insert(e);
            }
            self.changed.notify_all();
        }
    }
}

impl Default for WriteBehind {
    fn default() -> Self {
        let state = Arc::new(State::default());
        let (sender, files) = sync_channel(WAITING);
        let of_thread = Arc::clone(&state);
        let thread = Builder::new().name("write-behind".to_owned()).spawn(move || of_thread.work(&files));
        WriteBehind { files: thread.is_ok().then_some(sender), state }
    }
}

impl WriteBehind {
    /// Begins to make durable what a file has now, unless too many others wait already.
    pub(crate) fn begin(&self, file: &File) {
        if let (Some(files), Ok(file)) = (&self.files, file.try_clone()) {
            self.state.under_way.lock().files += 1;
            if files.try_send(file).is_err() {
                self.state.under_way.lock().files -= 1;
            }
        }
    }

    /// Waits until nothing is under way. Call it also after the owner of a file made it durable: a failure may have
    /// been reported here.
    ///
    /// # Errors
    /// Fails if anything failed that was begun since the last call.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mut under_way = self.state.under_way.lock();
        while under_way.files > 0 {
            self.state.changed.wait(&mut under_way);
        }
        under_way.failed.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn files_are_synced_and_failures_are_told_once() {
        let behind = WriteBehind::default();
        let dir = tempfile::tempdir().unwrap();
        let mut file = File::create(dir.path().join("file")).unwrap();
        for _ in 0..200 {
            file.write_all(&[7; 1000]).unwrap();
            behind.clone().begin(&file);
        }
        behind.wait().unwrap();
        // A pipe cannot be synced.
        let (reader, _writer) = io::pipe().unwrap();
        behind.begin(&File::from(std::os::fd::OwnedFd::from(reader)));
        assert_eq!(behind.wait().unwrap_err().kind(), io::ErrorKind::InvalidInput);
        behind.wait().unwrap();
    }
}
