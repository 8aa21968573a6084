//! `history`: the effect of each transaction on a script. A row has 128 transactions and begins with cumulative sums,
//! so that a page, a balance at a date or a count takes a constant number of reads for any length of history.
//!
//! ```text
//! history        ScriptId (9) ‖ TxNum of the first entry (5) →
//!                  row number [│ received before │ sent before]  if not 0
//!                  n × (TxNum distance to the previous entry × 4 + kind │ received? │ sent?)
//! history_index  'i' ‖ ScriptId (9) ‖ number of 256 rows (4) → TxNum of each row's first entry, as distances
//! ```
//!
//! kind: 1 received, 2 sent, 3 both (0: neither amount is above zero). The first entry's distance is 0. A row is full
//! at 128 entries: row k has the entries 128 k … 128 k + 127 in chain order, on every machine. `history_index` has rows
//! only for scripts with more than 128 transactions.

use cairn_model::{Sats, ScriptId, TxNum};

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_amount, put_varint},
    table::{Home, Origin, Table, Tuning, table},
};

const TOO_LARGE: &str = "TxNum too large";

/// Entries of a full row.
pub const ENTRIES_PER_ROW: u64 = 128;
/// Rows that one row of the index covers.
pub const ROWS_PER_INDEX: u64 = 256;

table! {
    /// History rows.
    pub struct History("history": (ScriptId, TxNum) => HistoryRow)
        in Home::Own(Tuning { block_size: 8 << 10, ..Tuning::SHORT }), from Origin::Stage("scripts");
}

table! {
    /// First entries of the rows of a long history.
    pub struct HistoryIndex("history_index": (ScriptId, u32) => IndexRow)
        in Home::Shared(b'i'), from Origin::Stage("scripts");
}

/// Effect of one transaction on a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryEntry {
    /// The transaction.
    pub tx_num: TxNum,
    /// Sum of its outputs to the script.
    pub received: Sats,
    /// Sum of its inputs from the script (and of coins it overwrote, BIP 30).
    pub sent: Sats,
}

impl HistoryEntry {
    /// Balance after the transaction, from the one before it.
    #[must_use]
    pub fn after(&self, before: Sats) -> Sats {
        before.saturating_add(self.received).saturating_sub(self.sent)
    }
}

/// Up to 128 entries and the sums before them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HistoryRow {
    /// Number of the row: its first entry is the script's `128 × number`-th.
    pub number: u64,
    /// Received before the first entry.
    pub received_before: Sats,
    /// Sent before the first entry.
    pub sent_before: Sats,
    /// The entries, in chain order; never empty.
    pub entries: Vec<HistoryEntry>,
}

impl HistoryRow {
    /// Decodes the value under a key whose TxNum is `first`.
    pub fn absolute(mut self, first: TxNum) -> Result<Self, DecodeError> {
        let error = DecodeError { table: History::NAME, what: TOO_LARGE };
        for e in &mut self.entries {
            e.tx_num = TxNum(e.tx_num.0.checked_add(first.0).filter(|n| *n < TxNum::LIMIT).ok_or(error.clone())?);
        }
        Ok(self)
    }
}

/// Sums over a script's entries before a point of the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    /// Number of entries, one for each transaction.
    pub entries: u64,
    /// Sum of the outputs that pay the script.
    pub received: Sats,
    /// Sum of those of them that were spent.
    pub sent: Sats,
}

