//! `scripts`: the history and the sums of each script.

mod coin_move;

use cairn_domain::{
    cospending::Cospent,
    dust::{MayPing, is_dust},
    transfers::LargeTransfer,
};
use cairn_model::{Block, Outpoint, Sats, ScriptId, ScriptTemplate, TxNum};
use cairn_tables::{
    KeyCodec, Table,
    codec::Input,
    encode_key, encode_value,
    history::{ENTRIES_PER_ROW, History, HistoryEntry, HistoryIndex, HistoryRow, IndexRow, ROWS_PER_INDEX},
    pings::PingRow,
    stages,
    totals::{Totals, TotalsTable},
};

use self::coin_move::{CoinAction, CoinMove, Payer};
use crate::{
    deltas::{Delta, FoldDirection, Lane, Merge, Prior, Rows, Spread, StageError},
    group::Group,
    lanes::{DeltaLane, Emitter, Sink},
    stage::{MapContext, Stage, identity},
};

pub(crate) struct ScriptsStage;

const NAME: &str = stages::SCRIPTS.name;

const LANES: [Lane; 1] = [Lane {
    name: "scripts",
    group_len: ScriptId::LEN,
    spread: Spread::Hash { skip: 0 },
    merge: Merge::Fold,
    families: &[History::FAMILY, TotalsTable::FAMILY, HistoryIndex::FAMILY],
}];

const SCRIPTS: DeltaLane<(ScriptId, TxNum), CoinMove> = DeltaLane::of(&LANES, "scripts");

const fn contradiction(what: &'static str) -> StageError {
    StageError::Contradiction { stage: NAME, what }
}

/// A script can receive the same money any number of times.
fn sum(a: Sats, b: Sats) -> Result<Sats, StageError> {
    a.checked_add(b).ok_or_else(|| contradiction("a script moved more than 2^64 satoshis"))
}

/// The effect of one transaction on the script, from its deltas.
pub(crate) struct Change {
    pub(crate) entry: HistoryEntry,
    pub(crate) template: ScriptTemplate,
    /// The transaction shows that the script has the owner of others.
    pub(crate) cospent: bool,
    /// The transaction is a coinbase.
    pub(crate) mined: bool,
    /// The transaction is a large transfer that pays the script, and no CoinJoin.
    pub(crate) large: bool,
    /// The transaction may ping the script.
    ping: Option<PingRow>,
    first_vout: Option<u32>,
    funded_count: u64,
    spent_count: u64,
}

impl Change {
    pub(crate) fn spends(&self) -> bool {
        // Coins that a coinbase takes from a script are overwritten, not spent (BIP 30).
        self.spent_count > 0 && !self.mined
    }

    /// The transaction pings the script, if the script has a history.
    pub(crate) fn ping(&self) -> Option<PingRow> {
        self.ping.filter(|_| self.spent_count == 0)
    }
}

/// The effects of the transactions of a group on its script.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) id: ScriptId,
    /// In order, one for each transaction.
    pub(crate) changes: Vec<Change>,
}

/// Decodes a group, once for the fold and all listeners.
pub(crate) fn changes_of<'g>(group: &'g Group<'_>) -> Result<&'g Changes, StageError> {
    group.read_as(read_changes)
}

