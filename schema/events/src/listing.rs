//! Lists that a publisher replaces as a whole: of a list of a source, the document that was retrieved last holds. Their rows
//! are about no script: tags of mining pools, and profiles of entities.

use std::{fmt::Debug, hash::Hash};

use crate::{
    PoolTag, Profile,
    codec::{Bytes, Malformed},
    document::BadDocument,
};

/// A row of such a list.
pub trait Listed: Clone + Eq + Ord + Hash + Debug + Send + Sync + Sized + 'static {
    /// What it is called, for errors.
    const NOUN: &'static str;
    /// Most rows of a document.
    const MOST: usize;
    /// Most rows in one row of the ledger.
    const PER_ROW: usize;

    /// Entry of the document, from 1. With the document it identifies the row.
    fn row(&self) -> u32;

    /// The same at another entry.
    #[must_use]
    fn at_row(&self, row: u32) -> Self;

    /// Checks what the type does not say.
    ///
    /// # Errors
    /// What is wrong first.
    fn check(&self) -> Result<(), &'static str>;

    /// Appends it; its row must be above `before`, that of the one before or 0.
    fn put(&self, out: &mut Vec<u8>, before: u32);

    /// Reads one, after the one with the row `before`; 0 for the first.
    ///
    /// # Errors
    /// The bytes are none.
    fn read(bytes: &mut Bytes<'_>, before: u32) -> Result<Self, Malformed>;
}

/// The row that follows so many after another.
pub(crate) fn row_after(before: u32, rows: u32) -> Result<u32, Malformed> {
    before.checked_add(rows).filter(|_| rows > 0).ok_or(Malformed("row of a list"))
}

/// Appends rows, ascending.
pub fn put_listed<L: Listed>(out: &mut Vec<u8>, rows: &[L]) {
    let befores = std::iter::once(0).chain(rows.iter().map(L::row));
    befores.zip(rows).for_each(|(before, row)| row.put(out, before));
}

impl Bytes<'_> {
    /// The next rows: so many, or all that are left.
    ///
    /// # Errors
    /// The bytes are none.
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

fn check<L: Listed>(rows: &[L]) -> Result<(), BadDocument> {
    if rows.len() > L::MOST {
        return Err(BadDocument::Listed { noun: L::NOUN, count: rows.len(), most: L::MOST });
    }
    let mut before = 0;
    for (at, row) in (1..).zip(rows) {
        if row.row() <= before {
            return Err(BadDocument::ListedOrder(L::NOUN, at));
        }
        before = row.row();
        row.check().map_err(|what| BadDocument::ListedRow(L::NOUN, at, what))?;
    }
    Ok(())
}

/// Declares the kinds of lists.
macro_rules! listings {
    ($($(#[$doc:meta])+ $kind:ident: $row:ident = $name:literal;)*) => {
        /// Rows of a list, of one kind.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Listing {
            $($(#[$doc])+ $kind(Vec<$row>),)*
        }

        impl Listing {
            /// Name of the kind: in small letters, in the plural.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Listing::$kind(_) => $name,)*
                }
            }

            /// Number of rows.
            #[must_use]
            pub fn len(&self) -> usize {
                match self {
                    $(Listing::$kind(rows) => rows.len(),)*
                }
            }

            /// True if there are none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Checks what the type does not say.
            pub(crate) fn check(&self) -> Result<(), BadDocument> {
                match self {
                    $(Listing::$kind(rows) => check(rows),)*
                }
            }

            /// Appends the rows.
            pub fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Listing::$kind(rows) => put_listed(out, rows),)*
                }
            }

            /// Adds rows of the same kind; those of another are not added.
            pub fn append(&mut self, more: Listing) {
                match (self, more) {
                    $((Listing::$kind(rows), Listing::$kind(more)) => rows.extend(more),)*
                    _ => {}
                }
            }
        }

        $(impl From<Vec<$row>> for Listing {
            fn from(rows: Vec<$row>) -> Self {
                Listing::$kind(rows)
            }
        })*
    };
}

listings! {
    /// Tags of mining pools.
    PoolTags: PoolTag = "pool_tags";
    /// Profiles of entities.
    Profiles: Profile = "profiles";
}
