//! An index that another process writes. It is read through a secondary instance of the database, which catches up when
//! the writer sends a message over the socket, and at regular intervals. The index of a replica has no writer here:
//! newer copies take its place, and how far the writer is comes from elsewhere.

use std::{
    io, mem,
    os::unix::net::UnixStream,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cairn_clock::now_secs;
use cairn_events::LiveQuote;
use cairn_model::{BlockHash, CancelToken, Height, MempoolDelta, Part, SourceStatus, Trouble};
use cairn_reader::{Advanced, Damages, ReadError, Reader, SecondaryReader};
use parking_lot::Mutex;

use crate::{
    Absent, Event, IndexSlot, IndexSource, Listener, MempoolSlot, Message, Projector, Publish, publisher::SOCKET,
};

/// Interval of checks for new commits without a message.
const POLL: Duration = Duration::from_secs(1);
/// Number of checks after which rows without a block, such as samples of the mempool, are read too.
const REFRESH: u32 = 30;

/// How long the mempool may take after the first words of a writer, and the time between two looks at it.
const REST: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(2);

/// Opens the index; `None` while nothing is indexed yet.
type Open = Box<dyn Fn() -> Result<Option<SecondaryReader>, ReadError> + Send + Sync>;

/// An index that another process may be writing, or may be about to make.
pub struct FollowedIndex {
    secondary: OnceLock<SecondaryReader>,
    /// How to open the index while there is none.
    open: Option<Open>,
    /// Held while it is opened; with the last error.
    opening: Mutex<String>,
    /// Other state from the writer. Its reader stays empty.
    told: IndexSlot,
    /// Deltas of an incomplete step, which must not be visible yet.
    coming: Mutex<Vec<MempoolDelta>>,
    /// True while a writer is connected over the socket.
    connected: AtomicBool,
    /// True if the writer is one that goes on until it is stopped.
    goes_on: AtomicBool,
    /// Best height published by a writer on another machine, + 1; 0 if there is none.
    remote: AtomicU64,
    /// Damage found in this index.
    damages: Option<Arc<Damages>>,
}

impl FollowedIndex {
    /// An index without a known writer yet.
    #[must_use]
    pub fn new(secondary: SecondaryReader) -> Self {
        FollowedIndex::of(secondary.into(), None)
    }

    /// An index that does not exist yet. It is tried once a second, and when the writer sends a tip. Until then it
    /// counts as empty.
    #[must_use]
    pub fn awaited(open: impl Fn() -> Result<Option<SecondaryReader>, ReadError> + Send + Sync + 'static) -> Self {
        FollowedIndex::of(OnceLock::new(), Some(Box::new(open)))
    }

    fn of(secondary: OnceLock<SecondaryReader>, open: Option<Open>) -> Self {
        let told = IndexSlot::new();
        told.mempool().set_absent(Absent::Lost);
        let (opening, coming, connected, goes_on, remote) = Default::default();
        FollowedIndex { secondary, open, opening, told, coming, connected, goes_on, remote, damages: None }
    }

    /// The same; found damages are forgotten when another index takes the place.
    #[must_use]
    pub fn with_damages(self, damages: Arc<Damages>) -> Self {
        FollowedIndex { damages: Some(damages), ..self }
    }

    /// Height of the best chain that a writer on another machine knows, known by other means than the socket. It counts
    /// while no writer is connected.
    pub fn set_remote_height(&self, height: Height) {
        self.remote.store(u64::from(height) + 1, Ordering::Relaxed);
    }

    /// The same, with a bound on the bytes of its mempool. To be called before it follows anything.
    #[must_use]
    pub fn with_mempool_memory(self, bytes: u64) -> Self {
        let told = self.told.with_mempool_memory(bytes);
        told.mempool().set_absent(Absent::Lost);
        FollowedIndex { told, ..self }
    }

    /// The index; `None` while there is none.
    fn secondary(&self) -> Option<&SecondaryReader> {
        self.secondary.get()
    }

    /// Opens the index if it exists by now.
    fn try_open(&self) {
        let Some(open) = &self.open else { return };
        if self.secondary().is_some() {
            return;
        }
        let mut last_error = self.opening.lock();
        // Another thread may have been first.
        if self.secondary().is_some() {
            return;
        }
        match open() {
            Ok(None) => {}
            Ok(Some(secondary)) => {
                if let Ok(tip) = secondary.reader().view().map(|view| *view.tip()) {
                    tracing::info!(height = tip.height, hash = %tip.hash, "index opened");
                }
                let _ = self.secondary.set(secondary);
            }
            Err(error) => {
                let error = error.to_string();
                if *last_error != error {
                    tracing::warn!(error, "the index cannot be opened yet");
                    *last_error = error;
                }
            }
        }
    }

    /// Starts threads that follow the writer until cancelled.
    pub fn follow(self: &Arc<Self>, datadir: &Path, cancel: &CancelToken) -> io::Result<FollowingThreads> {
        let projector = Projector::start(self.told.pool(), cancel)?;
        let hearing = Arc::clone(self);
        let listener = Listener::start(&datadir.join(SOCKET), move |event| hearing.hear(event))?;
        let (looking, cancel) = (Arc::clone(self), cancel.clone());
        let looks = thread::Builder::new().name("follower".to_owned()).spawn(move || looking.look(&cancel))?;
        Ok(FollowingThreads { listener, looks, projector })
    }

    /// Waits until all that a writer says first has arrived, its mempool last: then this process answers as one that
    /// has listened for long. Returns at once if no writer listens.
    pub fn wait_for_writer(&self, datadir: &Path, patience: Duration) {
        let until = Instant::now() + patience;
        let mut settled_at = until;
        while Instant::now() < until.min(settled_at) {
            let mempool = self.told.mempool().pin().absent(None);
            let has_mempool = matches!(mempool, Some(Absent::OtherTip | Absent::NotWatched));
            let is_heard = self.connected.load(Ordering::Relaxed) && self.told.source().is_some();
            if has_mempool || (!is_heard && UnixStream::connect(datadir.join(SOCKET)).is_err()) {
                return;
            }
            // A writer without a mempool says nothing more.
            if is_heard && settled_at == until {
                settled_at = until.min(Instant::now() + REST);
            }
            thread::sleep(LOOK);
        }
    }

    fn look(&self, cancel: &CancelToken) {
        let mut looks = 0u32;
        while !cancel.wait(POLL) {
            looks += 1;
            self.try_open();
            let Some(secondary) = self.secondary() else { continue };
            if looks.is_multiple_of(REFRESH) {
                // Rows written since, even at the same tip.
                self.moved(secondary.refresh());
            } else {
                self.moved(secondary.advance(None));
            }
        }
    }

    fn moved(&self, result: Result<Advanced, ReadError>) {
        if let (Ok(Advanced { replaced: true, .. }), Some(damages)) = (&result, &self.damages) {
            damages.forget();
        }
        match result {
            Ok(now) if now.replaced => {
                tracing::info!(height = now.tip.height, hash = %now.tip.hash, "another index has taken the place");
            }
            Ok(now) if now.moved => tracing::info!(height = now.tip.height, hash = %now.tip.hash, "tip moved"),
            Ok(_) => {}
            // The earlier state is still served; the next look may succeed.
            Err(error) => tracing::warn!(%error, "cannot follow the index"),
        }
    }

    /// Discards the mempool, because its changes are no longer received.
    fn forget_mempool(&self) {
        self.coming.lock().clear();
        self.told.mempool().set_absent(Absent::Lost);
    }

    fn hear(&self, event: Event) {
        match event {
            Event::Said(message) => self.take_in(message),
            Event::Found => {
                self.connected.store(true, Ordering::Relaxed);
                tracing::info!("connected to the writer");
                self.goes_on.store(false, Ordering::Relaxed);
                self.told.publish_troubles(&[]);
                self.forget_mempool();
            }
            Event::Lost(why) => {
                tracing::info!(why, "disconnected from the writer");
                self.connected.store(false, Ordering::Relaxed);
                self.told.set_best_height(None);
                self.told.set_source(None);
                if self.goes_on.load(Ordering::Relaxed) {
                    self.miss_writer(&why);
                }
                self.forget_mempool();
            }
        }
    }

    /// Reports that the writer is gone. It has not said that it would go.
    fn miss_writer(&self, why: &str) {
        let before = self.told.troubles().iter().find(|trouble| trouble.part == Part::Indexer).map(|t| t.since);
        let reason = format!("the process that writes the index is gone ({why})");
        let next = "serves what is on disk, and connects again as soon as it is back";
        let trouble = Trouble::new(Part::Indexer, &reason, next, before.unwrap_or_else(now_secs));
        self.told.publish_troubles(&[trouble]);
    }

    /// Each message is a call of [`Publish`] in the writer's process and becomes the same call here.
    fn take_in(&self, message: Message) {
        match message {
            Message::Tip { height, hash } => self.publish_tip(Some((height, hash))),
            Message::Events(seq) => self.publish_events(seq),
            Message::Best(best) => self.publish_best_height(best),
            Message::Mempool { deltas, complete } => {
                let mut coming = self.coming.lock();
                coming.extend(deltas);
                if complete {
                    self.publish_mempool(&mem::take(&mut *coming));
                }
            }
            Message::Source(status) => self.publish_source(&status),
            Message::Troubles(troubles) => self.publish_troubles(&troubles),
            Message::Prices(quotes) => self.publish_live_quotes(&quotes),
            Message::Hello { .. } => {}
        }
    }
}

impl Publish for FollowedIndex {
    fn publish_tip(&self, tip: Option<(Height, BlockHash)>) {
        self.try_open();
        if let Some(secondary) = self.secondary() {
            self.moved(secondary.advance(tip));
        }
    }

    fn publish_events(&self, seq: u64) {
        if let Some(secondary) = self.secondary()
            && !secondary.reader().view().is_ok_and(|view| view.tip().seq >= seq)
        {
            self.moved(secondary.refresh());
        }
    }

    fn publish_live_quotes(&self, quotes: &[LiveQuote]) {
        self.told.publish_live_quotes(quotes);
    }

    fn publish_best_height(&self, best: Option<Height>) {
        self.told.publish_best_height(best);
    }

    fn publish_source(&self, status: &SourceStatus) {
        self.told.publish_source(status);
    }

    fn publish_troubles(&self, troubles: &[Trouble]) {
        self.goes_on.store(true, Ordering::Relaxed);
        self.told.publish_troubles(troubles);
    }

    fn publish_connected(&self, deltas: &[MempoolDelta]) {
        self.told.publish_connected(deltas);
    }

    fn publish_mempool(&self, deltas: &[MempoolDelta]) {
        self.told.publish_mempool(deltas);
    }
}

impl IndexSource for FollowedIndex {
    fn reader(&self) -> Option<Arc<Reader>> {
        self.secondary().map(SecondaryReader::reader)
    }

    fn best_height(&self) -> Option<Height> {
        let connected = self.connected.load(Ordering::Relaxed);
        let remote = if connected { 0 } else { self.remote.load(Ordering::Relaxed) };
        let remote = || remote.checked_sub(1).and_then(|height| Height::try_from(height).ok());
        // Without a connection, nothing has arrived over it.
        self.told.best_height().or_else(remote)
    }

    fn mempool(&self) -> &MempoolSlot {
        self.told.mempool()
    }

    fn source(&self) -> Option<SourceStatus> {
        self.told.source()
    }

    fn troubles(&self) -> Arc<[Trouble]> {
        self.told.troubles()
    }

    fn live_quotes(&self) -> Arc<[LiveQuote]> {
        self.told.live_quotes()
    }
}

/// The threads that follow a writer.
pub struct FollowingThreads {
    listener: Listener,
    looks: JoinHandle<()>,
    projector: Projector,
}

impl FollowingThreads {
    /// Waits for their end after cancellation. Returns false if one of them panicked.
    #[must_use]
    pub fn join(self) -> bool {
        drop(self.listener);
        let looks = self.looks.join().is_ok();
        self.projector.join() && looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_writer_counts_while_none_is_connected() {
        let index = FollowedIndex::awaited(|| Ok(None));
        assert_eq!(index.best_height(), None);
        index.set_remote_height(7);
        assert_eq!(index.best_height(), Some(7));
        index.set_remote_height(5);
        assert_eq!(index.best_height(), Some(5), "it may go back");
        index.hear(Event::Found);
        assert_eq!(index.best_height(), None, "the one that is connected has not said yet");
        index.hear(Event::Said(Message::Best(Some(3))));
        index.set_remote_height(9);
        assert_eq!(index.best_height(), Some(3));
        index.hear(Event::Lost("it ended".to_owned()));
        assert_eq!(index.best_height(), Some(9));
        assert!(index.troubles().is_empty(), "it was not to go on");
    }

    #[test]
    fn a_writer_that_was_to_go_on_is_missed() {
        let index = FollowedIndex::awaited(|| Ok(None));
        index.hear(Event::Found);
        index.hear(Event::Said(Message::Troubles(Vec::new())));
        assert!(index.troubles().is_empty());
        index.hear(Event::Lost("closed".to_owned()));
        let parts: Vec<Part> = index.troubles().iter().map(|trouble| trouble.part).collect();
        assert_eq!(parts, [Part::Indexer]);
        index.hear(Event::Found);
        assert!(index.troubles().is_empty());
        let full = Trouble::new(Part::Disk, "the disk is full", "waits", 7);
        index.hear(Event::Said(Message::Troubles(vec![full.clone()])));
        assert_eq!(*index.troubles(), [full]);
    }
}
