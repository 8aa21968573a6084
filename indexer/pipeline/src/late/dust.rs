//! `dust`: pings of dust, and the campaigns that they are of.

use std::collections::{BTreeSet, VecDeque};

use bitcoin::hashes::{Hash, sha256};
use cairn_domain::dust::{CAMPAIGN_RECIPIENTS, CAMPAIGN_SECONDS, FUNDING_HOPS, is_dust, mark};
use cairn_model::{CancelToken, Height, ScriptId, ScriptPrefix, SpentCoin, TxNum};
use cairn_reader::{ReadError, StoredTx, View};
use cairn_tables::{
    Table,
    dust::{
        DustAlertRow, DustAlerts, DustGroup, DustGroupRow, DustGroups, DustPingRow, DustPings, DustState, MAX_KEPT,
    },
    pings::{PingRow, Pings},
};

use super::{
    LateFold, LateRows,
    txs::{read_tx, rows_of},
};
use crate::PipelineError;

pub(super) struct DustFold {
    /// Pings of the last 30 days, ascending.
    kept: VecDeque<TxNum>,
}

/// The scripts with a history that a transaction pays dust, ascending: those that it does not spend from and that an
/// earlier transaction paid.
fn recipients(view: &View<'_>, tx: &StoredTx, coins: &[SpentCoin]) -> Result<Vec<ScriptId>, ReadError> {
    let length = view.facts().script_prefix;
    let dust = tx.outputs().iter().filter(|output| output.spendable && is_dust(output.value));
    // The log leaves out what follows from the script.
    let id = |output: &cairn_model::OutputMeta| ScriptId {
        prefix: ScriptPrefix::of(tx.script(output), length),
        ordinal: output.id.ordinal,
    };
    let paid: BTreeSet<ScriptId> = dust.map(id).collect();
    let own: BTreeSet<ScriptId> = coins.iter().map(|coin| coin.script).collect();
    let paid: Vec<ScriptId> = paid.difference(&own).copied().collect();
    let firsts = view.scripts().first_txs(&paid)?;
    let has_history = |first: Option<TxNum>| first.is_some_and(|first| first < tx.tx_num);
    Ok(paid.into_iter().zip(firsts).filter(|(_, first)| has_history(*first)).map(|(script, _)| script).collect())
}

fn groups(
    view: &View<'_>,
    rows: &LateRows<'_>,
    (ping, row): (TxNum, &PingRow),
    kept: &VecDeque<TxNum>,
) -> Result<Vec<DustGroup>, ReadError> {
    // Pings of the last 30 days are all kept; of older ones those of campaigns are.
    let may_be_ping = |tx: TxNum| kept.front().is_none_or(|first| tx < *first) || kept.binary_search(&tx).is_ok();
    if row.is_marked {
        let (tx, _) = read_tx(view, ping)?;
        let scripts = tx.outputs().iter().map(|output| tx.script(output));
        let no_mark = || ReadError::Broken(format!("{}: a ping has no mark", Pings::NAME));
        let mark = mark(scripts).ok_or_else(no_mark)?;
        return Ok(vec![DustGroup::Mark(sha256::Hash::hash(mark).to_byte_array())]);
    }
    let (mut groups, mut of) = (vec![DustGroup::Funding(ping)], ping);
    while groups.len() <= FUNDING_HOPS
        && let Some(funding) = view.transactions().funding(of)?
    {
        let is_funded = |row: &DustPingRow| row.groups.iter().all(|group| matches!(group, DustGroup::Funding(_)));
        let known = if may_be_ping(funding) { rows.get::<DustPings>(&funding)? } else { None };
        if let Some(ping) = known.filter(is_funded) {
            return Ok(ping.groups);
        }
        groups.push(DustGroup::Funding(funding));
        of = funding;
    }
    Ok(groups)
}

impl DustFold {
    /// The pings that are kept before a block.
    pub(super) fn load(view: &View<'_>, next: Height, rows: &LateRows<'_>) -> Result<Self, ReadError> {
        let before = next.checked_sub(1).and_then(|height| view.chain().get(height));
        let since = before.map_or(0, |block| block.mono_time.saturating_sub(CAMPAIGN_SECONDS));
        let last = since.checked_sub(1).and_then(|time| view.chain().height_at(time));
        let first = view.chain().get(last.map_or(0, |height| height + 1)).map_or(view.tip().tx_end, |of| of.first_tx);
        let kept = rows.stored::<DustPings>(&first)?.into_iter().map(|(tx_num, _)| tx_num).collect();
        Ok(DustFold { kept })
    }

