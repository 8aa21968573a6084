//! Marks of scripts that are to be judged again, and the work that they are marked for.

use cairn_reader::{ReadError, View};
use cairn_tables::{
    checkpoints::Checkpoints,
    labels::{JOINED, LabelDue, ScriptHash},
};
use cairn_writer::{WriteError, Writer};

/// Marks that are set in one commit.
const MARKS_AT_ONCE: usize = 16_384;

/// Sets marks, some at a time. A mark too many does no harm.
pub(crate) struct Marks<'w> {
    writer: &'w Writer,
    waiting: Vec<ScriptHash>,
}

impl<'w> Marks<'w> {
    /// Sets marks in this index.
    pub(crate) fn new(writer: &'w Writer) -> Self {
        Marks { writer, waiting: Vec::new() }
    }

    pub(crate) fn add(&mut self, script: ScriptHash) -> Result<(), WriteError> {
        if self.waiting.last() != Some(&script) {
            self.waiting.push(script);
        }
        if self.waiting.len() >= MARKS_AT_ONCE { self.finish() } else { Ok(()) }
    }

    /// Writes what is not written yet; durable with the next flush.
    pub(crate) fn finish(&mut self) -> Result<(), WriteError> {
        let marks = std::mem::take(&mut self.waiting);
        if marks.is_empty() {
            return Ok(());
        }
        self.writer.commit(|batch| {
            marks.iter().for_each(|script| batch.put_row::<LabelDue>(script, &()));
            Ok(())
        })
    }
}

/// Deletes the checkpoint of the joined tables, so that they are made again as a whole.
pub(crate) fn forget(writer: &Writer) -> Result<(), WriteError> {
    writer.commit::<WriteError>(|batch| {
        batch.delete_row::<Checkpoints>(&JOINED.to_owned());
        Ok(())
    })?;
    writer.flush()
}

/// Returns up to `most` marks, ascending, after `after`.
pub(crate) fn marked(view: &View<'_>, after: Option<&ScriptHash>, most: usize) -> Result<Vec<ScriptHash>, ReadError> {
    let is_after = |row: &Result<ScriptHash, ReadError>| row.as_ref().map_or(true, |row| after != Some(row));
    view.scan::<LabelDue>(after)?.map(|row| Ok(row?.0)).filter(is_after).take(most).collect()
}
