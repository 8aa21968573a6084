//! The index that the follower updates.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_link::{MempoolSlot, Publish, Publishers};
use cairn_mempool::MempoolOptions;
use cairn_model::{BlockHash, CancelToken, Height};
use cairn_pipeline::{Engine, LedgerError, Progress};
use prometheus::Registry;

use crate::{
    FollowError, NewestQuotes,
    figures::Figures,
    room::{Disk, NoRoom},
    troubles::Troubles,
};

/// An index opened for writing, and its readers.
pub struct OpenIndex {
    pub(crate) engine: Engine,
    pub(crate) datadir: PathBuf,
    pub(crate) readers: Publishers,
    /// The mempool in this process, for samples.
    pub(crate) mempool: Arc<MempoolSlot>,
    /// Limits of watching the node's mempool.
    pub(crate) watching: MempoolOptions,
    pub(crate) progress: Arc<dyn Progress + Send + Sync>,
    figures: Option<Figures>,
    /// Where the prices of the moment come from.
    newest: NewestQuotes,
    /// Troubles that keep the follower from working.
    pub(crate) troubles: Arc<Troubles>,
    disk: Disk,
    /// True while there is no room: nothing is written.
    pub(crate) paused: bool,
    /// Until when the inbox of events is left alone, since it could not be used.
    inbox_waits: Cell<Option<Instant>>,
    /// When tweaks of silent payments were last made durable.
    tweaks_settled: Cell<Instant>,
}

/// Time between two commits of tweaks that are made durable.
const TWEAKS_SETTLE: Duration = Duration::from_secs(10);

/// How long an inbox is left alone that could not be used.
const INBOX_PAUSE: Duration = Duration::from_secs(60);

impl OpenIndex {
    /// The index of an engine in `datadir`. Changes are published to `readers`, one of which has its mempool in
    /// `mempool`. The token of `progress` cancels the work.
    pub fn new(
        engine: Engine,
        datadir: &Path,
        readers: Publishers,
        mempool: Arc<MempoolSlot>,
        progress: Arc<dyn Progress + Send + Sync>,
    ) -> Self {
        let watching = MempoolOptions::default();
        let (figures, newest, inbox_waits) = (None, NewestQuotes::default(), Cell::default());
        let (troubles, disk) = (Arc::new(Troubles::new(readers.clone())), Disk::of(datadir));
        OpenIndex {
            engine,
            datadir: datadir.to_owned(),
            readers,
            mempool,
            watching,
            progress,
            figures,
            newest,
            troubles,
            disk,
            paused: false,
            inbox_waits,
            tweaks_settled: Cell::new(Instant::now()),
        }
    }

    /// Limits the memory of the mempool watcher and of the mempool of readers to `bytes` bytes together.
    #[must_use]
    pub fn with_mempool_memory(self, bytes: u64) -> Self {
        OpenIndex { watching: MempoolOptions::within(bytes), ..self }
    }

    /// The same; the prices of the moment come from here.
    #[must_use]
    pub fn with_newest_quotes(self, newest: NewestQuotes) -> Self {
        OpenIndex { newest, ..self }
    }

    /// The same; tweaks of silent payments are made, or not.
    #[must_use]
    pub fn with_silent_payments(mut self, is_on: bool) -> Self {
        self.engine.set_silent_payments(is_on);
        self
    }

    /// The same, with metrics in this registry.
    pub(crate) fn counted_in(self, registry: &Registry) -> Result<Self, FollowError> {
        Ok(OpenIndex { figures: Some(Figures::register(registry)?), ..self })
    }

    /// Updates the metrics, if there are any.
    pub(crate) fn count(&self, tell: impl FnOnce(&Figures)) {
        self.figures.as_ref().map(tell);
    }

    /// Its newest block; `None` if it is empty.
    pub fn tip(&self) -> Result<Option<(Height, BlockHash)>, FollowError> {
        Ok(self.engine.tip()?)
    }

    /// Height of its newest block; `None` if it is empty.
    pub fn height(&self) -> Result<Option<Height>, FollowError> {
        Ok(self.tip()?.map(|(height, _)| height))
    }

    /// True if it is at this height or above.
    pub fn is_at(&self, to: Height) -> Result<bool, FollowError> {
        Ok(self.height()?.is_some_and(|height| height >= to))
    }

    /// Why nothing can be written at present. Until a later call finds that it can, the inbox is left alone, too.
    pub(crate) fn lacks_room(&mut self) -> Option<NoRoom> {
        let lacks = self.disk.lacks_room();
        self.paused = lacks.is_some();
        lacks
    }

