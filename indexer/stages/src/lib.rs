//! Stages: folds over the journal. A stage defines the effect of a block on its tables; a driver (bulk or tip, in the
//! pipeline) sorts, reads, merges and writes. Both drivers use the same stages, also to unwind.
//!
//! A stage *maps* a block to deltas in lanes: `(lane, key, delta)`. Deltas of one group (keys with the same prefix) are
//! *folded* together into rows. In bulk, one fold per group gets all deltas of the chain; at the tip, a fold gets the
//! deltas of one block and the existing rows. Both produce the same rows.

mod ages;
mod chain;
mod clusters;
mod coins;
mod deltas;
mod funding;
mod group;
mod hearing;
mod lanes;
mod ordered;
mod payouts;
mod per_tx;
mod pings;
mod pubkeys;
mod returns;
mod script_days;
mod scripts;
mod spends;
mod stage;
mod times;
mod transfers;

pub use cairn_tables::stages::StageInfo;
pub use deltas::{
    COIN_MADE, COIN_SPENT, Delta, FoldDirection, Lane, Merge, NoPrior, Prior, PriorError, Rows, Spread, StageError,
};
pub use group::{Group, Reading};
pub use hearing::{HearContext, Listener, NoPast, Past, PastBefore, ScriptActions, ScriptBefore};
pub use lanes::{DeltaLane, Emitter, EmitterMemory, RowLane, Sink};
pub use ordered::{Scratch, Sequence, Workspace};
pub use returns::ReturnTally;
pub use script_days::ScriptDayTally;
pub use stage::{HeardLane, MapContext, Stage};
pub use times::{ChainTimes, Times, TimesUpTo};

/// Name of the stage that is the journal.
pub const CHAIN: &str = cairn_tables::stages::CHAIN.name;

macro_rules! declare_stages {
    ($($NAME:ident = $module:ident::$stage:ident { $($identity:tt)* })*) => {
        /// Every stage, in order of application. The first is the journal.
        #[must_use]
        pub fn all() -> Vec<Box<dyn Stage>> {
            vec![$(Box::new($module::$stage)),*]
        }
    };
}

// A stage is a module here and an entry in the registry, which holds what readers need to know of it.
cairn_tables::for_each_stage!(declare_stages);
