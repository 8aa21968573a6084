//! Common parts of rows of lists that a publisher replaces as a whole.

use std::{fmt::Debug, hash::Hash};

use crate::codec::{Bytes, Malformed};

/// A row of such a list.
pub trait Listed: Clone + Eq + Ord + Hash + Debug + Send + Sync + Sized + 'static {
    /// Its name, for errors.
    const NOUN: &'static str;
    /// Most rows of a document.
    const MAX: usize;
    /// Most rows in one row of the ledger.
    const PER_ROW: usize;

    /// Entry of the document, from 1. With the document it identifies the row.
    fn row(&self) -> u32;

    /// The same at another entry.
    #[must_use]
    fn at_row(&self, row: u32) -> Self;

    /// Checks the rules that the type does not enforce.
    fn check(&self) -> Result<(), &'static str>;

    /// Appends it; its row must be above `before`, that of the one before or 0.
    fn put(&self, out: &mut Vec<u8>, before: u32);

    /// Reads one, after the one with the row `before`; 0 for the first.
    fn read(bytes: &mut Bytes<'_>, before: u32) -> Result<Self, Malformed>;
}

/// A list that the ledger does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadListing {
    /// Its rows are not in order, or two are of the same row.
    #[error("{0} {1} of the document does not follow the one before: sort them by row, one for each row")]
    Order(&'static str, usize),
    /// A row breaks a rule.
    #[error("{0} {1} of the document has {2}")]
    Row(&'static str, usize, &'static str),
    /// It is too long.
    #[error("the document has {count} rows, each a {noun}; at most {most} are taken: split the list")]
    TooLong {
        /// Kind of its rows.
        noun: &'static str,
        /// How many there are.
        count: usize,
        /// How many are taken.
        most: usize,
    },
}

/// The row that is `rows` rows after `before`.
pub(crate) fn row_after(before: u32, rows: u32) -> Result<u32, Malformed> {
    before.checked_add(rows).filter(|_| rows > 0).ok_or(Malformed("row of a list"))
}

/// Appends rows, ascending.
pub fn put_listed<L: Listed>(out: &mut Vec<u8>, rows: &[L]) {
    let befores = std::iter::once(0).chain(rows.iter().map(L::row));
    befores.zip(rows).for_each(|(before, row)| row.put(out, before));
}

impl Bytes<'_> {
    /// The next `count` rows, or all that are left.
    pub fn listed<L: Listed>(&mut self, count: Option<usize>) -> Result<Vec<L>, Malformed> {
        let (mut rows, mut before) = (Vec::new(), 0);
        while count.map_or(!self.is_empty(), |count| rows.len() < count) {
            let row = L::read(self, before)?;
            before = row.row();
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Checks the rules that their types do not enforce.
pub(crate) fn check<L: Listed>(rows: &[L]) -> Result<(), BadListing> {
    if rows.len() > L::MAX {
        return Err(BadListing::TooLong { noun: L::NOUN, count: rows.len(), most: L::MAX });
    }
    let mut before = 0;
    for (at, row) in (1..).zip(rows) {
        if row.row() <= before {
            return Err(BadListing::Order(L::NOUN, at));
        }
        before = row.row();
        row.check().map_err(|what| BadListing::Row(L::NOUN, at, what))?;
    }
    Ok(())
}
