//! The watchlist: clusters with 500 BTC or more of coins of five years and more that spent nothing for five years, as of one
//! block. It is made from two walks through whole tables, in a thread of its own beside new blocks, and made anew after
//! [`EVERY`] blocks.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use bitcoin::hashes::{Hash, HashEngine, sha256};
use cairn_domain::{
    dormancy::{WATCH_SATS, WATCH_YEARS, YEAR},
    script_sha256,
};
use cairn_model::{CancelToken, Sats, ScriptId, TxNum};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    Table, TableInfo,
    clusters::{ClusterRow, Clusters},
    coins::{CoinValue, CoinsByScript},
    flushes::Holder,
    stages::{CLUSTERS, COINS, SCRIPTS, SPENDS},
    watchlist::{WatchHead, WatchHeadRow, WatchKey, WatchRow, Watchlist},
};

use super::sleep::{At, Sleep};
use crate::{Engine, PipelineError, Progress};

/// Blocks after which it is made anew: a day.
const EVERY: u32 = 144;
/// Rows that are walked through between two looks at whether to stop.
const ROWS: u32 = 1 << 16;

/// A watchlist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Made {
    pub(crate) head: WatchHeadRow,
    /// In the order of the table.
    pub(crate) rows: Vec<(WatchKey, WatchRow)>,
}

/// A watchlist that is being made in a thread, which ends with this.
#[derive(Default)]
pub(crate) struct Making(Mutex<Option<Thread>>);

struct Thread {
    cancel: CancelToken,
    handle: Option<JoinHandle<Result<Option<Made>, PipelineError>>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.cancel.cancel();
        // What it found is not wanted any more.
        self.handle.take().map(JoinHandle::join);
    }
}

/// Whether the tables can be read that it is made from.
fn can_make(view: &View<'_>) -> Result<bool, ReadError> {
    for stage in [COINS, SCRIPTS, SPENDS, CLUSTERS] {
        match view.require(&stage) {
            Err(ReadError::Unfinished(_) | ReadError::StageVersion { .. }) => return Ok(false),
            other => other?,
        }
    }
    Ok(true)
}

/// Walks through a table, as long as nobody cancels.
fn walk<T: Table>(
    view: &View<'_>,
    cancel: &CancelToken,
    mut row: impl FnMut(&[u8], &[u8]) -> Result<(), ReadError>,
) -> Result<(), PipelineError> {
    let (mut count, mut outcome) = (0u32, Ok(()));
    let mut stopped = false;
    view.table_rows_while(&TableInfo::of::<T>(), |key, value| {
        count = count.wrapping_add(1);
        stopped = count.is_multiple_of(ROWS) && cancel.is_cancelled();
        outcome = row(key, value);
        outcome.is_ok() && !stopped
    })?;
    outcome?;
    if stopped { Err(PipelineError::Stopped) } else { Ok(()) }
}

/// Scripts and clusters that hold enough coins of any age.
fn candidates(view: &View<'_>, cancel: &CancelToken) -> Result<Vec<Holder>, PipelineError> {
    let mut found = Vec::new();
    walk::<Clusters>(view, cancel, |key, row| {
        if ClusterRow::is_root(row)
            && let ClusterRow::Root(counts) = Clusters::decode_value(row)?
            && counts.balance >= WATCH_SATS
        {
            found.push(Holder::Cluster(Clusters::decode_key(key)?));
        }
        Ok(())
    })?;
    let (mut sum, mut large): (Option<(ScriptId, Sats)>, Vec<ScriptId>) = (None, Vec::new());
    walk::<CoinsByScript>(view, cancel, |key, row| {
        let ((script, _), CoinValue(value)) = (CoinsByScript::decode_key(key)?, CoinsByScript::decode_value(row)?);
        match &mut sum {
            Some((of, sats)) if *of == script => *sats = sats.saturating_add(value),
            _ => {
                large.extend(sum.take().filter(|(_, sats)| *sats >= WATCH_SATS).map(|(of, _)| of));
                sum = Some((script, value));
            }
        }
        Ok(())
    })?;
    large.extend(sum.filter(|(_, sats)| *sats >= WATCH_SATS).map(|(of, _)| of));
    // Those in clusters are counted with them.
    let holders = view.holders_at(&large, view.as_of_tip())?;
    found.extend(holders.into_iter().filter(|holder| matches!(holder, Holder::Script(_))));
    Ok(found)
}

/// What a cluster is called in the hash of the set.
fn line(view: &View<'_>, key: &WatchKey) -> Result<String, ReadError> {
    let broken = |what: &str| ReadError::Broken(format!("{what} of the watchlist is missing"));
    Ok(match key.holder {
        Holder::Cluster(root) => {
            let (txid, _) = view.txid_of(root)?.ok_or_else(|| broken("the root of a cluster"))?;
            format!("cluster {txid} {}\n", key.sats)
        }
        Holder::Script(script) => {
            let script = view.script_of(script)?.ok_or_else(|| broken("a script"))?;
            format!("script {} {}\n", hex::encode(script_sha256(&script)), key.sats)
        }
    })
}