fn read_changes(deltas: &[Delta<'_>], read: &mut Changes) -> Result<(), StageError> {
    read.id = ScriptId::decode(&mut Input::new(NAME, deltas[0].key))?;
    read.changes.clear();
    let mut open: Option<Change> = None;
    for delta in deltas {
        // The script is the same in all of them.
        let mut key = Input::new(NAME, delta.key.get(ScriptId::LEN..).unwrap_or_default());
        let (tx_num, coin) = (TxNum::decode(&mut key)?, SCRIPTS.read_value(delta)?);
        key.finish()?;
        read.changes.extend(open.take_if(|change| change.entry.tx_num != tx_num));
        let change = open.get_or_insert_with(|| {
            let entry = HistoryEntry { tx_num, received: 0, sent: 0 };
            let template = coin.template;
            Change {
                entry,
                template,
                cospent: false,
                mined: false,
                large: false,
                ping: None,
                first_vout: None,
                funded_count: 0,
                spent_count: 0,
            }
        });
        match coin.action {
            CoinAction::Received { vout, by, ping } => {
                change.mined |= by == Payer::Coinbase;
                change.large |= by == Payer::Large;
                change.ping = change.ping.or(ping);
                change.first_vout = Some(change.first_vout.map_or(vout, |v| v.min(vout)));
                change.entry.received = sum(change.entry.received, coin.sats)?;
                change.funded_count += 1;
            }
            CoinAction::Sent { cospent } => {
                change.cospent |= cospent;
                change.entry.sent = sum(change.entry.sent, coin.sats)?;
                change.spent_count += 1;
            }
        }
    }
    read.changes.extend(open);
    Ok(())
}

/// A script's newest state, being changed.
struct Script<'p> {
    id: ScriptId,
    prior: &'p dyn Prior,
    totals: Totals,
    row: HistoryRow,
}

impl<'p> Script<'p> {
    fn load(id: ScriptId, prior: &'p dyn Prior) -> Result<Option<Self>, StageError> {
        let Some(bytes) = prior.get(TotalsTable::FAMILY, &encode_key::<TotalsTable>(&id)).map_err(StageError::Prior)?
        else {
            return Ok(None);
        };
        let totals = TotalsTable::decode_value(&bytes)?;
        let newest = totals.tx_count.saturating_sub(1);
        let row = Self::row(id, prior, newest / ENTRIES_PER_ROW, totals.tail)?;
        let last = row.entries.last().map(|e| e.tx_num);
        if last != Some(totals.last) || row.entries.len() as u64 != newest % ENTRIES_PER_ROW + 1 {
            return Err(contradiction("sums and history differ"));
        }
        Ok(Some(Script { id, prior, totals, row }))
    }

    /// The history's row of that number, which begins with `first`.
    fn row(id: ScriptId, prior: &dyn Prior, number: u64, first: TxNum) -> Result<HistoryRow, StageError> {
        let key = encode_key::<History>(&(id, first));
        let bytes = prior.get(History::FAMILY, &key).map_err(StageError::Prior)?;
        let bytes = bytes.ok_or_else(|| contradiction("a history row is missing"))?;
        let row = History::decode_value(&bytes)?.absolute(first)?;
        if row.number == number { Ok(row) } else { Err(contradiction("a history row has another number")) }
    }

    /// Makes the row before the newest, which has become empty, the newest.
    fn step_back(&mut self) -> Result<(), StageError> {
        let number = self.row.number.checked_sub(1).ok_or_else(|| contradiction("undo of an empty history"))?;
        let firsts = self.index(number / ROWS_PER_INDEX)?;
        let first = *firsts
            .get((number % ROWS_PER_INDEX) as usize)
            .ok_or_else(|| contradiction("the index of a history is too short"))?;
        self.row = Self::row(self.id, self.prior, number, first)?;
        self.totals.tail = first;
        Ok(())
    }

    fn index(&self, slot: u64) -> Result<Vec<TxNum>, StageError> {
        let key = encode_key::<HistoryIndex>(&(self.id, slot as u32));
        let bytes = self.prior.get(HistoryIndex::FAMILY, &key).map_err(StageError::Prior)?;
        Ok(bytes.map(|b| HistoryIndex::decode_value(&b)).transpose()?.unwrap_or_default().0)
    }

    fn put_row(&self, rows: &mut dyn Rows) -> Result<(), StageError> {
        let first = self.row.entries.first().map_or(TxNum(0), |e| e.tx_num);
        let key = encode_key::<History>(&(self.id, first));
        rows.put(History::FAMILY, &key, &encode_value::<History>(&self.row))
    }

    fn put_totals(&self, rows: &mut dyn Rows) -> Result<(), StageError> {
        rows.put(TotalsTable::FAMILY, &encode_key::<TotalsTable>(&self.id), &encode_value::<TotalsTable>(&self.totals))
    }

