//! Scripts: their totals, their history, their coins.

use cairn_model::{Outpoint, Sats, ScriptId, ScriptPrefix, TxNum};
use cairn_tables::{
    Table,
    codec::DecodeError,
    coins::{CoinValue, CoinsByScript},
    encode_key,
    history::{ENTRIES_PER_ROW, History, HistoryEntry, HistoryIndex, HistoryRow, ROWS_PER_INDEX},
    stages::{COINS, SCRIPTS},
    totals::{Totals, TotalsTable},
};

use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, ReadError, subjects::ScriptView};

/// A script of the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundScript {
    /// Its id.
    pub id: ScriptId,
    /// Sums over its whole history.
    pub totals: Totals,
}

/// Sums over a script's history before a point of the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SumsBefore {
    /// Number of transactions.
    pub tx_count: u64,
    /// Sum of the outputs that pay the script.
    pub received: Sats,
    /// Sum of those of them that were spent.
    pub sent: Sats,
}

impl SumsBefore {
    /// Balance at that point.
    #[must_use]
    pub fn balance(&self) -> Sats {
        self.received.saturating_sub(self.sent)
    }
}

impl ScriptView<'_> {
    /// Finds a script: the prefix gives candidates, then the whole script is compared. Two row reads, and two more for
    /// each other script with the same prefix.
    pub fn find(self, script_pubkey: &[u8]) -> Result<Option<FoundScript>, ReadError> {
        self.view.require(&SCRIPTS)?;
        let prefix = ScriptPrefix::of(script_pubkey, self.view.facts().script_prefix);
        for ordinal in 0..=u8::MAX {
            let id = ScriptId { prefix, ordinal };
            let Some(totals) = self.view.get::<TotalsTable>(&id)? else { return Ok(None) };
            if self.is_output(totals.first, script_pubkey)? {
                return Ok(Some(FoundScript { id, totals }));
            }
        }
        Ok(None)
    }

    /// A script by its id. One row read.
    pub fn by_id(self, id: ScriptId) -> Result<Option<FoundScript>, ReadError> {
        self.view.require(&SCRIPTS)?;
        Ok(self.view.get::<TotalsTable>(&id)?.map(|totals| FoundScript { id, totals }))
    }

    /// The script of an id, read from its first output.
    pub fn bytes_of(self, id: ScriptId) -> Result<Option<Vec<u8>>, ReadError> {
        self.view.require(&SCRIPTS)?;
        let Some(totals) = self.view.get::<TotalsTable>(&id)? else { return Ok(None) };
        self.view.transactions().script_at(totals.first).map(Some)
    }

    /// Many scripts by their ids, in their order, in one look-up; `None` if no block has the script.
    pub fn by_ids(self, ids: &[ScriptId]) -> Result<Vec<Option<FoundScript>>, ReadError> {
        self.view.require(&SCRIPTS)?;
        let rows = self.view.rows_of_each::<TotalsTable>(ids)?;
        Ok(ids.iter().zip(rows).map(|(id, row)| row.map(|totals| FoundScript { id: *id, totals })).collect())
    }

    /// The first transaction of each of many scripts, in their order, in one look-up; `None` if no block has the
    /// script.
    pub fn first_txs(self, ids: &[ScriptId]) -> Result<Vec<Option<TxNum>>, ReadError> {
        let found = self.by_ids(ids)?.into_iter();
        Ok(found.map(|script| script.map(|script| script.totals.first.tx_num)).collect())
    }

    fn is_output(self, outpoint: Outpoint, script_pubkey: &[u8]) -> Result<bool, ReadError> {
        Ok(self.view.transactions().script_at(outpoint)? == script_pubkey)
    }

    /// Entries of a script's history, newest first, after skipping the `skip` newest. Reads the rows of the page (one
    /// per 128 entries, and one more) and at most one row of the index per 32 768 entries of the page.
    pub fn history(self, script: &FoundScript, skip: u64, limit: usize) -> Result<Vec<HistoryEntry>, ReadError> {
        let mut page = Vec::with_capacity(limit.min(1024));
        let mut index: Option<(u64, Vec<TxNum>)> = None;
        // Entries are numbered from the oldest; `next` is one past the newest that is still wanted.
        let mut next = script.totals.tx_count.saturating_sub(skip);
        while next > 0 && page.len() < limit {
            let number = (next - 1) / ENTRIES_PER_ROW;
            let row = self.history_row(script, number, &mut index)?;
            let upto = (next - number * ENTRIES_PER_ROW) as usize;
            let entries = row.entries.get(..upto).ok_or_else(|| self.view.broken("a history row is too short"))?;
            page.extend(entries.iter().rev().take(limit - page.len()));
            next = number * ENTRIES_PER_ROW;
        }
        Ok(page)
    }

    fn history_row(
        self,
        script: &FoundScript,
        number: u64,
        index: &mut Option<(u64, Vec<TxNum>)>,
    ) -> Result<HistoryRow, ReadError> {
        let newest = (script.totals.tx_count - 1) / ENTRIES_PER_ROW;
        let first = if number == newest {
            script.totals.tail
        } else if number == 0 {
            script.totals.first.tx_num
        } else {
            let slot = number / ROWS_PER_INDEX;
            if index.as_ref().is_none_or(|(s, _)| *s != slot) {
                let row = self.view.get::<HistoryIndex>(&(script.id, slot as u32))?;
                *index = Some((slot, row.ok_or_else(|| self.view.broken("a row of history_index is missing"))?.0));
            }
            let firsts = index.as_ref().map_or(&[][..], |(_, firsts)| firsts);
            let at = (number % ROWS_PER_INDEX) as usize;
            *firsts.get(at).ok_or_else(|| self.view.broken("a row of history_index is too short"))?
        };
        let row = self
            .view
            .get::<History>(&(script.id, first))?
            .ok_or_else(|| self.view.broken("a history row is missing"))?;
        if row.number != number {
            return Err(self.view.broken("a history row has another number"));
        }
        Ok(row.absolute(first)?)
    }

    /// Sums over the entries before a transaction number. At most one row read.
    pub fn sums_before(self, script: &FoundScript, end: TxNum) -> Result<SumsBefore, ReadError> {
        Ok(self.sums_before_each(script, [end])?[0])
    }

    /// Sums over the entries before each of several transaction numbers. At most one row read for each; none if it is
    /// in the same row as the previous one.
    pub fn sums_before_each<const N: usize>(
        self,
        script: &FoundScript,
        ends: [TxNum; N],
    ) -> Result<[SumsBefore; N], ReadError> {
        let t = &script.totals;
        let mut each = [SumsBefore::default(); N];
        let mut rows: Option<DBRawIteratorWithThreadMode<'_, Db>> = None;
        // The row that was read last: its bytes, its first entry, and up to where it is the last one.
        let mut row: Option<(Vec<u8>, TxNum, TxNum)> = None;
        for (sums, end) in each.iter_mut().zip(ends) {
            if end > t.last {
                *sums = SumsBefore { tx_count: t.tx_count, received: t.funded, sent: t.spent };
                continue;
            }
            if end <= t.first.tx_num {
                continue;
            }
            let at = TxNum(end.0 - 1);
            if row.as_ref().is_none_or(|(_, first, upto)| at < *first || at > *upto) {
                row = Some(if at >= t.tail {
                    // Where the newest row begins is known: a look-up instead of a search.
                    let bytes = self.view.bytes::<History>(&(script.id, t.tail))?;
                    let bytes = bytes.ok_or_else(|| self.view.broken("a history row is missing"))?;
                    (bytes.to_vec(), t.tail, t.last)
                } else {
                    let rows = match &mut rows {
                        Some(rows) => rows,
                        None => rows.insert(self.view.raw_iterator::<History>()?),
                    };
                    self.view.count(History::NAME)?;
                    rows.seek_for_prev(encode_key::<History>(&(script.id, at)));
                    rows.status()?;
                    let found = rows.item().map(|(key, value)| Ok((History::decode_key(key)?, value.to_vec())));
                    match found.transpose().map_err(|e: DecodeError| ReadError::from(e))? {
                        Some(((id, first), value)) if id == script.id => (value, first, at),
                        _ => return Err(self.view.broken("a history row is missing")),
                    }
                });
            }
            if let Some((bytes, first, _)) = &row {
                let found = HistoryRow::sums_until(bytes, *first, end)?;
                *sums = SumsBefore { tx_count: found.entries, received: found.received, sent: found.sent };
            }
        }
        Ok(each)
    }

    /// The newest transaction before one that spends more than nothing from a script; `None` if none does. Reads the
    /// rows of its history back to that.
    pub fn last_spend_before(self, script: &FoundScript, before: TxNum) -> Result<Option<TxNum>, ReadError> {
        let known = self.sums_before(script, before)?;
        if known.sent == 0 {
            return Ok(None);
        }
        let mut skip = script.totals.tx_count - known.tx_count;
        loop {
            let page = self.history(script, skip, ENTRIES_PER_ROW as usize)?;
            if let Some(spend) = page.iter().find(|entry| entry.sent > 0) {
                return Ok(Some(spend.tx_num));
            }
            if page.is_empty() {
                return Err(self.view.broken("a history lacks a spend that its sums have"));
            }
            skip += page.len() as u64;
        }
    }

    /// The whole history, oldest first, row by row. Reads every row.
    pub fn history_rows(self, id: ScriptId) -> Result<impl Iterator<Item = Result<HistoryRow, ReadError>>, ReadError> {
        let rows = self.view.scan_while::<History>((id, TxNum(0)), move |(found, _)| *found == id)?;
        Ok(rows.map(|row| row.and_then(|((_, first), row)| Ok(row.absolute(first)?))))
    }

    /// Unspent coins of a script, oldest first, starting at `from`.
    pub fn coins(self, id: ScriptId, from: Outpoint, limit: usize) -> Result<Vec<(Outpoint, Sats)>, ReadError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        self.view.require(&COINS)?;
        let rows = self.view.scan_while::<CoinsByScript>((id, from), |(found, _)| *found == id)?.take(limit);
        rows.map(|row| row.map(|((_, outpoint), CoinValue(value))| (outpoint, value))).collect()
    }
}
