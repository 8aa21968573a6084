//! Undo rows of late stages: their rows before each of the newest blocks. A late stage follows the chain after the
//! other stages, block by block, and reads their tables; so that a reorganization can be undone without that work, it
//! keeps the rows that each block replaced.
//!
//! ```text
//! late_undo  'V' ‖ late stage (1) ‖ height (4) → hash of the block before (32) │ n × (length │ key │ 0 or 1 [│ length │ row])
//! ```
//!
//! Keys are whole, with the tag of their table; 0 means that there was no row. Only the newest blocks have one.

use cairn_model::{BlockHash, Height};

use crate::{
    codec::{DecodeError, Input, ValueCodec, key_of_fields, put_bytes},
    table::{Home, Origin, table},
};

/// Blocks whose rows are kept. After a deeper reorganization, late stages start again at the first block.
pub const KEPT_BLOCKS: u32 = 2_016;

table! {
    /// Rows as they were before blocks.
    pub struct LateUndo("late_undo": UndoKey => UndoRow) in Home::Shared(b'V'), from Origin::Index;
}

/// A late stage and a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UndoKey {
    /// Place of the stage in [`LATE`](crate::stages::LATE).
    pub stage: u8,
    /// The block.
    pub height: Height,
}

key_of_fields! { UndoKey { stage, height } }

/// The rows that a block replaced, ascending by key: of each how it was, or `None` if there was none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UndoRow {
    /// Hash of the block before.
    pub before: BlockHash,
    /// Key and former value of each row.
    pub rows: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl ValueCodec for UndoRow {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before.0);
        for (key, row) in &self.rows {
            put_bytes(out, key);
            out.push(row.is_some().into());
            row.iter().for_each(|row| put_bytes(out, row));
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let before = BlockHash(b.array()?);
        let mut rows: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
        while b.left() > 0 {
            let key = b.bytes()?.to_vec();
            if rows.last().is_some_and(|(last, _)| *last >= key) {
                return Err(b.error("keys out of order"));
            }
            let has_row = b.flag_of("neither a row nor none")?;
            rows.push((key, if has_row { Some(b.bytes()?.to_vec()) } else { None }));
        }
        Ok(UndoRow { before, rows })
    }
}