    fn put_index(&self, slot: u64, firsts: Vec<TxNum>, rows: &mut dyn Rows) -> Result<(), StageError> {
        if !firsts.is_sorted() {
            return Err(contradiction("the index of a history does not ascend"));
        }
        let key = encode_key::<HistoryIndex>(&(self.id, slot as u32));
        rows.put(HistoryIndex::FAMILY, &key, &encode_value::<HistoryIndex>(&IndexRow(firsts)))
    }
}

/// Connects: appends entries to the newest row, starting new rows when it is full.
fn append(id: ScriptId, changes: &[Change], prior: &dyn Prior, rows: &mut dyn Rows) -> Result<(), StageError> {
    let mut script = match Script::load(id, prior)? {
        Some(script) => script,
        None => {
            let first = &changes[0];
            let vout = first.first_vout.ok_or_else(|| contradiction("a script sent before it received"))?;
            let tx_num = first.entry.tx_num;
            let totals = Totals {
                funded: 0,
                spent: 0,
                funded_count: 0,
                spent_count: 0,
                tx_count: 0,
                first: Outpoint { tx_num, vout },
                last: tx_num,
                tail: tx_num,
                template: first.template,
            };
            Script { id, prior, totals, row: HistoryRow::default() }
        }
    };
    if script.totals.tx_count > 0 && script.totals.last >= changes[0].entry.tx_num {
        return Err(contradiction("history out of order"));
    }
    let mut started: Vec<(u64, TxNum)> = Vec::new();
    for change in changes {
        let t = &mut script.totals;
        if script.row.entries.len() as u64 == ENTRIES_PER_ROW {
            script.put_row(rows)?;
            let t = &mut script.totals;
            script.row = HistoryRow {
                number: script.row.number + 1,
                received_before: t.funded,
                sent_before: t.spent,
                entries: vec![],
            };
            t.tail = change.entry.tx_num;
            started.push((script.row.number, t.tail));
            apply(t, change)?;
        } else {
            apply(t, change)?;
        }
        script.row.entries.push(change.entry);
    }
    script.put_row(rows)?;
    script.put_totals(rows)?;
    while let Some(&(number, _)) = started.first() {
        let slot = number / ROWS_PER_INDEX;
        let mut firsts = script.index(slot)?;
        if number == 1 {
            firsts.push(script.totals.first.tx_num);
        }
        if firsts.len() as u64 != number % ROWS_PER_INDEX {
            return Err(contradiction("the index of a history has a gap"));
        }
        let here = started.iter().take_while(|(n, _)| n / ROWS_PER_INDEX == slot).count();
        firsts.extend(started.drain(..here).map(|(_, first)| first));
        script.put_index(slot, firsts, rows)?;
    }
    Ok(())
}

fn apply(t: &mut Totals, change: &Change) -> Result<(), StageError> {
    t.funded = sum(t.funded, change.entry.received)?;
    t.spent = sum(t.spent, change.entry.sent)?;
    t.funded_count += change.funded_count;
    t.spent_count += change.spent_count;
    t.tx_count += 1;
    t.last = change.entry.tx_num;
    if t.spent > t.funded || t.spent_count > t.funded_count {
        return Err(contradiction("a script spent more than it received"));
    }
    Ok(())
}

