//! Progress of long work.

use cairn_model::{CancelToken, Height};

/// Phase of long work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// Reading the headers in the block files.
    Survey,
    /// Bulk, first pass over the blocks: txids and spent outpoints.
    Link,
    /// Bulk: finding the number of each spent transaction.
    Join,
    /// Bulk, only for blocks without undo data: finding the coins that they spend.
    Coins,
    /// Bulk, second pass: blocks into the stages.
    Fold,
    /// Bulk: sorting and writing tables.
    Tables,
    /// Bulk: ingesting the table files into the database.
    Ingest,
    /// Block by block at the tip.
    Connect,
    /// Disconnecting blocks.
    Unwind,
    /// Judging scripts by claims about them.
    Labels,
    /// Following the chain with late stages.
    Late,
    /// Auditing.
    Verify,
    /// Writing files for other programs.
    Export,
}

impl Phase {
    /// Its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Survey => "survey",
            Phase::Link => "link",
            Phase::Join => "join",
            Phase::Coins => "coins",
            Phase::Fold => "fold",
            Phase::Tables => "tables",
            Phase::Ingest => "ingest",
            Phase::Connect => "connect",
            Phase::Unwind => "unwind",
            Phase::Labels => "labels",
            Phase::Late => "late stages",
            Phase::Verify => "verify",
            Phase::Export => "export",
        }
    }
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
