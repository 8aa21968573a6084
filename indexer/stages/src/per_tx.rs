//! Stages with one row for each transaction that does something to scripts: `pings` and `returns`. They hear the groups
//! of the stage `scripts`, script by script, and emit a delta for each script and transaction. The deltas of a
//! transaction make its row.

use cairn_model::{Block, ScriptId, TxNum};
use cairn_tables::{Table, ValueCodec, stages::StageInfo};

use crate::{
    deltas::{Delta, FoldDirection, Lane, Merge, Prior, Rows, Spread, StageError},
    group::Group,
    hearing::{HearContext, Listener},
    lanes::{DeltaLane, Emitter, EmitterMemory, RowLane, Sink},
    ordered::{Sequence, Workspace},
    scripts::{self, Change, ScriptsStage},
    stage::{HeardLane, MapContext, Stage},
    times::Times,
};

/// A stage of this kind: the part in which they differ.
pub(crate) trait PerTxStage: Send + Sync + 'static {
    /// Its entry in the registry.
    const INFO: StageInfo;
    /// Its lanes, from [`lanes`].
    const LANES: [Lane; 2];
    const DELTAS: DeltaLane<TxNum, Self::Found> = DeltaLane::of(&Self::LANES, Self::LANES[0].name);
    const ROWS: RowLane<Self::Table> = RowLane::of(&Self::LANES);

    type Table: Table<Key = TxNum>;
    type Found: ValueCodec;
    type Finder<'c>: Finder<Found = Self::Found> + 'c;

    /// Returns a finder that has heard nothing yet.
    fn finder(context: HearContext<'_>) -> Self::Finder<'_>;

    /// Returns the row of a transaction with this many deltas, of which the first has this value.
    fn row(first: Self::Found, scripts: usize) -> <Self::Table as Table>::Value;
}

/// Finds the transactions of a stage of this kind.
pub(crate) trait Finder {
    /// The value of a delta.
    type Found;

    /// Returns the delta of a script and a transaction, if there is one: scripts one after the other, the transactions
    /// of each in order.
    fn find(&mut self, script: ScriptId, change: &Change) -> Result<Option<Self::Found>, StageError>;
}

/// The lanes of a stage with this table: one of deltas with this name, and one of rows.
pub(crate) const fn lanes<T: Table>(deltas: &'static str) -> [Lane; 2] {
    let families = const { &[T::FAMILY] };
    [
        // Heard script by script, counted transaction by transaction.
        Lane { name: deltas, group_len: 5, spread: Spread::TxNum, merge: Merge::Ordered, families },
        Lane::put::<T>(Spread::TxNum),
    ]
}

fn emit_row<S: PerTxStage>(group: &[Delta<'_>], emit: &mut Emitter<'_, '_>) -> Result<(), StageError> {
    let Some(first) = group.first() else { return Ok(()) };
    let (tx_num, found) = S::DELTAS.read(first)?;
    emit.row(&S::ROWS, &tx_num, &S::row(found, group.len()));
    Ok(())
}

impl<S: PerTxStage> Stage for S {
    fn info(&self) -> StageInfo {
        S::INFO
    }

    fn lanes(&self) -> &'static [Lane] {
        const { &S::LANES }
    }

    /// Maps nothing: these stages work on another stage's groups.
    fn map(&self, _: &Block, _: &MapContext<'_>, _: &mut Sink<'_>) {}

    fn hears(&self) -> Option<HeardLane> {
        Some(HeardLane { stage: &ScriptsStage, lane: 0 })
    }

    fn listener<'c>(&self, context: HearContext<'c>) -> Option<Box<dyn Listener + 'c>> {
        Some(Box::new(PerTxListener::<S> { finder: S::finder(context), memory: EmitterMemory::default() }))
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
        deltas.chunk_by(|a, b| a.key == b.key).try_for_each(|group| emit_row::<S>(group, &mut emit))
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
        deltas.groups(&[], &mut |group| emit_row::<S>(group, &mut emit).map(|()| true))
    }
}

struct PerTxListener<'c, S: PerTxStage> {
    finder: S::Finder<'c>,
    memory: EmitterMemory,
}

impl<S: PerTxStage> Listener for PerTxListener<'_, S> {
    fn hear(&mut self, group: &Group<'_>, sink: &mut Sink<'_>) -> Result<(), StageError> {
        let script = scripts::changes_of(group)?;
        let mut emit = Emitter::reusing(sink, std::mem::take(&mut self.memory));
        for change in &script.changes {
            if let Some(found) = self.finder.find(script.id, change)? {
                emit.delta(&S::DELTAS, &change.entry.tx_num, &found);
            }
        }
        self.memory = emit.into_memory();
        Ok(())
    }

    fn finish(&mut self, _: &mut Sink<'_>) -> Result<(), StageError> {
        Ok(())
    }
}