impl HistoryRow {
    /// Sums over all entries of the script before `end`, from the value under a key whose TxNum is `first`, if the next
    /// row begins at `end` or later. Later entries are not decoded.
    pub fn sums_until(bytes: &[u8], first: TxNum, end: TxNum) -> Result<Sums, DecodeError> {
        let b = &mut Input::new(History::NAME, bytes);
        let number = b.varint()?;
        let (received, sent) = if number > 0 { (b.amount()?, b.amount()?) } else { (0, 0) };
        let before = number.checked_mul(ENTRIES_PER_ROW).ok_or_else(|| b.error("entries"))?;
        let mut sums = Sums { entries: before, received, sent };
        let mut tx_num = first.0;
        while b.left() > 0 {
            let head = b.varint()?;
            tx_num = tx_num.checked_add(head >> 2).ok_or_else(|| b.error(TOO_LARGE))?;
            if tx_num >= end.0 {
                break;
            }
            let received = if head & 1 != 0 { b.amount()? } else { 0 };
            let sent = if head & 2 != 0 { b.amount()? } else { 0 };
            let too_large = |sum: Option<Sats>| sum.ok_or_else(|| b.error("sums too large"));
            sums.received = too_large(sums.received.checked_add(received))?;
            sums.sent = too_large(sums.sent.checked_add(sent))?;
            sums.entries += 1;
        }
        Ok(sums)
    }
}

/// Bytes of an entry, at least.
const LEAST_BYTES: usize = 2;

/// Encodes TxNums relative to the first entry, so a decoded value is relative until [`HistoryRow::absolute`] gets the
/// key.
impl ValueCodec for HistoryRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.number);
        if self.number > 0 {
            put_amount(out, self.received_before);
            put_amount(out, self.sent_before);
        }
        let mut previous = self.entries.first().map_or(0, |e| e.tx_num.0);
        for e in &self.entries {
            let kind = u64::from(e.received > 0) | u64::from(e.sent > 0) << 1;
            put_varint(out, (e.tx_num.0 - previous) << 2 | kind);
            previous = e.tx_num.0;
            if e.received > 0 {
                put_amount(out, e.received);
            }
            if e.sent > 0 {
                put_amount(out, e.sent);
            }
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let number = b.varint()?;
        let (received_before, sent_before) = if number > 0 { (b.amount()?, b.amount()?) } else { (0, 0) };
        let overflow = DecodeError { table: History::NAME, what: "sums too large" };
        let (mut received_sum, mut sent_sum) = (received_before, sent_before);
        let mut entries = Vec::with_capacity((b.left() / LEAST_BYTES).min(ENTRIES_PER_ROW as usize));
        let mut tx_num = 0u64;
        while b.left() > 0 {
            let head = b.varint()?;
            tx_num = tx_num.checked_add(head >> 2).filter(|n| *n < TxNum::LIMIT).ok_or_else(|| b.error(TOO_LARGE))?;
            if (head >> 2 == 0) != entries.is_empty() {
                return Err(b.error("TxNum twice"));
            }
            let received = if head & 1 != 0 { b.amount()? } else { 0 };
            let sent = if head & 2 != 0 { b.amount()? } else { 0 };
            if head & 1 != u64::from(received > 0) || head >> 1 & 1 != u64::from(sent > 0) {
                return Err(b.error("kind"));
            }
            received_sum = received_sum.checked_add(received).ok_or(overflow.clone())?;
            sent_sum = sent_sum.checked_add(sent).ok_or(overflow.clone())?;
            entries.push(HistoryEntry { tx_num: TxNum(tx_num), received, sent });
        }
        if entries.is_empty() || entries.len() as u64 > ENTRIES_PER_ROW || number > TxNum::LIMIT / ENTRIES_PER_ROW {
            return Err(b.error("entries"));
        }
        Ok(HistoryRow { number, received_before, sent_before, entries })
    }
}

/// First entries of up to 256 consecutive rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexRow(pub Vec<TxNum>);

impl ValueCodec for IndexRow {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut previous = 0;
        for first in &self.0 {
            put_varint(out, first.0 - previous);
            previous = first.0;
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut firsts: Vec<TxNum> = Vec::new();
        while b.left() > 0 {
            let last = firsts.last().copied();
            let first = b.tx_num_after(last.map_or(0, |last| last.0), TOO_LARGE)?;
            if last == Some(first) {
                return Err(b.error("TxNum twice"));
            }
            firsts.push(first);
        }
        if firsts.is_empty() || firsts.len() as u64 > ROWS_PER_INDEX {
            return Err(b.error("rows"));
        }
        Ok(IndexRow(firsts))
    }
}
