//! `flushes`: clusters that spend many coins of two years and more within 144 blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cairn_domain::dormancy::{FLUSH_BLOCKS, FLUSH_SATS, FLUSH_YEARS, YEAR};
use cairn_model::{CancelToken, Height, Sats, ScriptId, TxNum};
use cairn_reader::{AsOf, ReadError, View};
use cairn_tables::{
    Table,
    ages::{DORMANT_YEARS, DormantRow, DormantSpends},
    flushes::{FlushAlertRow, FlushAlerts, FlushRow, Flushes, Holder, InputKey, MAX_SPENDS},
};

use super::{
    LateFold, LateRows,
    txs::{read_tx, rows_of, txs_of},
};
use crate::PipelineError;

pub(super) struct FlushFold {
    /// Windows that are open, by their first spend.
    open: BTreeMap<InputKey, Open>,
    by_holder: HashMap<Holder, InputKey>,
    /// The transactions by which the holder of an open window joins another cluster, as far as they are known.
    ties: BTreeSet<(TxNum, InputKey)>,
}

struct Open {
    /// Its last block.
    to: Height,
    holder: Holder,
    /// The cluster that its holder joins next, if any, and the transaction that ties them.
    tie: Option<(TxNum, Holder)>,
    /// No transaction before this one ties it otherwise.
    looked: TxNum,
}

/// Old coins of one cluster that a transaction spends.
struct Spend {
    tx_num: TxNum,
    /// The first of these inputs.
    vin: u32,
    holder: Holder,
    sats: Sats,
    coins: u64,
    destroyed: u128,
}

/// The height of a transaction's block.
fn height_of(view: &View<'_>, tx_num: TxNum) -> Result<Height, ReadError> {
    view.chain().height_of(tx_num).ok_or_else(|| ReadError::Broken("a transaction before the chain".to_owned()))
}

/// The transactions of a block that spend coins of `years` years or more, ascending.
fn old_spends(view: &View<'_>, height: Height, years: u32) -> Result<Vec<TxNum>, ReadError> {
    let is_old = |row: &DormantRow| row.0.iter().any(|of| DORMANT_YEARS[usize::from(of.class)] >= years);
    let rows = rows_of::<DormantSpends>(view, height)?.into_iter();
    Ok(rows.filter(|(_, row)| is_old(row)).map(|(tx_num, _)| tx_num).collect())
}

impl FlushFold {
    /// The windows that are open before a block.
    pub(super) fn load(view: &View<'_>, next: Height, rows: &LateRows<'_>) -> Result<Self, ReadError> {
        let mut fold = FlushFold { open: BTreeMap::new(), by_holder: HashMap::new(), ties: BTreeSet::new() };
        let from = next.saturating_sub(FLUSH_BLOCKS - 1);
        let first = view.chain().get(from).map_or(view.tip().tx_end, |block| block.first_tx);
        for (key, row) in rows.stored::<Flushes>(&InputKey { tx_num: first, vin: 0 })? {
            let to = height_of(view, key.tx_num)? + (FLUSH_BLOCKS - 1);
            fold.by_holder.insert(row.holder, key);
            fold.open.insert(key, Open { to, holder: row.holder, tie: None, looked: TxNum(0) });
        }
        Ok(fold)
    }

    /// Looks up the clusters that the open windows' holders join before `end`.
    fn look(&mut self, view: &View<'_>, end: TxNum) -> Result<(), ReadError> {
        for (key, open) in self.open.iter_mut().filter(|(_, open)| open.tie.is_none() && open.looked < end) {
            open.tie = view.clusters().next_tie(open.holder)?;
            open.looked = view.tip().tx_end;
            self.ties.extend(open.tie.map(|(by, _)| (by, *key)));
        }
        Ok(())
    }

    fn forget(&mut self, key: InputKey) -> Option<Open> {
        let open = self.open.remove(&key)?;
        if self.by_holder.get(&open.holder) == Some(&key) {
            self.by_holder.remove(&open.holder);
        }
        open.tie.iter().for_each(|(by, _)| {
            self.ties.remove(&(*by, key));
        });
        Some(open)
    }

    /// Takes a window in whose holder is this from now on.
    fn remember(&mut self, view: &View<'_>, key: InputKey, to: Height, holder: Holder) -> Result<(), ReadError> {
        let tie = view.clusters().next_tie(holder)?;
        self.ties.extend(tie.map(|(by, _)| (by, key)));
        self.by_holder.insert(holder, key);
        self.open.insert(key, Open { to, holder, tie, looked: view.tip().tx_end });
        Ok(())
    }

