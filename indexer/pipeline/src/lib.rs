//! Drives blocks from a source through the journal into the tables of the stages: in bulk if the index is empty, block
//! by block at the tip, and backwards in a reorg. All use the same stages.

mod background;
mod bulk;
mod collisions;
mod engine;
mod error;
mod exchanges;
mod feed;
mod followers;
mod groups;
mod labels;
mod late;
mod ledger;
mod newest;
mod observations;
mod open;
mod progress;
mod rebuild;
mod records;
mod repair;
mod replica;
mod resolve;
mod silent_payments;
mod sums;
mod times;
mod tip;
pub mod verify;
mod watchlist;

pub use bulk::{BulkOptions, BulkSizes};
pub use engine::{Driver, Engine, SyncOptions, SyncReport, survey_memory};
pub use error::PipelineError;
pub use feed::FIRST_ANNOUNCED;
pub use ledger::archived_facts;
pub use ledger::{
    Applied, Drained, INBOX, LedgerError, Refused, put_file_into_inbox, put_into_inbox, waiting_in_inbox,
};
pub use open::DEFAULT_MEMORY;
pub use progress::{NoProgress, Phase, Progress, ProgressStep};
pub use repair::{BlockSource, FileBlocks, FoundBlock, RepairOptions, Repaired, finish_replacement, repair, set_aside};
pub use replica::refuse_replica;
pub use silent_payments::WholeBlocks;
