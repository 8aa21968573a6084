//! Rows of late stages, the newest first, those of one transaction together: a page never ends between them.

use cairn_model::TxNum;
use cairn_reader::{Backward, ReadError};
use cairn_tables::{Table, flushes::InputKey};

/// A row and its key.
pub(super) type Row<T> = (InputKey, <T as Table>::Value);

/// Walks through transactions that have rows.
pub(super) struct ByInput<'v, T: Table<Key = InputKey>> {
    walk: Option<Backward<'v, T>>,
    /// The next row, if it was read already.
    ahead: Option<Row<T>>,
}

impl<'v, T: Table<Key = InputKey>> ByInput<'v, T> {
    /// Over a walk; `None` has nothing.
    pub(super) fn over(walk: Option<Backward<'v, T>>) -> Self {
        ByInput { walk, ahead: None }
    }

    fn row(&mut self) -> Result<Option<Row<T>>, ReadError> {
        match (self.ahead.take(), &mut self.walk) {
            (Some(row), _) => Ok(Some(row)),
            (None, Some(walk)) => walk.older(),
            (None, None) => Ok(None),
        }
    }

    /// The next older transaction, with its rows that fit, by ascending input.
    ///
    /// # Errors
    /// The index cannot be read, or a row is damaged.
    pub(super) fn older(
        &mut self,
        fits: impl Fn(&T::Value) -> bool,
    ) -> Result<Option<(TxNum, Vec<Row<T>>)>, ReadError> {
        let Some(first) = self.row()? else { return Ok(None) };
        let tx_num = first.0.tx_num;
        let mut rows = vec![first];
        while let Some(row) = self.row()? {
            if row.0.tx_num != tx_num {
                self.ahead = Some(row);
                break;
            }
            rows.push(row);
        }
        rows.reverse();
        rows.retain(|(_, row)| fits(row));
        Ok(Some((tx_num, rows)))
    }
}
