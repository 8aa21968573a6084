//! Tells readers in other processes of each tip that is durable.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use cairn_link::{Announcer, Message};
use cairn_model::{BlockHash, Height};

/// Name of the socket in the data folder.
pub(crate) const SOCKET: &str = "cairn.sock";

type Known = Arc<Mutex<(Option<(Height, BlockHash)>, Option<Height>)>>;

/// The writer's voice. Where no socket can be made readers find out by looking, a second later.
pub(crate) struct Announce {
    announcer: Option<Announcer>,
    known: Known,
}

impl Announce {
    /// Opens the socket in the data folder. The caller holds the index for writing.
    pub(crate) fn open(datadir: &Path) -> Self {
        let known = Known::default();
        let present = Arc::clone(&known);
        let present = move || {
            let (tip, best) = *present.lock().unwrap_or_else(PoisonError::into_inner);
            let tip = tip.map(|(height, hash)| Message::Tip { height, hash });
            tip.into_iter().chain([Message::Best(best)]).collect()
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
        if known.0 == tip {
            return;
        }
        known.0 = tip;
        drop(known);
        if let (Some(announcer), Some((height, hash))) = (&self.announcer, tip) {
            announcer.announce(&Message::Tip { height, hash });
        }
    }

    /// The best chain that is known, indexed or not, has this height.
    pub(crate) fn best(&self, best: Option<Height>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.1 == best {
            return;
        }
        known.1 = best;
        drop(known);
        if let Some(announcer) = &self.announcer {
            announcer.announce(&Message::Best(best));
        }
    }
}
