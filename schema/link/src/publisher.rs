//! Publishes the state of an index over the socket to readers in other processes.

use std::{mem, path::Path, sync::Arc};

use cairn_events::LiveQuote;
use cairn_model::{BlockHash, Height, MempoolDelta, SourceStatus, Trouble};
use parking_lot::Mutex;

use crate::{Announcer, MempoolSlot, Message, Publish, mempool_messages};

/// Name of the socket in the data folder.
pub const SOCKET: &str = "cairn.sock";

/// State for a new reader, besides the mempool.
#[derive(Default)]
struct FirstState {
    tip: Option<(Height, BlockHash)>,
    best: Option<Height>,
    source: SourceStatus,
    prices: Vec<LiveQuote>,
    /// `None`: the writer ends by itself, and nobody must miss it.
    troubles: Option<Vec<Trouble>>,
}

impl FirstState {
    fn messages(&self) -> Vec<Message> {
        let mut messages = vec![
            Message::Best(self.best),
            Message::Source(Box::new(self.source.clone())),
            Message::Prices(self.prices.clone()),
        ];
        messages.extend(self.troubles.clone().map(Message::Troubles));
        messages.extend(self.tip.map(|(height, hash)| Message::Tip { height, hash }));
        messages
    }
}

/// Publishes to readers in other processes. Without a socket, they find new blocks a second later.
pub struct SocketPublisher {
    announcer: Option<Announcer>,
    known: Arc<Mutex<FirstState>>,
    /// Mempool deltas of blocks that are not on disk yet.
    held: Mutex<Vec<MempoolDelta>>,
}

impl SocketPublisher {
    /// Opens the socket in the data folder. The caller has the index open for writing and its mempool in `mempool`.
    #[must_use]
    pub fn open(datadir: &Path, mempool: Arc<MempoolSlot>) -> Self {
        let known = Arc::<Mutex<FirstState>>::default();
        let present = Arc::clone(&known);
        let present = move || {
            let mut messages = present.lock().messages();
            messages.extend(mempool_messages(&mempool.snapshot()));
            messages
        };
        let path = datadir.join(SOCKET);
        let announcer = match Announcer::bind(&path, Box::new(present)) {
            Ok(announcer) => Some(announcer),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot create the socket: `cairn serve` sees new blocks a second later");
                None
            }
        };
        SocketPublisher { announcer, known, held: Mutex::default() }
    }

    fn announce(&self, message: &Message) {
        if let Some(announcer) = &self.announcer {
            announcer.announce(message);
        }
    }

    fn announce_mempool(&self, deltas: &[MempoolDelta]) {
        if let Some(announcer) = self.announcer.as_ref().filter(|a| a.readers() > 0) {
            for message in mempool_messages(deltas) {
                announcer.announce(&message);
            }
        }
    }
}

impl Publish for SocketPublisher {
    fn publish_tip(&self, tip: Option<(Height, BlockHash)>) {
        let known = mem::replace(&mut self.known.lock().tip, tip);
        if let Some((height, hash)) = tip.filter(|_| known != tip) {
            self.announce(&Message::Tip { height, hash });
        }
        let held = mem::take(&mut *self.held.lock());
        self.announce_mempool(&held);
    }

    fn publish_events(&self, seq: u64) {
        // A later reader opens the index as it is then.
        self.announce(&Message::Events(seq));
    }

    fn publish_live_quotes(&self, quotes: &[LiveQuote]) {
        self.known.lock().prices = quotes.to_vec();
        self.announce(&Message::Prices(quotes.to_vec()));
    }

    fn publish_best_height(&self, best: Option<Height>) {
        if mem::replace(&mut self.known.lock().best, best) != best {
            self.announce(&Message::Best(best));
        }
    }

    fn publish_source(&self, status: &SourceStatus) {
        self.known.lock().source = status.clone();
        self.announce(&Message::Source(Box::new(status.clone())));
    }

    fn publish_troubles(&self, troubles: &[Trouble]) {
        self.known.lock().troubles = Some(troubles.to_vec());
        self.announce(&Message::Troubles(troubles.to_vec()));
    }

    fn publish_connected(&self, deltas: &[MempoolDelta]) {
        self.held.lock().extend_from_slice(deltas);
    }

    fn publish_mempool(&self, deltas: &[MempoolDelta]) {
        let mut held = self.held.lock();
        if held.is_empty() {
            drop(held);
            self.announce_mempool(deltas);
        } else {
            // In order: these come after a block that is not on disk yet.
            held.extend_from_slice(deltas);
        }
    }
}