    /// Forgets pings that are older than 30 days.
    fn forget(&mut self, view: &View<'_>, now: u32, rows: &mut LateRows<'_>) -> Result<(), ReadError> {
        while let Some(tx_num) = self.kept.front().copied() {
            let block = view.chain().height_of(tx_num).and_then(|height| view.chain().get(height));
            if block.is_some_and(|block| block.mono_time.saturating_add(CAMPAIGN_SECONDS) >= now) {
                return Ok(());
            }
            self.kept.pop_front();
            let Some(ping) = rows.get::<DustPings>(&tx_num)? else { continue };
            let mut is_kept = false;
            for group in &ping.groups {
                let Some(mut row) = rows.get::<DustGroups>(group)? else { continue };
                match &mut row.state {
                    DustState::Reached { .. } => is_kept = true,
                    DustState::Growing { pings, .. } => {
                        pings.retain(|(of, _)| *of != tx_num);
                        write(group, row, rows)?;
                    }
                }
            }
            if !is_kept {
                rows.delete::<DustPings>(&tx_num)?;
            }
        }
        Ok(())
    }
}

/// Sets the sums that follow from the pings of a group that is not a campaign. False if it has none left.
fn sum_up(row: &mut DustGroupRow) -> bool {
    let DustState::Growing { pings, .. } = &row.state else { return true };
    let (Some((first, _)), Some((last, _))) = (pings.first(), pings.last()) else { return false };
    (row.first, row.last, row.txs) = (*first, *last, pings.len() as u64);
    row.recipients = pings.iter().map(|(_, recipients)| *recipients).fold(0, u64::saturating_add);
    true
}

/// Writes a group, or takes it away if it has no ping left.
fn write(group: &DustGroup, mut row: DustGroupRow, rows: &mut LateRows<'_>) -> Result<(), ReadError> {
    if sum_up(&mut row) { rows.put::<DustGroups>(group, &row) } else { rows.delete::<DustGroups>(group) }
}

fn is_campaign(row: &DustGroupRow) -> bool {
    matches!(row.state, DustState::Reached { .. })
}

/// Adds a ping to a group. Gives the number of scripts if the group becomes a campaign with it.
fn add(
    view: &View<'_>,
    (group, row): (&DustGroup, Option<DustGroupRow>),
    (tx_num, recipients_of_ping): (TxNum, u64),
    rows: &mut LateRows<'_>,
) -> Result<Option<u64>, ReadError> {
    let mut row = row.unwrap_or(DustGroupRow {
        first: tx_num,
        last: tx_num,
        txs: 0,
        recipients: 0,
        state: DustState::Growing { bound: 0, pings: Vec::new() },
    });
    let mut reached = None;
    match &mut row.state {
        DustState::Reached { .. } => {
            (row.last, row.txs) = (tx_num, row.txs.saturating_add(1));
            row.recipients = row.recipients.saturating_add(recipients_of_ping);
        }
        DustState::Growing { bound, pings } => {
            if pings.len() == MAX_KEPT {
                pings.remove(0);
            }
            pings.push((tx_num, recipients_of_ping));
            *bound = bound.saturating_add(recipients_of_ping);
            if *bound >= CAMPAIGN_RECIPIENTS {
                let mut scripts: BTreeSet<ScriptId> = BTreeSet::new();
                for (tx_num, _) in pings.iter() {
                    let (tx, coins) = read_tx(view, *tx_num)?;
                    scripts.extend(recipients(view, &tx, &coins)?);
                }
                *bound = scripts.len() as u64;
                reached = Some(*bound).filter(|scripts| *scripts >= CAMPAIGN_RECIPIENTS);
            }
        }
    }
    if let Some(scripts) = reached {
        // Its pings are summed up for the last time.
        sum_up(&mut row);
        row.state = DustState::Reached { by: tx_num, scripts };
    }
    write(group, row, rows)?;
    Ok(reached)
}

impl LateFold for DustFold {
    fn block(
        &mut self,
        view: &View<'_>,
        height: Height,
        rows: &mut LateRows<'_>,
        cancel: &CancelToken,
    ) -> Result<(), PipelineError> {
        let now = view.chain().get(height).map_or(0, |block| block.mono_time);
        self.forget(view, now, rows)?;
        for (tx_num, row) in rows_of::<Pings>(view, height)? {
            PipelineError::if_cancelled(cancel)?;
            let (paid, groups) = (row.scripts.into(), groups(view, rows, (tx_num, &row), &self.kept)?);
            let (mut was_campaign, mut alert) = (false, None);
            for group in &groups {
                // The group of transactions that the ping funds has no row yet.
                let is_own = *group == DustGroup::Funding(tx_num);
                let row = if is_own { None } else { rows.get::<DustGroups>(group)? };
                was_campaign |= row.as_ref().is_some_and(is_campaign);
                if let Some(scripts) = add(view, (group, row), (tx_num, paid), rows)? {
                    alert = alert.or(Some((*group, DustAlertRow { scripts })));
                }
            }
            if let Some((group, row)) = alert.filter(|_| !was_campaign) {
                rows.put::<DustAlerts>(&(tx_num, group), &row)?;
            }
            rows.insert::<DustPings>(&tx_num, &DustPingRow { recipients: paid, groups });
            self.kept.push_back(tx_num);
        }
        Ok(())
    }
}