    /// The ties before a transaction: open windows that come together become parts of the earliest one.
    fn tie(&mut self, view: &View<'_>, before: TxNum, rows: &mut LateRows<'_>) -> Result<(), ReadError> {
        while let Some((by, _)) = self.ties.first().copied().filter(|(by, _)| *by < before) {
            let mut joining: BTreeMap<Holder, Vec<(InputKey, Height)>> = BTreeMap::new();
            while let Some((_, key)) = self.ties.first().copied().filter(|(of, _)| *of == by) {
                let Some(open) = self.forget(key) else {
                    self.ties.remove(&(by, key));
                    continue;
                };
                if let Some((_, holder)) = open.tie {
                    joining.entry(holder).or_default().push((key, open.to));
                }
            }
            for (holder, mut windows) in joining {
                if let Some(other) = self.by_holder.get(&holder).copied() {
                    windows.extend(self.forget(other).map(|open| (other, open.to)));
                }
                windows.sort_unstable();
                self.join(view, (by, holder), &windows, rows)?;
            }
        }
        Ok(())
    }

    /// Windows, ascending, that have one holder from a transaction on.
    fn join(
        &mut self,
        view: &View<'_>,
        (by, holder): (TxNum, Holder),
        windows: &[(InputKey, Height)],
        rows: &mut LateRows<'_>,
    ) -> Result<(), ReadError> {
        let Some(((key, to), later)) = windows.split_first() else { return Ok(()) };
        let mut row = FlushRow { holder, ..stored(rows, *key)? };
        let mut had = row.sats;
        for (other, _) in later {
            let theirs = stored(rows, *other)?;
            had = had.max(theirs.sats);
            row = joined(row, &theirs);
            rows.delete::<Flushes>(other)?;
        }
        reach(rows, (by, *key), had, row.sats)?;
        rows.put::<Flushes>(key, &row)?;
        self.remember(view, *key, *to, holder)
    }

    fn spend(
        &mut self,
        view: &View<'_>,
        height: Height,
        spend: &Spend,
        rows: &mut LateRows<'_>,
    ) -> Result<(), ReadError> {
        let Spend { tx_num, vin, holder, sats, coins, destroyed } = *spend;
        let row = FlushRow { holder, sats, coins, destroyed, spends: 1, last: tx_num, largest: vec![(tx_num, sats)] };
        let (key, had, row) = match self.by_holder.get(&holder).copied() {
            None => {
                let key = InputKey { tx_num, vin };
                self.remember(view, key, height + (FLUSH_BLOCKS - 1), holder)?;
                (key, 0, row)
            }
            Some(key) => {
                let before = stored(rows, key)?;
                (key, before.sats, joined(before, &row))
            }
        };
        reach(rows, (tx_num, key), had, row.sats)?;
        rows.put::<Flushes>(&key, &row)
    }

    /// Closes the windows whose last block this is.
    fn close(&mut self, height: Height, rows: &mut LateRows<'_>) -> Result<(), ReadError> {
        while let Some(key) = self.open.first_key_value().filter(|(_, open)| open.to <= height).map(|(key, _)| *key) {
            self.forget(key);
            if stored(rows, key)?.sats < FLUSH_SATS {
                rows.delete::<Flushes>(&key)?;
            }
        }
        Ok(())
    }
}

fn stored(rows: &LateRows<'_>, key: InputKey) -> Result<FlushRow, ReadError> {
    let lacks = || ReadError::Lacks { table: Flushes::NAME, what: format!("the window of {}", key.tx_num.0) };
    rows.get::<Flushes>(&key)?.ok_or_else(lacks)
}

/// Notes that a window has reached 100 BTC, if it has with this.
fn reach(rows: &mut LateRows<'_>, at: (TxNum, InputKey), had: Sats, has: Sats) -> Result<(), ReadError> {
    if had < FLUSH_SATS && has >= FLUSH_SATS {
        rows.put::<FlushAlerts>(&at, &FlushAlertRow { sats: has })?;
    }
    Ok(())
}

