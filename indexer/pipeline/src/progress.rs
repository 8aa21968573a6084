//! Telling how far long work has come.

use cairn_model::{CancelToken, Height};

/// What long work is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// Reading the headers in the block files.
    Survey,
    /// Bulk, first pass over the blocks: transaction ids and what spends what.
    Link,
    /// Bulk: finding the number of each spent transaction.
    Join,
    /// Bulk, only for blocks without undo data: finding the coins that they spend.
    Coins,
    /// Bulk, second pass: blocks into the stages.
    Fold,
    /// Bulk: sorting and writing tables.
    Tables,
    /// Bulk: taking the table files into the database.
    Ingest,
    /// Block by block at the tip.
    Connect,
    /// Disconnecting blocks.
    Unwind,
    /// Auditing.
    Verify,
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
            Phase::Verify => "verify",
        }
    }
}

/// A step of long work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgressStep {
    /// What is being done.
    pub phase: Phase,
    /// Units done: blocks, or partitions where there are no blocks.
    pub done: u64,
    /// Units in all.
    pub total: u64,
    /// Bytes of block data done in this phase; 0 where it does not read blocks.
    pub bytes: u64,
    /// Bytes of block data in all; 0 where that is not known. Blocks have become larger along the chain, so bytes tell
    /// better than blocks how much is left.
    pub of_bytes: u64,
}

/// Nobody cancels the work of who does not say otherwise.
static NEVER: CancelToken = CancelToken::never();

/// Hears of the steps of long work, and has the token that cancels it.
pub trait Progress: Sync {
    /// A step was done.
    fn step(&self, step: ProgressStep);

    /// Other work begins, on an index at this height; `None` if it is empty or its height does not matter.
    fn begin(&self, _height: Option<Height>) {}

    /// The work has ended, well or not.
    fn end(&self) {}

    /// Cancels the work, which then ends at its next safe point.
    fn cancel_token(&self) -> &CancelToken {
        &NEVER
    }
}

/// Tells nobody, and nobody cancels.
pub struct NoProgress;

impl Progress for NoProgress {
    fn step(&self, _: ProgressStep) {}
}
