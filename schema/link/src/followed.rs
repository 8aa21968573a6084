//! An index that another process writes: read through a secondary instance of its database, and moved along by what the
//! writer says over the socket. A look now and then finds what the socket did not tell.

use std::{
    io, mem,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_model::{BlockHash, CancelToken, Height, MempoolDelta, SourceStatus};
use cairn_reader::{Advanced, ReadError, Reader, SecondaryReader};

use crate::{
    Absent, Event, IndexSlot, IndexSource, Listener, MempoolSlot, Message, Projector, Publish, publisher::SOCKET,
};

/// Time between two looks at what the writer has committed, should it not say so itself.
const POLL: Duration = Duration::from_secs(1);
/// So many looks later what belongs to no block is taken in too: samples of the mempool.
const REFRESH: u32 = 30;

/// An index that another process may be writing.
pub struct FollowedIndex {
    secondary: SecondaryReader,
    /// What the writer tells besides. Its own place for a reader stays empty.
    told: IndexSlot,
    /// Deltas of a step that is not complete yet: nothing of it may be seen.
    coming: Mutex<Vec<MempoolDelta>>,
}

impl FollowedIndex {
    /// An index of whose writer nothing is known yet.
    #[must_use]
    pub fn new(secondary: SecondaryReader) -> Self {
        let told = IndexSlot::new();
        told.mempool().set_absent(Absent::Lost);
        FollowedIndex { secondary, told, coming: Mutex::default() }
    }

    /// Begins to follow the writer, on threads of its own, until cancelled.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn follow(self: &Arc<Self>, datadir: &Path, cancel: &CancelToken) -> io::Result<FollowingThreads> {
        let projector = Projector::start(self.told.pool(), cancel)?;
        let hearing = Arc::clone(self);
        let listener = Listener::start(&datadir.join(SOCKET), move |event| hearing.hear(event))?;
        let (looking, cancel) = (Arc::clone(self), cancel.clone());
        let looks = thread::Builder::new().name("follower".to_owned()).spawn(move || looking.look(&cancel))?;
        Ok(FollowingThreads { listener, looks, projector })
    }

    fn look(&self, cancel: &CancelToken) {
        let mut looks = 0u32;
        while !cancel.wait(POLL) {
            looks += 1;
            if looks.is_multiple_of(REFRESH) {
                // What was written since, even at the same tip.
                Self::moved(self.secondary.refresh());
            } else {
                Self::moved(self.secondary.advance(None));
            }
        }
    }

    fn moved(result: Result<Advanced, ReadError>) {
        match result {
            Ok(now) if now.moved => tracing::info!(height = now.tip.height, hash = %now.tip.hash, "tip moved"),
            Ok(_) => {}
            // What was served before still is; the next look may succeed.
            Err(error) => tracing::warn!(%error, "cannot follow the index"),
        }
    }

    /// What is known of the mempool is void: from here on nobody tells of its changes.
    fn forget_mempool(&self) {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.told.mempool().set_absent(Absent::Lost);
    }

    fn hear(&self, event: Event) {
        match event {
            Event::Said(message) => self.take_in(message),
            Event::Found => {
                tracing::info!("connected to the writer");
                self.forget_mempool();
            }
            Event::Lost(why) => {
                tracing::info!(why, "disconnected from the writer");
                self.told.set_best_height(None);
                self.told.set_source(None);
                self.forget_mempool();
            }
        }
    }

    /// A message is a call of [`Publish`] in the writer's process, and becomes the same call here.
    fn take_in(&self, message: Message) {
        match message {
            Message::Tip { height, hash } => self.publish_tip(Some((height, hash))),
            Message::Best(best) => self.publish_best_height(best),
            Message::Mempool { deltas, complete } => {
                let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
                coming.extend(deltas);
                if complete {
                    self.publish_mempool(&mem::take(&mut *coming));
                }
            }
            Message::Source(status) => self.publish_source(&status),
            Message::Hello { .. } => {}
        }
    }
}

impl Publish for FollowedIndex {
    fn publish_tip(&self, tip: Option<(Height, BlockHash)>) {
        Self::moved(self.secondary.advance(tip));
    }

    fn publish_best_height(&self, best: Option<Height>) {
        self.told.publish_best_height(best);
    }

    fn publish_source(&self, status: &SourceStatus) {
        self.told.publish_source(status);
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
        Some(self.secondary.reader())
    }

    fn best_height(&self) -> Option<Height> {
        self.told.best_height()
    }

    fn mempool(&self) -> &MempoolSlot {
        self.told.mempool()
    }

    fn source(&self) -> Option<SourceStatus> {
        self.told.source()
    }
}

/// The threads that follow a writer.
pub struct FollowingThreads {
    listener: Listener,
    looks: JoinHandle<()>,
    projector: Projector,
}

impl FollowingThreads {
    /// Waits for their end, once they are cancelled. Returns whether none of them panicked.
    #[must_use]
    pub fn join(self) -> bool {
        drop(self.listener);
        let looks = self.looks.join().is_ok();
        self.projector.join() && looks
    }
}