/// Two parts of a window together.
fn joined(mut row: FlushRow, other: &FlushRow) -> FlushRow {
    row.sats = row.sats.saturating_add(other.sats);
    row.coins += other.coins;
    row.destroyed = row.destroyed.saturating_add(other.destroyed);
    row.spends += other.spends;
    row.last = row.last.max(other.last);
    let mut largest: BTreeMap<TxNum, Sats> = BTreeMap::new();
    for (tx_num, sats) in row.largest.iter().chain(&other.largest) {
        let of = largest.entry(*tx_num).or_default();
        *of = of.saturating_add(*sats);
    }
    row.largest = largest.into_iter().collect();
    while row.largest.len() > MAX_SPENDS {
        // Of equal ones the newest goes.
        let least = row.largest.iter().enumerate().min_by_key(|(at, (_, sats))| (*sats, std::cmp::Reverse(*at)));
        let least = least.map_or(0, |(at, _)| at);
        row.largest.remove(least);
    }
    row
}

/// Old coins that a transaction spends, by their holder with it.
fn spends(view: &View<'_>, height: Height, tx_num: TxNum) -> Result<Vec<Spend>, ReadError> {
    let (_, coins) = read_tx(view, tx_num)?;
    let now = view.chain().get(height).map_or(0, |block| block.mono_time);
    let mut old: Vec<(u32, ScriptId, Sats, u32)> = Vec::new();
    for (vin, coin) in (0..).zip(coins) {
        let age = view.chain().get(coin.birth).map_or(0, |born| now.saturating_sub(born.mono_time));
        if age >= FLUSH_YEARS * YEAR && coin.value > 0 {
            old.push((vin, coin.script, coin.value, age));
        }
    }
    let scripts: Vec<ScriptId> = old.iter().map(|(_, script, ..)| *script).collect();
    let at = AsOf { height, tx_end: TxNum(tx_num.0 + 1) };
    let mut spends: Vec<Spend> = Vec::new();
    for ((vin, _, sats, age), holder) in old.into_iter().zip(view.clusters().holders(&scripts, at)?) {
        let destroyed = u128::from(sats) * u128::from(age);
        match spends.iter_mut().find(|spend| spend.holder == holder) {
            Some(spend) => {
                spend.sats = spend.sats.saturating_add(sats);
                spend.coins += 1;
                spend.destroyed += destroyed;
            }
            None => spends.push(Spend { tx_num, vin, holder, sats, coins: 1, destroyed }),
        }
    }
    Ok(spends)
}

impl LateFold for FlushFold {
    fn block(
        &mut self,
        view: &View<'_>,
        height: Height,
        rows: &mut LateRows<'_>,
        cancel: &CancelToken,
    ) -> Result<(), PipelineError> {
        let (_, end) = txs_of(view, height)?;
        self.look(view, end)?;
        for tx_num in old_spends(view, height, FLUSH_YEARS)? {
            PipelineError::if_cancelled(cancel)?;
            // Ties of its clusters come first: holders are as with the transaction.
            self.tie(view, TxNum(tx_num.0 + 1), rows)?;
            for spend in spends(view, height, tx_num)? {
                self.spend(view, height, &spend, rows)?;
            }
        }
        self.tie(view, end, rows)?;
        Ok(self.close(height, rows)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(tx_num: u64, sats: Sats) -> FlushRow {
        let (holder, last) = (Holder::Cluster(TxNum(1)), TxNum(tx_num));
        FlushRow { holder, sats, coins: 2, destroyed: 7, spends: 1, last, largest: vec![(last, sats)] }
    }

    #[test]
    fn the_largest_spends_are_kept_in_the_order_of_the_chain() {
        let all = (1..=40u64).map(|tx| part(tx, if tx % 2 == 0 { 100 + tx } else { 50 }));
        let row = all.reduce(|row, next| joined(row, &next)).unwrap_or_else(|| part(0, 0));
        let kept: Vec<u64> = row.largest.iter().map(|(tx, _)| tx.0).collect();
        assert_eq!(kept, (10..=40).step_by(2).collect::<Vec<_>>());
        assert_eq!((row.spends, row.coins, row.last, row.destroyed), (40, 80, TxNum(40), 280));
        // Of equal ones the oldest stay; the same transaction counts once.
        let equal = (1..=20u64).map(|tx| part(tx, 5)).reduce(|row, next| joined(row, &next));
        assert_eq!(equal.map(|row| row.largest.last().copied()), Some(Some((TxNum(16), 5))));
        assert_eq!(joined(part(3, 5), &part(3, 6)).largest, [(TxNum(3), 11)]);
    }
}
