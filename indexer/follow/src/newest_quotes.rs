//! Hands current prices from their fetchers to the follower, the only one that writes and publishes.

use std::sync::Arc;

use cairn_events::LiveQuote;
use parking_lot::Mutex;

/// A place for the newest prices. Clones share it. Neither side waits for the other: what the follower has not taken
/// yet is replaced.
#[derive(Clone, Default, Debug)]
pub struct NewestQuotes(Arc<Mutex<Option<Vec<LiveQuote>>>>);

impl NewestQuotes {
    /// Puts prices there.
    pub fn put(&self, quotes: Vec<LiveQuote>) {
        *self.0.lock() = Some(quotes);
    }

    /// Takes them away; `None` if nobody has put any since the last time.
    pub(crate) fn take(&self) -> Option<Vec<LiveQuote>> {
        self.0.lock().take()
    }
}
