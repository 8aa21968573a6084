//! Makes the watchlist of one block from two walks through whole tables.

use std::collections::BTreeMap;

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
    watchlist::{WatchHeadRow, WatchKey, WatchRow},
};

use crate::{
    PipelineError,
    late::{At, Sleep},
};

/// Rows that are walked through between two looks at whether to stop.
const ROWS: u32 = 1 << 16;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NewWatchlist {
    pub(crate) head: WatchHeadRow,
    /// In the order of the table.
    pub(crate) rows: Vec<(WatchKey, WatchRow)>,
}

/// Whether the tables that it is made from can be read.
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
    view.tables().rows_while(&TableInfo::of::<T>(), |key, value| {
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
    let holders = view.clusters().holders(&large, view.as_of_tip())?;
    found.extend(holders.into_iter().filter(|holder| matches!(holder, Holder::Script(_))));
    Ok(found)
}

/// The line of a cluster in the hash of the set.
fn line(view: &View<'_>, key: &WatchKey) -> Result<String, ReadError> {
    let broken = |what: &str| ReadError::Broken(format!("{what} of the watchlist is missing"));
    Ok(match key.holder {
        Holder::Cluster(root) => {
            let (txid, _) = view.transactions().txid(root)?.ok_or_else(|| broken("the root of a cluster"))?;
            format!("cluster {txid} {}\n", key.sats)
        }
        Holder::Script(script) => {
            let script = view.scripts().bytes_of(script)?.ok_or_else(|| broken("a script"))?;
            format!("script {} {}\n", hex::encode(script_sha256(&script)), key.sats)
        }
    })
}

/// Makes the watchlist as of the tip of a view; `None` while tables are being made.
pub(crate) fn make(view: &View<'_>, cancel: &CancelToken) -> Result<Option<NewWatchlist>, PipelineError> {
    if !can_make(view)? {
        return Ok(None);
    }
    let tip = view.tip();
    let mut rows: BTreeMap<WatchKey, WatchRow> = BTreeMap::new();
    if let Some(at) = At::of(view, tip.height, tip.tx_end, WATCH_YEARS * YEAR) {
        let mut sleep = Sleep::default();
        for holder in candidates(view, cancel)? {
            PipelineError::if_cancelled(cancel)?;
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
    Ok(Some(NewWatchlist { head, rows }))
}