    /// The token that cancels the work.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        self.progress.cancel_token()
    }

    /// Takes in the inbox of events and the newest prices, and publishes them.
    ///
    /// # Errors
    /// Fails if the index or the disk fails. A file that is at fault is set aside instead.
    pub(crate) fn take_events(&self) -> Result<(), FollowError> {
        if self.paused {
            return Ok(());
        }
        self.take_newest_quotes()?;
        if self.inbox_waits.get().is_some_and(|until| Instant::now() < until) {
            return Ok(());
        }
        let now = u32::try_from(cairn_clock::now_secs()).unwrap_or(u32::MAX);
        let drained = match self.engine.drain_inbox(now) {
            // A file that another user put there does not stop blocks, nor does a request that takes long.
            Err(error @ (LedgerError::Inbox { .. } | LedgerError::Archive { .. } | LedgerError::StillRead)) => {
                tracing::error!(%error, "input events cannot be taken; it is tried again in a minute");
                self.inbox_waits.set(Instant::now().checked_add(INBOX_PAUSE));
                return Ok(());
            }
            drained => drained?,
        };
        for refused in &drained.refused {
            let path = refused.path.display();
            tracing::error!(%path, reason = refused.reason, "a file of events was not taken");
        }
        if drained.files.is_empty() && drained.restored == 0 {
            return Ok(());
        }
        let seq = self.engine.last_event()?;
        tracing::info!(documents = drained.files.iter().map(|(_, all)| all.len()).sum::<usize>(), seq, "events taken");
        self.readers.publish_events(seq);
        self.publish_feed()
    }

    /// Keeps and publishes the prices of the moment, if there are new ones.
    fn take_newest_quotes(&self) -> Result<(), FollowError> {
        if self.tip()?.is_some()
            && let Some(quotes) = self.newest.take()
        {
            self.engine.keep_live_quotes(&quotes)?;
            self.readers.publish_live_quotes(&quotes);
        }
        Ok(())
    }

    /// Publishes the newest prices that the index has, from an earlier run. They are observations: damage of them does
    /// not stop blocks.
    pub(crate) fn publish_kept_prices(&self) -> Result<(), FollowError> {
        if self.tip()?.is_none() {
            return Ok(());
        }
        match self.engine.reader().view()?.ledger().live_quotes() {
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "the newest prices of an earlier run are damaged: `cairn repair` drops them");
            }
            quotes => self.readers.publish_live_quotes(&quotes?),
        }
        Ok(())
    }

    /// Writes the tweaks of silent payments that were made since the last call, if they are asked for.
    pub(crate) fn take_tweaks(&self) -> Result<(), FollowError> {
        if self.paused || !self.engine.follow_silent_payments(self.progress.as_ref(), false)? {
            return Ok(());
        }
        // Readers in other processes see only what is durable. While tweaks are being made for the first time, that
        // is enough now and then; those of a new block are wanted at once.
        let span = self.engine.reader().view()?.silent_payments().span()?;
        let is_at_tip = span.map(|span| (span.height, span.hash)) == self.engine.tip()?;
        if is_at_tip || self.tweaks_settled.get().elapsed() > TWEAKS_SETTLE {
            self.tweaks_settled.set(Instant::now());
            self.settle()?;
        }
        Ok(())
    }

    /// Announces what the connected blocks have, at the tip of the source, after late stages have followed it; `waits`:
    /// for the watchlist, too, which is made in a thread otherwise. Returns whether there was anything; it is durable
    /// and published with the next [`OpenIndex::settle`].
    pub(crate) fn announce(&self, waits: bool) -> Result<bool, FollowError> {
        let wrote = self.engine.follow_up(self.progress.as_ref(), waits)?;
        let now = u32::try_from(cairn_clock::now_secs()).unwrap_or(u32::MAX);
        Ok(self.engine.follow_feed(now)? | wrote)
    }

    /// Makes the connected blocks durable, and publishes the tip.
    pub fn settle(&self) -> Result<(), FollowError> {
        self.engine.settle()?;
        self.readers.publish_tip(self.engine.tip()?);
        self.publish_feed()
    }

    /// Publishes how far the feed is, when all of it is on disk.
    pub(crate) fn publish_feed(&self) -> Result<(), FollowError> {
        if self.tip()?.is_some()
            && let Some(feed) = self.engine.reader().view()?.feed().span()?
        {
            self.readers.publish_feed(feed.last);
        }
        Ok(())
    }
}
