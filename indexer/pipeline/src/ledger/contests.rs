//! Takes a contest in, and takes it back.

use cairn_events::{Contest, ContestAct, Provenance};
use cairn_tables::{
    claims::ListKey,
    contests::{ContestKey, ContestState, Contests},
    events::{DocumentState, Documents, EventRow, Events},
    labels::{LabelDue, ScriptHash},
};
use cairn_writer::Batch;

use super::{Applied, LedgerError, claims::version, taking::Taking};

pub(crate) fn contest_key(provenance: &Provenance, contest: &Contest) -> ContestKey {
    ContestKey {
        script: contest.script,
        list: ListKey { source: contest.source.clone(), list: contest.list.clone() },
        statement: contest.statement,
        version: version(provenance),
    }
}

pub(crate) fn contest_state(contest: &Contest) -> ContestState {
    ContestState { act: contest.act, by: contest.by }
}

impl Taking<'_> {
    /// Writes the contest; returns its sequence number.
    pub(super) fn write_contest(
        &self,
        batch: &mut Batch<'_>,
        contest: &Contest,
    ) -> Result<(Applied, u64), LedgerError> {
        let provenance = &self.document.provenance;
        let state = self.state(&self.hash())?;
        let row = EventRow::Contest {
            received_at: self.received_at(),
            provenance: provenance.clone(),
            contest: Box::new(contest.clone()),
        };
        batch.put_row::<Events>(&self.seq, &row);
        batch.put_row::<Documents>(&self.hash(), &DocumentState { seq: self.seq, ..state });
        // A blanked statement cannot come back.
        let withdrawn = state.withdrawn != 0 && contest.act != ContestAct::Redacts;
        if !withdrawn {
            let key = contest_key(provenance, contest);
            if contest.act == ContestAct::Redacts {
                self.redact(batch, &key)?;
            }
            batch.put_row::<LabelDue>(&ScriptHash(key.script), &());
            batch.put_row::<Contests>(&key, &contest_state(contest));
        }
        Ok((Applied::Taken { seq: self.seq, events: 1, repeated: 0, withdrawn }, self.seq))
    }
}

/// Removes the effect of a document on a statement, unless the document has blanked it.
pub(super) fn take_back(batch: &mut Batch<'_>, provenance: &Provenance, contest: &Contest) {
    if contest.act == ContestAct::Redacts {
        return;
    }
    let key = contest_key(provenance, contest);
    batch.put_row::<LabelDue>(&ScriptHash(key.script), &());
    batch.delete_row::<Contests>(&key);
}
