//! `contests`: which statements of sources are contested, by whom.
//!
//! ```text
//! contests  'x' ‖ SHA-256 of the script (32) ‖ source ‖ 0 ‖ list ‖ 0 ‖ statement (32) ‖ retrieved at (4)
//!             ‖ first bytes of the document's hash (8) → act (1) │ party (1)
//! ```
//!
//! A row is what one document does to one statement. The last row of a statement holds, so the table is a function of
//! the documents, in whatever order they came; the one that is asked for need not have come.

use cairn_events::{ContestAct, ContestParty, StatementHash};

use crate::{
    claims::{ListKey, ListVersion},
    codec::{DecodeError, Input, ValueCodec, key_of_fields},
    table::{Home, Origin, table},
};

table! {
    /// Contests of statements by documents, unless they are withdrawn.
    pub struct Contests("contests": ContestKey => ContestState) in Home::Shared(b'x'), from Origin::FoldedEvents;
}

/// A statement, and a document that does something to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContestKey {
    /// SHA-256 of the script.
    pub script: [u8; 32],
    /// The list that says it.
    pub list: ListKey,
    /// The statement.
    pub statement: StatementHash,
    /// The document.
    pub version: ListVersion,
}

/// Effect of a document on a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContestState {
    /// Whether it contests, settles or redacts the statement.
    pub act: ContestAct,
    /// The party that acts.
    pub by: ContestParty,
}

key_of_fields! { ContestKey { script, list, statement, version } }

impl ValueCodec for ContestState {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.act.code(), self.by.code()]);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let [act, by] = b.array()?;
        let act = ContestAct::of_code(act).ok_or_else(|| b.error("act of a contest"))?;
        let by = ContestParty::of_code(by).ok_or_else(|| b.error("party of a contest"))?;
        Ok(ContestState { act, by })
    }
}
