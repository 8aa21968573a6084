//! Stages: folds over the journal. A stage says what a block means to its tables; a driver (bulk or tip, in the
//! pipeline) sorts, reads, merges and writes. The same stage serves both, and unwinds as well.
//!
//! A stage *maps* a block to deltas in lanes: `(lane, key, delta)`. Deltas of one group (keys that begin alike) are
//! *folded* together into rows. In bulk all deltas of the chain meet in one fold per group; at the tip those of one
//! block meet what the table already holds. Both end with the same rows.

mod stage;

pub use cairn_tables::stages::{Order, StageInfo};
pub use stage::{
    COIN_MADE, COIN_SPENT, Delta, FoldDirection, Group, Lane, Merge, NoPrior, Prior, PriorError, Rows, Settings,
    Spread, Stage, StageError,
};

/// Name of the stage that is the journal.
pub const CHAIN: &str = cairn_tables::stages::CHAIN.name;

macro_rules! declare_stages {
    ($($NAME:ident = $module:ident::$stage:ident { $($identity:tt)* })*) => {
        $(mod $module;)*

        /// Every stage, in the order in which they are applied. The first is the journal itself.
        #[must_use]
        pub fn all() -> Vec<Box<dyn Stage>> {
            vec![$(Box::new($module::$stage)),*]
        }
    };
}

// A stage is a file here and an entry in the registry, which holds what readers need to know of it.
cairn_tables::for_each_stage!(declare_stages);
