//! Makes the watchlist again when it is time.

use std::sync::Arc;

use cairn_reader::{ReadError, View};
use cairn_tables::{
    TableInfo,
    watchlist::{WatchHead, WatchKey, Watchlist},
};

use super::{NewWatchlist, make};
use crate::{Engine, PipelineError, Progress, background::Outcome};

/// Blocks after which the watchlist is made again: a day.
const EVERY: u32 = 144;

/// Whether it must be made: there is none, or its block is gone or old.
fn is_due(view: &View<'_>) -> Result<bool, ReadError> {
    let Some(head) = view.get::<WatchHead>(&())? else { return Ok(true) };
    Ok(!view.chain().is(head.height, &head.hash) || view.tip().height >= head.height.saturating_add(EVERY))
}

/// Keeps the watchlist of an engine up to date.
pub(crate) struct WatchlistFollower<'e> {
    pub(crate) engine: &'e Engine,
}

impl WatchlistFollower<'_> {
    /// As [`Engine::follow_watchlist`].
    pub(crate) fn follow(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        if self.engine.tip()?.is_none() {
            return Ok(false);
        }
        let view = self.engine.reader.view()?;
        if let Some(made) = self.engine.watchlist.take(waits)
            && self.take(&view, made)?
        {
            return Ok(true);
        }
        if self.engine.watchlist.is_busy(view.tip().height) || !is_due(&view)? {
            return Ok(false);
        }
        if waits {
            let made = make(&view, progress.cancel_token());
            return self.take(&view, made);
        }
        let reader = Arc::clone(&self.engine.reader);
        self.engine.watchlist.start("watchlist", move |cancel| make(&reader.view()?, cancel));
        Ok(false)
    }

    /// Writes a finished watchlist, if its block is still there. Damage of the tables that it is made from does not
    /// stop blocks.
    fn take(&self, view: &View<'_>, made: Outcome<NewWatchlist>) -> Result<bool, PipelineError> {
        match made {
            Ok(Some(made)) if view.chain().is(made.head.height, &made.head.hash) => self.write(&made).map(|()| true),
            Ok(_) => Ok(false),
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "the watchlist cannot be made: `cairn verify` says what is damaged");
                self.engine.watchlist.rest(view.tip().height);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn write(&self, made: &NewWatchlist) -> Result<(), PipelineError> {
        let old: Vec<WatchKey> = {
            let view = self.engine.reader.view()?;
            view.scan::<Watchlist>(None)?.map(|row| row.map(|(key, _)| key)).collect::<Result<_, _>>()?
        };
        self.engine.writer.commit::<PipelineError>(|batch| {
            old.iter().for_each(|key| batch.delete_row::<Watchlist>(key));
            made.rows.iter().for_each(|(key, row)| batch.put_row::<Watchlist>(key, row));
            batch.put_row::<WatchHead>(&(), &made.head);
            Ok(())
        })
    }

    /// Removes the watchlist: it is made again when the chain is followed next.
    pub(crate) fn forget(&self) -> Result<(), PipelineError> {
        [TableInfo::of::<WatchHead>(), TableInfo::of::<Watchlist>()]
            .iter()
            .try_for_each(|table| Ok(self.engine.writer.clear(table)?))
    }
}
