//! `returns`: transactions that spend from scripts which spent nothing for two years. It hears the groups of the stage
//! `scripts`.

use cairn_model::{Block, ScriptId, TxNum};
use cairn_tables::{
    history::HistoryEntry,
    returns::{RETURN_DAYS, ReturnRow, Returns},
    stages::{self, StageInfo},
};

use crate::{
    deltas::{Delta, FoldDirection, Lane, Merge, Prior, Rows, Spread, StageError},
    group::Group,
    hearing::{HearContext, Listener},
    lanes::{DeltaLane, Emitter, EmitterMemory, RowLane, Sink},
    ordered::{Sequence, Workspace},
    scripts::{self, ScriptsStage},
    stage::{Heard, MapContext, Stage},
    times::Times,
};

pub(crate) struct ReturnsStage;

const LANES: [Lane; 2] = [
    // One delta for each script: heard script by script, counted transaction by transaction.
    Lane {
        name: "returning",
        group_len: 5,
        spread: Spread::TxNum,
        merge: Merge::Ordered,
        families: &[<Returns as cairn_tables::Table>::FAMILY],
    },
    Lane::put::<Returns>(Spread::TxNum),
];

const RETURNING: DeltaLane<TxNum, ()> = DeltaLane::of(&LANES, "returning");
const RETURNS: RowLane<Returns> = RowLane::of(&LANES);

/// Counts the scripts of one transaction.
fn count(group: &[Delta<'_>], emit: &mut Emitter<'_, '_>) -> Result<(), StageError> {
    let Some(first) = group.first() else { return Ok(()) };
    let (tx_num, ()) = RETURNING.read(first)?;
    emit.row(&RETURNS, &tx_num, &ReturnRow { scripts: group.len() as u64 });
    Ok(())
}

impl Stage for ReturnsStage {
    fn info(&self) -> StageInfo {
        stages::RETURNS
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    /// Maps nothing: this stage works on another stage's groups.
    fn map(&self, _: &Block, _: &MapContext<'_>, _: &mut Sink<'_>) {}

    fn hears(&self) -> Option<Heard> {
        Some(Heard { stage: &ScriptsStage, lane: 0 })
    }

    fn listener<'c>(&self, context: HearContext<'c>) -> Option<Box<dyn Listener + 'c>> {
        Some(Box::new(ReturnListener { tally: ReturnTally::new(context), memory: EmitterMemory::default() }))
    }

    fn fold_ordered(
        &self,
        _: usize,
        deltas: &[Delta<'_>],
        _: FoldDirection,
        _: &dyn Times,
        _: &dyn Prior,
        _: &mut dyn Rows,
        sink: &mut Sink<'_>,
    ) -> Result<(), StageError> {
        let mut emit = Emitter::new(sink);
        deltas.chunk_by(|a, b| a.key == b.key).try_for_each(|group| count(group, &mut emit))
    }

    fn fold_sequence(
        &self,
        _: usize,
        deltas: &dyn Sequence,
        _: &Workspace<'_>,
        _: &dyn Times,
        sink: &mut Sink<'_>,
    ) -> Result<(), StageError> {
        let mut emit = Emitter::new(sink);
        deltas.groups(&[], &mut |group| count(group, &mut emit).map(|()| true))
    }
}

/// The script that is heard.
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

struct ReturnListener<'c> {
    tally: ReturnTally<'c>,
    memory: EmitterMemory,
}

impl Listener for ReturnListener<'_> {
    fn hear(&mut self, group: &Group<'_>, sink: &mut Sink<'_>) -> Result<(), StageError> {
        let script = scripts::changes_of(group)?;
        let mut emit = Emitter::reusing(sink, std::mem::take(&mut self.memory));
        for change in &script.changes {
            if self.tally.entry(script.id, &change.entry)? {
                emit.delta(&RETURNING, &change.entry.tx_num, &());
            }
        }
        self.memory = emit.into_memory();
        Ok(())
    }

    fn finish(&mut self, _: &mut Sink<'_>) -> Result<(), StageError> {
        Ok(())
    }
}
