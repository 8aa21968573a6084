//! Rows of late stages: they follow the chain after the other stages, so their rows may end some blocks below the tip.

use cairn_model::{Height, Sats, TxNum};
use cairn_tables::{
    flushes::{FlushAlertRow, FlushAlerts, FlushRow, Flushes, InputKey},
    stages::{FLUSHES, StageInfo, WAKEUPS},
    wakeups::Wakeups,
    watchlist::{WatchHead, WatchHeadRow, WatchKey, WatchRow, Watchlist},
};

use crate::{Backward, ReadError, View, subjects::MovementView, view::check_version};

/// A late stage that is further behind the tip is being made, as far as answers go: a day. A reorganization takes it a
/// few blocks back for a moment.
const MAX_BEHIND: u32 = 144;

/// Walks through dormancy flushes, the newest first.
pub type FlushWalk<'v> = Backward<'v, Flushes>;

/// Walks through the moments at which dormancy flushes reached 100 BTC, the newest first.
pub type FlushAlertWalk<'v> = Backward<'v, FlushAlerts>;

/// Walks through whale wake-ups, the newest first.
pub type WakeupWalk<'v> = Backward<'v, Wakeups>;

impl View<'_> {
    /// The newest block that a late stage has followed: the tip, or a little below while it follows. One row read.
    ///
    /// # Errors
    /// Returns [`ReadError::Unfinished`] while the stage is being made, or if its block is gone;
    /// [`ReadError::StageVersion`] if another program wrote its rows.
    pub fn late(&self, stage: &StageInfo) -> Result<Height, ReadError> {
        let found = self.checkpoint(stage.name)?.ok_or(ReadError::Unfinished(stage.name))?;
        check_version(stage, &found)?;
        let is_near = self.tip().height.saturating_sub(found.height) <= MAX_BEHIND;
        if found.is_of(stage) && is_near && self.chain().is(found.height, &found.hash) {
            Ok(found.height)
        } else {
            Err(ReadError::Unfinished(stage.name))
        }
    }
}

impl<'v> MovementView<'v> {
    /// Begins at the newest dormancy flush whose first spend is before `end`; windows that have not reached 100 BTC are
    /// among them while they are open.
    pub fn flushes_before(self, end: TxNum) -> Result<Option<FlushWalk<'v>>, ReadError> {
        self.view.late(&FLUSHES)?;
        Backward::before(self.view, end)
    }

    /// The windows that reached 100 BTC with the transactions of a range, ascending.
    pub fn flush_alerts(self, txs: std::ops::Range<TxNum>) -> Result<Vec<(TxNum, InputKey, FlushAlertRow)>, ReadError> {
        self.view.late(&FLUSHES)?;
        let first = (txs.start, InputKey { tx_num: TxNum(0), vin: 0 });
        let rows = self.view.scan_while::<FlushAlerts>(first, |(tx_num, _)| *tx_num < txs.end)?;
        rows.map(|row| row.map(|((tx_num, window), row)| (tx_num, window, row))).collect()
    }

    /// Begins at the newest transaction before `end` with which a dormancy flush reached 100 BTC.
    pub fn flush_alerts_before(self, end: TxNum) -> Result<Option<FlushAlertWalk<'v>>, ReadError> {
        self.view.late(&FLUSHES)?;
        Backward::before(self.view, end)
    }

    /// A dormancy flush by its first spend; `None` if it is gone. One row read.
    pub fn flush(self, window: &InputKey) -> Result<Option<FlushRow>, ReadError> {
        self.view.get::<Flushes>(window)
    }

    /// Begins at the newest whale wake-up before `end`.
    pub fn wakeups_before(self, end: TxNum) -> Result<Option<WakeupWalk<'v>>, ReadError> {
        self.view.late(&WAKEUPS)?;
        Backward::before(self.view, end)
    }

    /// Block of the watchlist; `None` while there is none, or it is of a block that is gone. One row read.
    pub fn watch_head(self) -> Result<Option<WatchHeadRow>, ReadError> {
        let head = self.view.get::<WatchHead>(&())?;
        Ok(head.filter(|head| self.view.chain().is(head.height, &head.hash)))
    }

    /// At most `limit` clusters of the watchlist with old coins of at least `least` satoshis, those with most first,
    /// after `skip` of them; and whether there are more.
    pub fn watched(
        self,
        least: Sats,
        skip: usize,
        limit: usize,
    ) -> Result<(Vec<(WatchKey, WatchRow)>, bool), ReadError> {
        let rows = self.view.scan::<Watchlist>(None)?;
        let rows = rows.take_while(|row| row.as_ref().map_or(true, |(key, _)| key.sats >= least));
        let mut found = rows.skip(skip).take(limit.saturating_add(1)).collect::<Result<Vec<_>, _>>()?;
        let has_more = found.len() > limit;
        found.truncate(limit);
        Ok((found, has_more))
    }
}
