//! Progress of long work.

use cairn_model::{CancelToken, Height};

cairn_model::words! {
    /// Phase of long work.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum Phase {
        /// Reading the headers in the block files.
        Survey = "survey",
        /// Bulk, first pass over the blocks: txids and spent outpoints.
        Link = "link",
        /// Bulk: finding the number of each spent transaction.
        Join = "join",
        /// Bulk, only for blocks without undo data: finding the coins that they spend.
        Coins = "coins",
        /// Bulk, second pass: blocks into the stages.
        Fold = "fold",
        /// Bulk: sorting and writing tables.
        Tables = "tables",
        /// Bulk: ingesting the table files into the database.
        Ingest = "ingest",
        /// Block by block at the tip.
        Connect = "connect",
        /// Disconnecting blocks.
        Unwind = "unwind",
        /// Judging scripts by claims about them.
        Labels = "labels",
        /// Following the chain with late stages.
        Late = "late stages",
        /// Auditing.
        Verify = "verify",
        /// Writing files for other programs.
        Export = "export",
    }
    /// Its name, for people.
    pub fn name;
}

/// A step of long work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgressStep {
    /// The phase.
    pub phase: Phase,
    /// Units done: blocks, or partitions where there are no blocks.
    pub done: u64,
    /// Total number of units.
    pub total: u64,
    /// Bytes of block data done in this phase; 0 if it does not read blocks.
    pub bytes: u64,
    /// Total bytes of block data; 0 if unknown. Blocks have become larger along the chain, so bytes measure the rest
    /// better than blocks.
    pub of_bytes: u64,
}

/// The default token, which is never cancelled.
static NEVER: CancelToken = CancelToken::never();

/// Receives the steps of long work, and has the token that cancels it.
pub trait Progress: Sync {
    /// A step was done.
    fn step(&self, step: ProgressStep);

    /// New work begins, on an index at this height; `None` if it is empty or the height does not matter.
    fn begin(&self, _height: Option<Height>) {}

    /// The work has ended, successfully or not.
    fn end(&self) {}

    /// The token that cancels the work; it then ends at its next safe point.
    fn cancel_token(&self) -> &CancelToken {
        &NEVER
    }
}

/// Ignores progress and is never cancelled.
pub struct NoProgress;

impl Progress for NoProgress {
    fn step(&self, _: ProgressStep) {}
}
