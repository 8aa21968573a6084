//! Reads of a traced request by table: where its time went.

use std::{cell::RefCell, time::Instant};

/// Most tables that are listed; rows of further ones are counted as [`OTHER`].
pub const MAX_TABLES: usize = 63;
/// Name of all tables beyond [`MAX_TABLES`].
pub const OTHER: &str = "other";

/// Rows that a request has read from one table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableReads {
    /// Name of the table.
    pub table: &'static str,
    /// Rows, including steps of scans.
    pub rows: u64,
    /// Bytes of these rows.
    pub bytes: u64,
    /// When the first row was looked up.
    pub first: Instant,
    /// When a row was last looked up or decoded.
    pub last: Instant,
}

/// Reads by table, in the order of their first rows.
#[derive(Default)]
pub(crate) struct Reads {
    tables: RefCell<Tables>,
}

#[derive(Default)]
struct Tables {
    list: Vec<TableReads>,
    /// The table that was read last.
    at: usize,
}

impl Reads {
    pub(crate) fn row(&self, table: &'static str) {
        let mut tables = self.tables.borrow_mut();
        let now = Instant::now();
        let table = match tables.list.iter().any(|reads| reads.table == table) || tables.list.len() < MAX_TABLES {
            true => table,
            false => OTHER,
        };
        let at = tables.list.iter().position(|reads| reads.table == table).unwrap_or(tables.list.len());
        if at == tables.list.len() {
            tables.list.push(TableReads { table, rows: 0, bytes: 0, first: now, last: now });
        }
        tables.at = at;
        if let Some(reads) = tables.list.get_mut(at) {
            reads.rows += 1;
            reads.last = now;
        }
    }

    /// Counts bytes of the table that was read last.
    pub(crate) fn bytes(&self, bytes: usize) {
        let mut tables = self.tables.borrow_mut();
        let at = tables.at;
        if let Some(reads) = tables.list.get_mut(at) {
            reads.bytes = reads.bytes.saturating_add(bytes as u64);
            reads.last = Instant::now();
        }
    }

    pub(crate) fn list(&self) -> Vec<TableReads> {
        self.tables.borrow().list.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_bytes_belong_to_their_table() {
        let reads = Reads::default();
        reads.bytes(9);
        for (table, bytes) in [("a", 3), ("b", 5), ("a", 7)] {
            reads.row(table);
            reads.bytes(bytes);
        }
        let list = reads.list();
        let counts: Vec<_> = list.iter().map(|reads| (reads.table, reads.rows, reads.bytes)).collect();
        assert_eq!(counts, [("a", 2, 10), ("b", 1, 5)]);
        assert!(list.iter().all(|reads| reads.first <= reads.last));
    }

    #[test]
    fn tables_are_bounded() {
        let reads = Reads::default();
        for n in 0..100 {
            reads.row(Box::leak(format!("t{n}").into_boxed_str()));
        }
        let list = reads.list();
        assert_eq!(list.len(), MAX_TABLES + 1);
        assert_eq!(list.last().map(|reads| (reads.table, reads.rows)), Some((OTHER, 37)));
    }
}
