//! Vocabulary that operations share: heights, cursors, caveats, assessments. One module each.

mod as_of;
pub(crate) mod assessment;
pub(crate) mod caveat;
pub(crate) mod claim_caveat;
pub(crate) mod columns;
pub(crate) mod cursor;
pub(crate) mod label;
pub(crate) mod owner;
