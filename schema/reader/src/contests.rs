//! Contests of statements about a script.

use cairn_events::{Contest, StatementHash};
use cairn_tables::{
    Table,
    claims::{ListKey, ListVersion},
    contests::{ContestKey, ContestState, Contests},
    events::EventRow,
};

use crate::{ReadError, View, forward::Forward, subjects::ClaimView};

/// Most rows of contests of one script that are read.
pub const MAX_CONTESTS: usize = 1_024;

/// Last contest of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContestOf {
    /// Hash of the statement that is contested.
    pub statement: StatementHash,
    /// Action and party.
    pub state: ContestState,
    /// The document that did it.
    pub version: ListVersion,
}

/// Last contest of each statement of a list. The rows are in the order of the table.
pub(crate) fn newest_of(rows: &[(ContestKey, ContestState)], list: &ListKey) -> Vec<ContestOf> {
    let of_list = rows.iter().filter(|(key, _)| key.list == *list);
    let mut newest: Vec<ContestOf> = Vec::new();
    for (ContestKey { statement, version, .. }, state) in of_list {
        let of = ContestOf { statement: *statement, state: *state, version: *version };
        match newest.last_mut().filter(|last| last.statement == *statement) {
            Some(last) => *last = of,
            None => newest.push(of),
        }
    }
    newest
}

/// As [`ClaimView::contests_of`], with an iterator over the table.
pub(crate) fn of_script(
    view: &View<'_>,
    rows: &mut Forward<'_>,
    script: &[u8; 32],
    at: Option<u32>,
) -> Result<(Vec<(ContestKey, ContestState)>, bool), ReadError> {
    let mut from: Vec<u8> = Contests::TAG.into_iter().collect();
    from.extend_from_slice(script);
    rows.seek(&from);
    let mut found = Vec::new();
    loop {
        view.count(Contests::NAME)?;
        let Some((key, value)) = rows.row()?.filter(|(key, _)| key.starts_with(&from)) else {
            return Ok((found, false));
        };
        if found.len() == MAX_CONTESTS {
            return Ok((found, true));
        }
        view.count_bytes(value)?;
        let key = Contests::decode_key(key)?;
        if at.is_none_or(|at| key.version.retrieved_at <= at) {
            found.push((key, Contests::decode_value(value)?));
        }
        rows.next();
    }
}

impl ClaimView<'_> {
    /// Contests of claims about a script, by the SHA-256 of the script, ascending; with a time, those that were
    /// retrieved by then. And whether there are more than [`MAX_CONTESTS`]. One row read, and one for each.
    pub fn contests_of(
        self,
        script: &[u8; 32],
        at: Option<u32>,
    ) -> Result<(Vec<(ContestKey, ContestState)>, bool), ReadError> {
        of_script(self.view, &mut Forward::new::<Contests>(self.view)?, script, at)
    }

    /// The contest of a document, with its sequence number; `None` if the ledger has no such contest. Three row reads.
    pub fn contest(self, version: &ListVersion) -> Result<Option<(u64, Contest)>, ReadError> {
        let Some((hash, state)) = self.document_beginning(&version.document)? else { return Ok(None) };
        match self.view.ledger().event(state.seq)? {
            Some((seq, EventRow::Contest { contest, .. })) => Ok(Some((seq, *contest))),
            Some(_) => Ok(None),
            None => Err(ReadError::Lacks { table: "events", what: format!("document {hash}") }),
        }
    }
}
