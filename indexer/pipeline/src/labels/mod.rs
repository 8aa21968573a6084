//! The joined tables: the label of each script by all its claims, and the scripts and sums of entities.
//!
//! Two things change them. A block moves the sums of the scripts that it touches, in its own commit (`blocks`). A
//! document only marks scripts (`due`): those with new claims, and those with claims that it ends. These are judged
//! again afterwards, some at a time (`follow`). A script without a mark has the rows that follow from its claims and
//! from the chain up to the tip, in whatever order blocks and documents came.
//!
//! Their checkpoint is like that of a stage: where it is missing, of another version or behind, all rows are made
//! again.

mod blocks;
mod due;
pub(crate) mod follow;
mod forest;
mod judge;
mod owners;
mod rows;

use cairn_model::{BlockHash, Height};
use cairn_tables::{
    Origin, TABLES, TableInfo,
    checkpoints::{Checkpoint, Checkpoints},
    labels::{JOINED, is_joined_at, joined_at},
};
use cairn_writer::Batch;

pub(crate) use self::{
    blocks::{BlockChanges, changes_of_block},
    due::{Marks, forget, marked},
    forest::{ForestRow, is_forest},
    judge::{MAX_HEIRS, NamedEntity, ScriptVerdict, judge, named_at, owner_by},
    owners::judge_owners,
    rows::{Changes, LabelledScript, Rows, ScriptSums, rows_of, rows_of_owners, rows_of_suspect},
};

pub(crate) fn tables() -> impl Iterator<Item = &'static TableInfo> {
    TABLES.iter().filter(|table| table.origin == Origin::Joined)
}

/// True if this is their checkpoint at a block.
pub(crate) fn is_current(found: Option<&Checkpoint>, (height, hash): (Height, BlockHash)) -> bool {
    found.is_some_and(|found| is_joined_at(found, height, hash))
}

pub(crate) fn put_checkpoint(batch: &mut Batch<'_>, (height, hash): (Height, BlockHash)) {
    batch.put_row::<Checkpoints>(&JOINED.to_owned(), &joined_at(height, hash));
}
