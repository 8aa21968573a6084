//! Shared work: a stage can hear the groups of another stage's lane, which are sorted anyway, instead of sorting them
//! again. It emits deltas of its own lanes, which are applied afterwards.

use cairn_model::{Sats, ScriptId, TxNum};
use cairn_tables::{
    Table,
    clusters::ClusterOf,
    encode_key,
    history::{ENTRIES_PER_ROW, History, HistoryEntry, HistoryIndex, HistoryRow, ROWS_PER_INDEX},
    stages,
    totals::{Totals, TotalsTable},
};

use crate::{
    deltas::{Prior, StageError},
    group::Group,
    lanes::Sink,
    times::Times,
};

/// Data that a listener may ask for.
#[derive(Clone, Copy)]
pub struct HearContext<'c> {
    /// Times of all transactions in the groups.
    pub times: &'c dyn Times,
    /// The chain before the groups. In bulk there is nothing before.
    pub past: &'c dyn Past,
}

/// Hears the groups of a lane, in ascending order of keys. When disconnecting, it emits the same as when connecting,
/// and the driver takes it off.
pub trait Listener {
    /// A group, or a part of one that is too long: its next part comes with the next call. It may emit into lanes with
    /// [`Merge::Put`](crate::Merge::Put) and [`Spread::Heard`](crate::Spread::Heard), and into those with
    /// [`Merge::Ordered`](crate::Merge::Ordered).
    fn hear(&mut self, group: &Group<'_>, emit: &mut Sink<'_>) -> Result<(), StageError>;

    /// There is no group left: emits into lanes with [`Merge::Add`](crate::Merge::Add) what is left to emit.
    fn finish(&mut self, emit: &mut Sink<'_>) -> Result<(), StageError>;
}

/// A script before some transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScriptBefore {
    /// Its balance.
    pub balance: Sats,
    /// Its actions from a given transaction on.
    pub since: ScriptActions,
}

/// Actions of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScriptActions {
    /// It received more than zero.
    pub received: bool,
    /// It sent more than zero.
    pub sent: bool,
}

impl ScriptActions {
    /// Adds an entry of its history.
    pub fn add(&mut self, entry: &HistoryEntry) {
        self.received |= entry.received > 0;
        self.sent |= entry.sent > 0;
    }

    /// It did either.
    #[must_use]
    pub fn any(self) -> bool {
        self.received || self.sent
    }
}

/// The chain before the blocks that are being applied, whether the tables that it is read from have these already or
/// not.
pub trait Past {
    /// A script, with what it did from `since` on.
    fn script(&self, id: ScriptId, since: TxNum) -> Result<ScriptBefore, StageError>;

    /// Whether a block had the script.
    fn is_known(&self, id: ScriptId) -> Result<bool, StageError>;

    /// The newest transaction that spends more than nothing from a script; if there is none, the oldest that pays it.
    /// `None` if no block had it.
    fn quiet_since(&self, id: ScriptId) -> Result<Option<TxNum>, StageError>;

    /// The script's node in the forest of clusters, if it had one.
    fn node(&self, id: ScriptId) -> Result<Option<TxNum>, StageError>;
}

/// Before the chain began.
pub struct NoPast;

impl Past for NoPast {
    fn script(&self, _: ScriptId, _: TxNum) -> Result<ScriptBefore, StageError> {
        Ok(ScriptBefore::default())
    }

    fn is_known(&self, _: ScriptId) -> Result<bool, StageError> {
        Ok(false)
    }

    fn quiet_since(&self, _: ScriptId) -> Result<Option<TxNum>, StageError> {
        Ok(None)
    }

    fn node(&self, _: ScriptId) -> Result<Option<TxNum>, StageError> {
        Ok(None)
    }
}

/// The chain before a transaction, out of the tables.
pub struct PastBefore<'p> {
    /// The tables.
    pub prior: &'p dyn Prior,
    /// The first transaction that is not seen.
    pub before: TxNum,
}

