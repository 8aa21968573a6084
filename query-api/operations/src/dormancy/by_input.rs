//! Rows of late stages, the newest first, those of one transaction together: a page never ends between them.

use std::cell::Cell;

use cairn_http::ApiError;
use cairn_model::TxNum;
use cairn_reader::{Backward, ReadError};
use cairn_tables::{Table, flushes::InputKey};

use crate::{
    context::Ctx,
    page_request::PageRequest,
    window::{BoundedScan, Page},
};

pub(super) type Row<T> = (InputKey, <T as Table>::Value);

/// Reads a page of the rows that fit, from an index walk over them. `shown` makes the rows of the answer from those of
/// one transaction, and returns what that cost in rows.
pub(super) fn page<T: Table<Key = InputKey>, R>(
    ctx: &Ctx<'_>,
    request: &PageRequest<'_>,
    (walk, fits): (Option<Backward<'_, T>>, impl Fn(&T::Value) -> bool),
    mut shown: impl FnMut(Vec<Row<T>>) -> Result<(Vec<R>, usize), ApiError>,
) -> Result<Page<R>, ApiError> {
    let mut rows = ByInput { walk, ahead: None };
    let (mut scan, spent) = (BoundedScan::back_to(request.window.first), Cell::new(0));
    let next = || {
        scan.spend(spent.take());
        scan.next(&ctx.work, || Ok(rows.older(&fits)?), |rows| !rows.is_empty())
    };
    let page = Page::read(request.view, request.rest(), request.limit as usize, next, |_, rows| {
        let (rows, cost) = shown(rows)?;
        spent.set(cost);
        Ok(Some(rows))
    })?;
    Ok(page.flatten())
}

/// Walks through transactions that have rows.
struct ByInput<'v, T: Table<Key = InputKey>> {
    walk: Option<Backward<'v, T>>,
    /// The next row, if it was read already.
    ahead: Option<Row<T>>,
}

impl<'v, T: Table<Key = InputKey>> ByInput<'v, T> {
    fn row(&mut self) -> Result<Option<Row<T>>, ReadError> {
        match (self.ahead.take(), &mut self.walk) {
            (Some(row), _) => Ok(Some(row)),
            (None, Some(walk)) => walk.older(),
            (None, None) => Ok(None),
        }
    }

    /// The next older transaction, with its rows that fit, by ascending input.
    fn older(&mut self, fits: impl Fn(&T::Value) -> bool) -> Result<Option<(TxNum, Vec<Row<T>>)>, ReadError> {
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
