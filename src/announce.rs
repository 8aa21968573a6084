//! Tells readers in other processes of each tip that is durable.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use cairn_link::MempoolSlot;
use cairn_link::{Announcer, Message, mempool_messages};
use cairn_model::{BlockHash, Height, MempoolDelta, SourceStatus};

/// Name of the socket in the data folder.
pub(crate) const SOCKET: &str = "cairn.sock";

/// What a reader that comes late is told, beside the mempool.
#[derive(Default)]
struct Known {
    tip: Option<(Height, BlockHash)>,
    best: Option<Height>,
    source: SourceStatus,
}

/// The writer's voice. Where no socket can be made readers find out by looking, a second later.
pub(crate) struct Announce {
    announcer: Option<Announcer>,
    known: Arc<Mutex<Known>>,
}

impl Announce {
    /// Opens the socket in the data folder. The caller holds the index for writing.
    pub(crate) fn open(datadir: &Path, mempool: Arc<MempoolSlot>) -> Self {
        let known = Arc::<Mutex<Known>>::default();
        let present = Arc::clone(&known);
        let present = move || {
            let known = present.lock().unwrap_or_else(PoisonError::into_inner);
            let mut messages = vec![Message::Best(known.best), Message::Source(Box::new(known.source.clone()))];
            messages.extend(known.tip.map(|(height, hash)| Message::Tip { height, hash }));
            drop(known);
            messages.extend(mempool_messages(&mempool.snapshot()));
            messages
        };
        let path = datadir.join(SOCKET);
        let announcer = match Announcer::bind(&path, Box::new(present)) {
            Ok(announcer) => Some(announcer),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "no socket: `cairn serve` sees new blocks a second later");
                None
            }
        };
        Announce { announcer, known }
    }

    /// The index is at this block, durably.
    pub(crate) fn tip(&self, tip: Option<(Height, BlockHash)>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.tip == tip {
            return;
        }
        known.tip = tip;
        drop(known);
        if let (Some(announcer), Some((height, hash))) = (&self.announcer, tip) {
            announcer.announce(&Message::Tip { height, hash });
        }
    }

    /// The best chain that is known, indexed or not, has this height.
    pub(crate) fn best(&self, best: Option<Height>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.best == best {
            return;
        }
        known.best = best;
        drop(known);
        if let Some(announcer) = &self.announcer {
            announcer.announce(&Message::Best(best));
        }
    }

    /// The mempool changed, in one step.
    pub(crate) fn mempool(&self, deltas: &[MempoolDelta]) {
        if let Some(announcer) = self.announcer.as_ref().filter(|a| a.readers() > 0) {
            for message in mempool_messages(deltas) {
                announcer.announce(&message);
            }
        }
    }

    /// This is known of the source now.
    pub(crate) fn source(&self, status: &SourceStatus) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).source = status.clone();
        if let Some(announcer) = &self.announcer {
            announcer.announce(&Message::Source(Box::new(status.clone())));
        }
    }
}
