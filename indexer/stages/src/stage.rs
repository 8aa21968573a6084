//! The contract of a stage, and the data that it may ask for.
//!
//! `indexer/stages/tests/suite/example.rs` is an example that is compiled and run.

use cairn_model::{Block, Height, MonoTime};
use cairn_tables::{TableInfo, stages::StageInfo};

use crate::{
    deltas::{Delta, FoldDirection, Lane, Prior, Rows, StageError},
    group::Group,
    hearing::{HearContext, Listener},
    lanes::Sink,
    ordered::{Sequence, Workspace},
    times::Times,
};

/// The identity of a stage of the index: its entry in the registry, and its lanes.
macro_rules! identity {
    ($NAME:ident, $LANES:ident) => {
        fn info(&self) -> cairn_tables::stages::StageInfo {
            cairn_tables::stages::$NAME
        }

        fn lanes(&self) -> &'static [crate::deltas::Lane] {
            &$LANES
        }
    };
}

pub(crate) use identity;

/// Data that stages need besides a block.
#[derive(Clone, Copy)]
pub struct MapContext<'c> {
    /// Bytes of a txid that are used as prefix.
    pub txid_prefix: usize,
    /// The blocks up to the mapped one, itself included.
    pub times: &'c dyn Times,
}

impl MapContext<'_> {
    /// Monotone time of a block at or below the mapped one. If a damaged journal names another, that of the mapped one.
    #[must_use]
    pub fn mono_time(&self, height: Height, block: &Block) -> MonoTime {
        let known = self.times.mono_time(height).filter(|_| height < block.height);
        known.unwrap_or(block.mono_time)
    }
}

/// The lane that a stage hears.
#[derive(Clone, Copy)]
pub struct HeardLane {
    /// The stage that maps blocks to it.
    pub stage: &'static dyn Stage,
    /// Which of its lanes.
    pub lane: usize,
}

/// A fold over the journal.
pub trait Stage: Send + Sync {
    /// Its description: for the stages of the index, their entry in the registry.
    fn info(&self) -> StageInfo;

    /// Name on the command line and of its checkpoint.
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// Version of what it writes.
    fn version(&self) -> u32 {
        self.info().version
    }

    /// The tables it owns.
    fn tables(&self) -> &'static [TableInfo] {
        self.info().tables
    }

    /// Its lanes.
    fn lanes(&self) -> &'static [Lane];

    /// Emits the deltas of a block: `emit(lane, key, value)`, lane as index into [`Stage::lanes`]. A stage that hears
    /// emits none.
    fn map(&self, block: &Block, context: &MapContext<'_>, emit: &mut dyn FnMut(usize, &[u8], &[u8]));

    /// The lane that it makes its deltas of, instead of blocks.
    fn hears(&self) -> Option<HeardLane> {
        None
    }

    /// Returns its listener for that lane; `None` for a stage that hears nothing.
    fn listener<'c>(&self, _: HearContext<'c>) -> Option<Box<dyn Listener + 'c>> {
        None
    }

    /// Folds the deltas of one group into rows. Only called for lanes with [`Merge::Fold`] and [`Merge::Coin`].
    fn fold(
        &self,
        _lane: usize,
        _group: &Group<'_>,
        _direction: FoldDirection,
        _prior: &dyn Prior,
        _rows: &mut dyn Rows,
    ) -> Result<(), StageError> {
        Err(StageError::Contradiction { stage: self.name(), what: "a lane that is not folded by its stage" })
    }

    /// Folds the deltas of some blocks in a lane with [`Merge::Ordered`], where `prior` is what its tables hold before.
    #[allow(clippy::too_many_arguments, reason = "a fold, and what it needs beside to emit")]
    fn fold_ordered(
        &self,
        _lane: usize,
        _deltas: &[Delta<'_>],
        _direction: FoldDirection,
        _times: &dyn Times,
        _prior: &dyn Prior,
        _rows: &mut dyn Rows,
        _emit: &mut Sink<'_>,
    ) -> Result<(), StageError> {
        Err(StageError::Contradiction { stage: self.name(), what: "a lane that is not folded in order by its stage" })
    }

    /// Folds the deltas of the whole chain in a lane with [`Merge::Ordered`]. Its rows it emits, too: into a lane
    /// behind it.
    fn fold_sequence(
        &self,
        _lane: usize,
        _deltas: &dyn Sequence,
        _work: &Workspace<'_>,
        _times: &dyn Times,
        _emit: &mut Sink<'_>,
    ) -> Result<(), StageError> {
        Err(StageError::Contradiction { stage: self.name(), what: "a lane that is not folded in order by its stage" })
    }
}