const fn broken(what: &'static str) -> StageError {
    StageError::Contradiction { stage: stages::SCRIPTS.name, what }
}

impl PastBefore<'_> {
    fn get<T: Table>(&self, key: &T::Key) -> Result<Option<T::Value>, StageError> {
        let bytes = self.prior.get(T::FAMILY, &encode_key::<T>(key)).map_err(StageError::Prior)?;
        Ok(bytes.map(|bytes| T::decode_value(&bytes)).transpose()?)
    }

    /// The sums of a script that a block had.
    fn totals(&self, id: ScriptId) -> Result<Option<Totals>, StageError> {
        Ok(self.get::<TotalsTable>(&id)?.filter(|totals| totals.first.tx_num < self.before))
    }

    fn row(&self, id: ScriptId, totals: &Totals, number: u64) -> Result<HistoryRow, StageError> {
        let newest = (totals.tx_count - 1) / ENTRIES_PER_ROW;
        let first = if number == newest {
            totals.tail
        } else {
            let index = self.get::<HistoryIndex>(&(id, (number / ROWS_PER_INDEX) as u32))?;
            let firsts = index.ok_or_else(|| broken("a row of history_index is missing"))?.0;
            *firsts
                .get((number % ROWS_PER_INDEX) as usize)
                .ok_or_else(|| broken("a row of history_index is too short"))?
        };
        let row = self.get::<History>(&(id, first))?.ok_or_else(|| broken("a history row is missing"))?;
        if row.number == number { Ok(row.absolute(first)?) } else { Err(broken("a history row has another number")) }
    }
}

impl Past for PastBefore<'_> {
    fn script(&self, id: ScriptId, since: TxNum) -> Result<ScriptBefore, StageError> {
        let Some(totals) = self.totals(id)? else { return Ok(ScriptBefore::default()) };
        let mut before = ScriptBefore { balance: totals.balance(), since: ScriptActions::default() };
        let mut summed = totals.last < self.before;
        if summed && totals.last < since {
            return Ok(before);
        }
        // From the newest row back, until all of interest has been seen.
        for number in (0..=(totals.tx_count - 1) / ENTRIES_PER_ROW).rev() {
            let row = self.row(id, &totals, number)?;
            let entries = || row.entries.iter().filter(|entry| entry.tx_num < self.before);
            if !summed && entries().next().is_some() {
                summed = true;
                let start = row.received_before.saturating_sub(row.sent_before);
                before.balance = entries().fold(start, |balance, entry| entry.after(balance));
            }
            entries().filter(|entry| entry.tx_num >= since).for_each(|entry| before.since.add(entry));
            let known = before.since.received && before.since.sent;
            if summed && (known || row.entries.first().is_none_or(|entry| entry.tx_num < since)) {
                break;
            }
        }
        Ok(before)
    }

    fn is_known(&self, id: ScriptId) -> Result<bool, StageError> {
        Ok(self.totals(id)?.is_some())
    }

    fn quiet_since(&self, id: ScriptId) -> Result<Option<TxNum>, StageError> {
        let Some(totals) = self.totals(id)? else { return Ok(None) };
        if totals.spent > 0 {
            // From the newest row back, up to a spend: what lies between was received since.
            for number in (0..=(totals.tx_count - 1) / ENTRIES_PER_ROW).rev() {
                let row = self.row(id, &totals, number)?;
                let spent = row.entries.iter().rfind(|entry| entry.tx_num < self.before && entry.sent > 0);
                if let Some(spent) = spent {
                    return Ok(Some(spent.tx_num));
                }
                if row.sent_before == 0 {
                    break;
                }
            }
        }
        Ok(Some(totals.first.tx_num))
    }

    fn node(&self, id: ScriptId) -> Result<Option<TxNum>, StageError> {
        let node = self.get::<ClusterOf>(&id)?.map(|node| node.0);
        Ok(node.filter(|node| *node < self.before))
    }
}
