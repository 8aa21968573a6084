//! Publishes the tip of the process that writes the index for replicas, and takes in the documents that were handed in
//! there. A database that cannot be used does not stop it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cairn_clock::now_secs;
use cairn_link::{IndexSlot, IndexSource};
use cairn_model::{CancelToken, ChainParams};
use cairn_pipeline::{put_file_into_inbox, waiting_in_inbox};
use cairn_state::{State, StateError, StateUrl, WriterTip};

use super::outage::Outage;
use crate::runtime::current_thread;

/// Interval of looks: a tip is published at most once a second.
const LOOK: Duration = Duration::from_secs(1);
/// A tip that does not change is published again after this time: the database may have been restored.
const AGAIN: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(30);
/// How long a run that ends at a height waits for the first look, and a finished one for its last.
const PATIENCE: Duration = Duration::from_secs(4);
/// Files in the inbox above which no more are taken: those in the database are bounded, too.
const MAX_FILES: usize = 64;

/// Shares the tip and the inbox with replicas.
pub(crate) struct ForReplicas {
    url: StateUrl,
    chain: ChainParams,
    datadir: PathBuf,
    slot: Arc<IndexSlot>,
}

/// The tip that was published last, and when.
type Published = Option<(WriterTip, Instant)>;

/// Why a look failed.
enum LookError {
    State(StateError),
    Inbox(io::Error),
}

impl fmt::Display for LookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookError::State(error) => error.fmt(f),
            LookError::Inbox(error) => write!(f, "the inbox cannot be used: {error}"),
        }
    }
}

impl From<StateError> for LookError {
    fn from(error: StateError) -> Self {
        LookError::State(error)
    }
}

impl From<io::Error> for LookError {
    fn from(error: io::Error) -> Self {
        LookError::Inbox(error)
    }
}

impl ForReplicas {
    /// Shares the index of a data folder, which `slot` has, through this database.
    pub(crate) fn new(url: StateUrl, chain: ChainParams, datadir: &Path, slot: Arc<IndexSlot>) -> Self {
        ForReplicas { url, chain, datadir: datadir.to_owned(), slot }
    }

    /// Starts the thread. It ends when the result is dropped.
    pub(crate) fn start(self) -> io::Result<Sharing> {
        let stop = CancelToken::new();
        let last = Arc::new(AtomicBool::new(false));
        let (looked, looks) = channel();
        let runtime = current_thread()?;
        let (cancel, is_last) = (stop.clone(), Arc::clone(&last));
        let run = move || runtime.block_on(self.share(&cancel, &is_last, &looked));
        let thread = thread::Builder::new().name("replicas".to_owned()).spawn(run)?;
        Ok(Sharing { thread: Some(thread), stop, last, looks })
    }

    async fn share(self, stop: &CancelToken, is_last: &AtomicBool, looked: &Sender<()>) {
        let state = State::of(&self.url);
        let mut outage = Outage::of("sharing the index with replicas through the database of the service state");
        let mut published = None;
        loop {
            let result = tokio::select! {
                () = stop.cancelled() => break,
                result = tokio::time::timeout(LONGEST, self.look(&state, &mut published)) => result,
            };
            let pause = match result {
                Ok(Ok(())) => {
                    outage.is_over();
                    LOOK
                }
                Ok(Err(error)) => outage.goes_on(&error),
                Err(_) => outage.goes_on(&"the database does not answer"),
            };
            // Usually there is no receiver.
            let _ = looked.send(());
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        if is_last.load(Ordering::Relaxed) && !outage.is_on() {
            // A failure is harmless: readers of a tip that is too low see a smaller lag until the next run.
            let _ = tokio::time::timeout(PATIENCE, self.publish(&state, &mut published)).await;
        }
    }

    async fn look(&self, state: &State, published: &mut Published) -> Result<(), LookError> {
        self.publish(state, published).await?;
        // An index without blocks takes no events yet.
        if published.is_some() { self.take(state).await } else { Ok(()) }
    }

    async fn publish(&self, state: &State, published: &mut Published) -> Result<(), StateError> {
        let Some(tip) = self.tip() else { return Ok(()) };
        let is_known = |(before, at): &(WriterTip, Instant)| {
            let before = WriterTip { published_at: tip.published_at, ..before.clone() };
            before == tip && at.elapsed() < AGAIN
        };
        if !published.as_ref().is_some_and(is_known) {
            state.publish_writer_tip(self.chain.key(), &tip).await?;
            *published = Some((tip, Instant::now()));
        }
        Ok(())
    }

    /// The tip of the index; `None` while it has no blocks.
    fn tip(&self) -> Option<WriterTip> {
        let reader = self.slot.reader()?;
        let tip = *reader.view().ok()?.tip();
        let best_height = self.slot.best_height();
        let (height, hash) = (tip.height, tip.hash.to_string());
        Some(WriterTip { height, hash, event_seq: tip.seq, best_height, published_at: now_secs() })
    }

    /// Puts the waiting documents into the inbox, the oldest first. An entry is on this disk before its row goes: if
    /// the process is killed in between, it comes once more, under the same name, and documents that the ledger has
    /// change nothing.
    async fn take(&self, state: &State) -> Result<(), LookError> {
        while waiting_in_inbox(&self.datadir)? < MAX_FILES {
            let Some((id, file)) = state.oldest_waiting(self.chain.key()).await? else { break };
            put_file_into_inbox(&self.datadir, &id, &file)?;
            state.remove_waiting(&id).await?;
            tracing::info!(
                entry = id,
                bytes = file.len(),
                "documents that were handed in on a replica are in the inbox"
            );
        }
        Ok(())
    }
}

/// The thread that shares an index with replicas.
pub(crate) struct Sharing {
    thread: Option<JoinHandle<()>>,
    stop: CancelToken,
    last: Arc<AtomicBool>,
    looks: Receiver<()>,
}

impl Sharing {
    /// Waits until it has looked once, or for a few seconds. So a run that ends at a height takes in the waiting
    /// documents.
    pub(crate) fn looked(&self) {
        let _ = self.looks.recv_timeout(PATIENCE);
    }

    /// Ends it after the last tip is published.
    pub(crate) fn finish(self) {
        self.last.store(true, Ordering::Relaxed);
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        self.stop.cancel();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            // Blocks are more important: they go on without replicas.
            tracing::error!("the thread that shares the index with replicas panicked; this is a bug");
        }
    }
}
