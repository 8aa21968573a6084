//! Dormancy flushes and whale wake-ups of a window, with their holders as of the tip: read once for a batch.

use std::collections::{BTreeSet, HashMap};

use cairn_model::ScriptId;
use cairn_reader::{ReadError, root_of};
use cairn_tables::flushes::Holder;

use crate::{operation::prelude::*, window::Window};

/// Most alerts of each kind that are read, the newest.
const MAX_ALERTS: usize = 500;

pub(super) struct RecentClusterAlerts {
    /// Dormancy flushes; `None` while their table is being rebuilt.
    pub(super) flushes: Option<FoundAlerts>,
    /// Whale wake-ups; `None` while their table is being rebuilt.
    pub(super) wakeups: Option<FoundAlerts>,
}

pub(super) struct FoundAlerts {
    /// The newest first.
    pub(super) alerts: Vec<ClusterAlert>,
    /// Lowest height that they cover.
    pub(super) covered_from: u32,
}

pub(super) struct ClusterAlert {
    /// The transaction with which the alert began to count.
    tx_num: TxNum,
    /// The holder of the old coins, as of the tip.
    pub(super) holder: Holder,
    /// Value of the old coins.
    sats: Sats,
    /// Transactions of the alert that are known, ascending.
    pub(super) txs: BTreeSet<TxNum>,
}

/// Separates tables that are being rebuilt from errors.
pub(super) fn if_built<T>(found: Result<T, ReadError>) -> Result<Option<T>, ApiError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(ReadError::Unfinished(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl ClusterAlert {
    /// Its transaction, and the value of its old coins.
    pub(super) fn hit(&self) -> (TxNum, Sats) {
        (self.tx_num, self.sats)
    }
}

impl RecentClusterAlerts {
    /// Reads those of a window: at most 500 of each kind, two rows for each, and the rows on the way to their clusters.
    pub(super) fn read(ctx: &Ctx<'_>, view: &View<'_>, window: &Window) -> Result<Self, ApiError> {
        let mut found =
            RecentClusterAlerts { flushes: flushes(ctx, view, window)?, wakeups: wakeups(ctx, view, window)? };
        let alerts = [&mut found.flushes, &mut found.wakeups].into_iter().flatten().flat_map(|of| &mut of.alerts);
        let mut alerts: Vec<&mut ClusterAlert> = alerts.collect();
        let holders: Vec<Holder> = alerts.iter().map(|alert| alert.holder).collect();
        match if_built(at_tip(view, &holders))? {
            Some(now) => alerts.iter_mut().zip(now).for_each(|(alert, holder)| alert.holder = holder),
            // Without clusters nobody knows whose they are.
            None => found = RecentClusterAlerts { flushes: None, wakeups: None },
        }
        Ok(found)
    }
}

fn flushes(ctx: &Ctx<'_>, view: &View<'_>, window: &Window) -> Result<Option<FoundAlerts>, ApiError> {
    let Some(walk) = if_built(view.movements().flush_alerts_before(window.end))? else { return Ok(None) };
    let (mut walk, mut found) = (walk, FoundAlerts { alerts: Vec::new(), covered_from: window.since });
    let mut number = 0;
    while let Some(((tx_num, key), _)) = walk.as_mut().map(|walk| walk.older()).transpose()?.flatten() {
        if tx_num < window.first {
            break;
        }
        if number == MAX_ALERTS {
            found.cut_at(view, tx_num);
            break;
        }
        number += 1;
        ctx.work.poll()?;
        // A window that became a part of an earlier one has no row of its own.
        let Some(row) = view.movements().flush(&key)? else { continue };
        let spends = row.largest.iter().map(|(spend, _)| *spend);
        let txs = spends.chain([key.tx_num, row.last, tx_num]).collect();
        found.alerts.push(ClusterAlert { tx_num, holder: row.holder, sats: row.sats, txs });
    }
    Ok(Some(found))
}

fn wakeups(ctx: &Ctx<'_>, view: &View<'_>, window: &Window) -> Result<Option<FoundAlerts>, ApiError> {
    let Some(walk) = if_built(view.movements().wakeups_before(window.end))? else { return Ok(None) };
    let (mut walk, mut found) = (walk, FoundAlerts { alerts: Vec::new(), covered_from: window.since });
    while let Some((key, row)) = walk.as_mut().map(|walk| walk.older()).transpose()?.flatten() {
        if key.tx_num < window.first {
            break;
        }
        if found.alerts.len() == MAX_ALERTS {
            found.cut_at(view, key.tx_num);
            break;
        }
        ctx.work.poll()?;
        let txs = [key.tx_num].into();
        found.alerts.push(ClusterAlert { tx_num: key.tx_num, holder: row.holder, sats: row.sats, txs });
    }
    Ok(Some(found))
}

impl FoundAlerts {
    /// Nothing from this transaction back was read.
    fn cut_at(&mut self, view: &View<'_>, tx_num: TxNum) {
        self.covered_from = view.chain().height_of(tx_num).unwrap_or_default().saturating_add(1);
    }
}

/// Holders as of the tip: a script may have joined a cluster since, and a cluster another one.
fn at_tip(view: &View<'_>, holders: &[Holder]) -> Result<Vec<Holder>, ReadError> {
    let (mut scripts, mut roots): (Vec<ScriptId>, Vec<TxNum>) = (Vec::new(), Vec::new());
    for holder in holders {
        match holder {
            Holder::Script(script) => scripts.push(*script),
            Holder::Cluster(root) => roots.push(*root),
        }
    }
    roots.sort_unstable();
    roots.dedup();
    let at = view.as_of_tip();
    let members = view.clusters().of_scripts(&scripts, at)?;
    let joined: HashMap<ScriptId, TxNum> =
        members.iter().filter_map(|member| Some((member.script, member.root?.0))).collect();
    let paths = view.clusters().paths_at(&roots, at)?;
    let merged: HashMap<TxNum, TxNum> =
        roots.iter().zip(&paths).map(|(root, path)| (*root, root_of(*root, path).0)).collect();
    let now = |holder: &Holder| match holder {
        Holder::Script(script) => joined.get(script).map_or(*holder, |root| Holder::Cluster(*root)),
        Holder::Cluster(root) => merged.get(root).map_or(*holder, |root| Holder::Cluster(*root)),
    };
    Ok(holders.iter().map(now).collect())
}
