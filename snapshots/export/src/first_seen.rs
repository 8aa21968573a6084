//! Data of scripts, by their first outputs. The index has it by script, and only an output has the script itself: so
//! the rows are first divided by parts of the chain into files, and then met by a walk over the outputs of each part.
//! Nothing is looked up.

use std::path::Path;

use cairn_model::{CancelToken, Outpoint, ScriptId, TxNum};
use cairn_reader::View;
use cairn_store::StoreError;
use cairn_tables::{
    TABLES, Table, TableInfo,
    totals::{Totals, TotalsTable},
};

use crate::{
    ExportError, Part,
    buckets::{Buckets, Filled, cut, cut_array},
};

/// Rows between two looks at whether the work was cancelled.
const LOOK_EACH: u64 = 1 << 16;

/// Rows, by groups of parts.
pub(crate) struct Spool(Filled);

impl Spool {
    /// Reads all rows, and divides them by groups of parts.
    pub(crate) fn write(
        view: &View<'_>,
        groups: &[Vec<Part>],
        folder: &Path,
        cancel: &CancelToken,
    ) -> Result<Self, ExportError> {
        let buckets = Buckets::create(folder, "scripts", groups.len())?;
        let ends: Vec<TxNum> = groups.iter().map(|group| group.last().map_or(TxNum(0), |part| part.tx_end)).collect();
        let table = TABLES.iter().find(|table| table.name == TotalsTable::NAME);
        let table: &TableInfo = table.ok_or(ExportError::Defect("the table of totals is not registered"))?;
        let (mut count, mut done, mut record) = (0u64, Ok(()), Vec::new());
        let mut put = |key: &[u8], value: &[u8]| {
            count += 1;
            if count.is_multiple_of(LOOK_EACH) && cancel.is_cancelled() {
                return Err(StoreError::Stopped.into());
            }
            let at = ends.partition_point(|end| end.0 <= first_of(value).map_or(u64::MAX, |first| first.tx_num.0));
            if at == groups.len() {
                TotalsTable::decode_value(value)?;
                return Err(ExportError::Contradiction("a script was first paid above the tip".to_owned()));
            }
            record.clear();
            record.push(u8::try_from(value.len()).map_err(|_| ExportError::Defect("a long row of totals"))?);
            record.extend_from_slice(key);
            record.extend_from_slice(value);
            buckets.put(at, &record)
        };
        view.tables().rows_while(table, |key, value| {
            done = put(key, value);
            done.is_ok()
        })?;
        done?;
        Ok(Spool(buckets.fill()?))
    }

    pub(crate) fn take(&self, group: usize) -> Result<FirstSeen, ExportError> {
        let bytes = self.0.take(group)?;
        let (mut rest, mut rows) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let place = (bytes.len() - rest.len()) as u64;
            let [length] = cut_array(&mut rest)?;
            cut(&mut rest, ID_BYTES)?;
            rows.push((TotalsTable::decode_value(cut(&mut rest, length.into())?)?.first, place));
        }
        rows.sort_unstable_by_key(|(first, _)| std::cmp::Reverse(*first));
        Ok(FirstSeen { rows, bytes })
    }
}

/// The first output of a script; `None` if the row is damaged.
fn first_of(value: &[u8]) -> Option<Outpoint> {
    TotalsTable::decode_value(value).ok().map(|totals| totals.first)
}

/// Bytes of a script's id.
const ID_BYTES: usize = 9;

/// Scripts whose first outputs are in a group of parts.
#[derive(Default)]
pub(crate) struct FirstSeen {
    /// First outputs with the places of their rows, descending: the next one is at the end.
    rows: Vec<(Outpoint, u64)>,
    /// Length of the value, id, value.
    bytes: Vec<u8>,
}

impl FirstSeen {
    /// The script whose first output this is. Outputs are asked for in the order of the chain.
    pub(crate) fn take(&mut self, output: Outpoint) -> Result<Option<(ScriptId, Totals)>, ExportError> {
        let Some((_, at)) = self.rows.pop_if(|(first, _)| *first <= output) else { return Ok(None) };
        let place = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..));
        let mut rest = place.ok_or(ExportError::Defect("a row without bytes"))?;
        let [length] = cut_array(&mut rest)?;
        let (id, value) = (cut(&mut rest, ID_BYTES)?, cut(&mut rest, length.into())?);
        let (id, totals) = (TotalsTable::decode_key(id)?, TotalsTable::decode_value(value)?);
        if totals.first != output {
            return Err(ExportError::Contradiction("the first output of a script is not there".to_owned()));
        }
        Ok(Some((id, totals)))
    }

    /// Passes over scripts whose first outputs are below a transaction: their part is written already.
    pub(crate) fn skip_to(&mut self, first_tx: TxNum) {
        let kept = self.rows.partition_point(|(first, _)| first.tx_num >= first_tx);
        self.rows.truncate(kept);
    }

    /// An error if there are scripts whose first outputs were passed without being asked for.
    pub(crate) fn check_end(&self, tx_end: TxNum) -> Result<(), ExportError> {
        if self.rows.last().is_some_and(|(first, _)| first.tx_num < tx_end) {
            return Err(ExportError::Contradiction("the first output of a script is not there".to_owned()));
        }
        Ok(())
    }
}
