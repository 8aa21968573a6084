//! `returns`: transactions that spend from scripts which spent nothing for two years. It hears the groups of the stage
//! `scripts`.

use cairn_model::{ScriptId, TxNum};
use cairn_tables::{
    history::HistoryEntry,
    returns::{RETURN_DAYS, ReturnRow, Returns},
    stages::{self, StageInfo},
};

use crate::{
    deltas::{Lane, StageError},
    hearing::HearContext,
    per_tx::{Finder, PerTxStage, lanes},
    scripts::Change,
};

pub(crate) struct ReturnsStage;

impl PerTxStage for ReturnsStage {
    const INFO: StageInfo = stages::RETURNS;
    const LANES: [Lane; 2] = lanes::<Returns>("returning");

    type Table = Returns;
    type Found = ();
    type Finder<'c> = ReturnTally<'c>;

    fn finder(context: HearContext<'_>) -> ReturnTally<'_> {
        ReturnTally::new(context)
    }

    fn row((): (), scripts: usize) -> ReturnRow {
        ReturnRow { scripts: scripts as u64 }
    }
}

struct Script {
    id: ScriptId,
    /// Its first entry that was heard.
    first: TxNum,
    /// Its newest spend that was heard.
    spent: Option<TxNum>,
}

/// Finds the spends that come after two years, script by script.
pub struct ReturnTally<'c> {
    context: HearContext<'c>,
    script: Option<Script>,
}

impl<'c> ReturnTally<'c> {
    /// Nothing yet.
    #[must_use]
    pub fn new(context: HearContext<'c>) -> Self {
        ReturnTally { context, script: None }
    }

    /// The next entry of a script's history: scripts one after the other, their entries in order. True if it is a spend
    /// after two years.
    pub fn entry(&mut self, id: ScriptId, entry: &HistoryEntry) -> Result<bool, StageError> {
        let script = match &mut self.script {
            Some(script) if script.id == id => script,
            other => other.insert(Script { id, first: entry.tx_num, spent: None }),
        };
        if entry.sent == 0 {
            return Ok(false);
        }
        let before = match script.spent.replace(entry.tx_num) {
            Some(spent) => Some(spent),
            // Only who spends is looked up.
            None => self.context.past.quiet_since(id)?,
        };
        let times = self.context.times;
        let days = times.day_of(entry.tx_num).saturating_sub(times.day_of(before.unwrap_or(script.first)));
        Ok(days >= RETURN_DAYS)
    }
}

impl Finder for ReturnTally<'_> {
    type Found = ();

    fn find(&mut self, script: ScriptId, change: &Change) -> Result<Option<()>, StageError> {
        Ok(self.entry(script, &change.entry)?.then_some(()))
    }
}