/// Makes the watchlist as of the tip of a view; `None` while tables are being made.
pub(crate) fn make(view: &View<'_>, cancel: &CancelToken) -> Result<Option<Made>, PipelineError> {
    if !can_make(view)? {
        return Ok(None);
    }
    let tip = view.tip();
    let mut rows: BTreeMap<WatchKey, WatchRow> = BTreeMap::new();
    if let Some(at) = At::of(view, tip.height, tip.tx_end, WATCH_YEARS * YEAR) {
        let mut sleep = Sleep::default();
        for holder in candidates(view, cancel)? {
            if cancel.is_cancelled() {
                return Err(PipelineError::Stopped);
            }
            let Some(sleeper) = sleep.sleeper(view, holder, (at, WATCH_SATS), cancel)? else { continue };
            let (since, never) = sleeper.since().unwrap_or((TxNum(0), true));
            let key = WatchKey { sats: sleeper.sats, holder };
            let row = WatchRow { scripts: sleeper.scripts, since, never };
            rows.insert(key, row);
        }
    }
    let rows: Vec<(WatchKey, WatchRow)> = rows.into_iter().collect();
    let mut set = sha256::Hash::engine();
    for (key, _) in &rows {
        set.input(line(view, key)?.as_bytes());
    }
    let head = WatchHeadRow {
        height: tip.height,
        hash: tip.hash,
        set: sha256::Hash::from_engine(set).to_byte_array(),
        clusters: rows.len() as u64,
        sats: rows.iter().map(|(key, _)| key.sats).fold(0, Sats::saturating_add),
    };
    Ok(Some(Made { head, rows }))
}

/// Whether it is to be made: there is none, it is of a block that is gone, or of one that is old.
fn is_due(view: &View<'_>) -> Result<bool, ReadError> {
    let Some(head) = view.get::<WatchHead>(&())? else { return Ok(true) };
    Ok(!view.chain().is(head.height, &head.hash) || view.tip().height >= head.height.saturating_add(EVERY))
}

impl Engine {
    /// Makes the watchlist anew if it is time: at once if `waits`, else in a thread, from which a later call takes it. Returns
    /// whether it wrote one, which is durable with the next [`Engine::settle`].
    ///
    /// # Errors
    /// The database fails, or a row is damaged. [`PipelineError::Stopped`] if cancelled.
    pub fn follow_watchlist(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        if self.tip()?.is_none() {
            return Ok(false);
        }
        let mut thread = self.watchlist.0.lock().unwrap_or_else(PoisonError::into_inner);
        let view = self.reader.view()?;
        let is_done = |thread: &Thread| waits || thread.handle.as_ref().is_none_or(JoinHandle::is_finished);
        if let Some(mut done) = thread.take_if(|thread| is_done(thread)) {
            // A thread that panicked has made none, and has said so.
            let made = done.handle.take().and_then(|handle| handle.join().ok()).unwrap_or(Ok(None));
            if self.take_watchlist(&view, made)? {
                return Ok(true);
            }
        }
        if thread.is_some() || !is_due(&view)? {
            return Ok(false);
        }
        if waits {
            let made = make(&view, progress.cancel_token());
            return self.take_watchlist(&view, made);
        }
        let (reader, cancel) = (Arc::clone(&self.reader), CancelToken::new());
        let stop = cancel.clone();
        let work = move || make(&reader.view()?, &stop);
        match std::thread::Builder::new().name("watchlist".to_owned()).spawn(work) {
            Ok(handle) => *thread = Some(Thread { cancel, handle: Some(handle) }),
            Err(error) => tracing::error!(%error, "no thread for the watchlist; it is tried again"),
        }
        Ok(false)
    }

    /// Writes what was made, if its block is still there. Damage of what it is made from does not stop blocks.
    fn take_watchlist(
        &self,
        view: &View<'_>,
        made: Result<Option<Made>, PipelineError>,
    ) -> Result<bool, PipelineError> {
        match made {
            Ok(Some(made)) if view.chain().is(made.head.height, &made.head.hash) => {
                self.write_watchlist(&made).map(|()| true)
            }
            Ok(_) => Ok(false),
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "the watchlist cannot be made: `cairn verify` says what is damaged");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn write_watchlist(&self, made: &Made) -> Result<(), PipelineError> {
        let old: Vec<WatchKey> = {
            let view = self.reader.view()?;
            view.scan::<Watchlist>(None)?.map(|row| row.map(|(key, _)| key)).collect::<Result<_, _>>()?
        };
        self.writer.commit::<PipelineError>(|batch| {
            old.iter().for_each(|key| batch.delete_row::<Watchlist>(key));
            made.rows.iter().for_each(|(key, row)| batch.put_row::<Watchlist>(key, row));
            batch.put_row::<WatchHead>(&(), &made.head);
            Ok(())
        })
    }

    /// Takes the watchlist away: it is made anew when the chain is followed next.
    pub(crate) fn forget_watchlist(&self) -> Result<(), PipelineError> {
        [TableInfo::of::<WatchHead>(), TableInfo::of::<Watchlist>()]
            .iter()
            .try_for_each(|table| Ok(self.writer.clear(table)?))
    }
}
