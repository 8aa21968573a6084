//! `pings`: transactions that pay dust to others which have a history. It hears the groups of the stage `scripts`.

use cairn_domain::dust;
use cairn_model::{Block, ScriptId, TxNum};
use cairn_tables::{
    Table,
    pings::{PingRow, Pings},
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

pub(crate) struct PingsStage;

const LANES: [Lane; 2] = [
    // One delta for each script: heard script by script, counted transaction by transaction.
    Lane { name: "pinged", group_len: 5, spread: Spread::TxNum, merge: Merge::Ordered, families: &[Pings::FAMILY] },
    Lane::put::<Pings>(Spread::TxNum),
];

const PINGED: DeltaLane<TxNum, PingRow> = DeltaLane::of(&LANES, "pinged");
const PINGS: RowLane<Pings> = RowLane::of(&LANES);

// A change of the rules must also raise the version of this stage and of the late stage `dust`.
const _: () = assert!(dust::RULES == 2);

/// Counts the scripts of one transaction.
fn count(group: &[Delta<'_>], emit: &mut Emitter<'_, '_>) -> Result<(), StageError> {
    let Some(first) = group.first() else { return Ok(()) };
    let (tx_num, ping) = PINGED.read(first)?;
    emit.row(&PINGS, &tx_num, &PingRow { scripts: group.len() as u32, ..ping });
    Ok(())
}

impl Stage for PingsStage {
    fn info(&self) -> StageInfo {
        stages::PINGS
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
        Some(Box::new(PingListener { context, script: None, memory: EmitterMemory::default() }))
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

struct PingListener<'c> {
    context: HearContext<'c>,
    /// The script that was heard last: a long history comes in parts.
    script: Option<ScriptId>,
    memory: EmitterMemory,
}

impl Listener for PingListener<'_> {
    fn hear(&mut self, group: &Group<'_>, sink: &mut Sink<'_>) -> Result<(), StageError> {
        let script = scripts::changes_of(group)?;
        let mut has_history = self.script.replace(script.id) == Some(script.id);
        let mut emit = Emitter::reusing(sink, std::mem::take(&mut self.memory));
        for change in &script.changes {
            // Look up only scripts that receive dust.
            if let Some(ping) = change.ping()
                && (has_history || self.context.past.is_known(script.id)?)
            {
                emit.delta(&PINGED, &change.entry.tx_num, &ping);
            }
            has_history = true;
        }
        self.memory = emit.into_memory();
        Ok(())
    }

    fn finish(&mut self, _: &mut Sink<'_>) -> Result<(), StageError> {
        Ok(())
    }
}