/// Disconnects: takes the newest entries off again.
fn take_off(id: ScriptId, changes: &[Change], prior: &dyn Prior, rows: &mut dyn Rows) -> Result<(), StageError> {
    let mut script = Script::load(id, prior)?.ok_or_else(|| contradiction("undo of a missing script"))?;
    let rows_before = script.row.number + 1;
    for change in changes.iter().rev() {
        if script.row.entries.is_empty() {
            script.step_back()?;
        }
        if script.row.entries.pop() != Some(change.entry) {
            return Err(contradiction("undo of an entry that is not the newest"));
        }
        if script.row.entries.is_empty() {
            rows.delete(History::FAMILY, &encode_key::<History>(&(id, script.totals.tail)))?;
        }
        let t = &mut script.totals;
        let less = |a: u64, b: u64| a.checked_sub(b).ok_or_else(|| contradiction("undo of more than the totals"));
        t.funded = less(t.funded, change.entry.received)?;
        t.spent = less(t.spent, change.entry.sent)?;
        t.funded_count = less(t.funded_count, change.funded_count)?;
        t.spent_count = less(t.spent_count, change.spent_count)?;
        t.tx_count = less(t.tx_count, 1)?;
    }
    // The newest row may just have been emptied: the one before it is the newest then.
    if script.row.entries.is_empty() && script.totals.tx_count > 0 {
        script.step_back()?;
    } else if !script.row.entries.is_empty() {
        script.put_row(rows)?;
    }
    cut_index(&script, rows_before, rows)?;
    match script.row.entries.last() {
        Some(newest) => {
            script.totals.last = newest.tx_num;
            script.put_totals(rows)
        }
        None => rows.delete(TotalsTable::FAMILY, &encode_key::<TotalsTable>(&id)),
    }
}

/// Shortens the index to the rows that are left; a history of a single row has none.
fn cut_index(script: &Script<'_>, rows_before: u64, rows: &mut dyn Rows) -> Result<(), StageError> {
    let left = if script.totals.tx_count > ENTRIES_PER_ROW { script.row.number + 1 } else { 0 };
    if rows_before < 2 || left == rows_before {
        return Ok(());
    }
    for slot in left / ROWS_PER_INDEX..=(rows_before - 1) / ROWS_PER_INDEX {
        let keep = left.saturating_sub(slot * ROWS_PER_INDEX).min(ROWS_PER_INDEX) as usize;
        if keep == 0 {
            rows.delete(HistoryIndex::FAMILY, &encode_key::<HistoryIndex>(&(script.id, slot as u32)))?;
        } else {
            let mut firsts = script.index(slot)?;
            firsts.truncate(keep);
            script.put_index(slot, firsts, rows)?;
        }
    }
    Ok(())
}

impl Stage for ScriptsStage {
    identity!(SCRIPTS, LANES);

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        let (mut emit, mut cospent) = (Emitter::new(sink), Cospent::default());
        for (i, tx) in block.txs.iter().enumerate() {
            let tx_num = block.tx_num(i);
            let cospent = cospent.find(block, tx);
            let large = LargeTransfer::of(block, tx).is_some_and(|large| !large.coinjoin);
            let by = match i {
                0 => Payer::Coinbase,
                _ if large => Payer::Large,
                _ => Payer::Other,
            };
            let ping = MayPing::of(block, tx).map(|MayPing { is_marked }| PingRow { scripts: 1, is_marked });
            for coin in block.inputs_of(tx) {
                let cospent = cospent.binary_search(&coin.script).is_ok();
                emit.delta(&SCRIPTS, &(coin.script, tx_num), &CoinMove::sent(coin, cospent));
            }
            for (vout, output) in block.outputs_of(tx).iter().enumerate().filter(|(_, o)| o.spendable) {
                let template = ScriptTemplate::of(block.script(output));
                let ping = ping.filter(|_| is_dust(output.value));
                let action = CoinAction::Received { vout: vout as u32, by, ping };
                let coin = CoinMove { template, action, sats: output.value };
                emit.delta(&SCRIPTS, &(output.id, tx_num), &coin);
            }
        }
        for gone in &block.overwritten {
            let tx_num = block.tx_num(gone.by as usize);
            emit.delta(&SCRIPTS, &(gone.coin.script, tx_num), &CoinMove::sent(&gone.coin, false));
        }
    }

    fn fold(
        &self,
        _: usize,
        group: &Group<'_>,
        direction: FoldDirection,
        prior: &dyn Prior,
        rows: &mut dyn Rows,
    ) -> Result<(), StageError> {
        let Changes { id, changes } = changes_of(group)?;
        match direction {
            FoldDirection::Forward => append(*id, changes, prior, rows),
            FoldDirection::Back => take_off(*id, changes, prior, rows),
        }
    }
}
