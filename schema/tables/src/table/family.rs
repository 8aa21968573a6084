//! Column families. They have no list of their own: each derives from the table that owns it.

use std::fmt;

use super::Table;

/// Column family of a table's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// In a column family of the table's own, with the table's name.
    Own(Tuning),
    /// As before, but only the writer reads it. A reader in another process does not open it: its files are replaced
    /// with nearly every commit, and an older index without it is still readable.
    WritersOwn(Tuning),
    /// In the family that small tables share, with this first byte of the key: each family costs one file per commit.
    Shared(u8),
}

impl Home {
    /// First byte of the keys in the shared family.
    #[must_use]
    pub const fn tag(self) -> Option<u8> {
        match self {
            Home::Shared(tag) => Some(tag),
            Home::Own(_) | Home::WritersOwn(_) => None,
        }
    }
}

/// How the rows of a family are compressed on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// None: for long rows of hashes and packed numbers, compression costs time and saves nothing.
    None,
    /// Short rows, or repeating keys or scripts.
    Lz4,
}

/// Tuning of a family. The table's declaration explains the choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// Uncompressed bytes of a data block.
    pub block_size: usize,
    /// Compression of data blocks.
    pub compression: Compression,
    /// Bits per key of the filter for point look-ups; 0 for none.
    pub filter_bits: u8,
    /// Bytes of the key that the filter covers; 0 for the whole key.
    pub filter_prefix: usize,
}

impl Tuning {
    /// For long rows that do not compress.
    pub const PLAIN: Tuning =
        Tuning { block_size: 16 << 10, compression: Compression::None, filter_bits: 0, filter_prefix: 0 };
    /// For short rows. With each key RocksDB stores eight bytes that are the same in all rows of a table file; LZ4
    /// saves a quarter from these alone.
    pub const SHORT: Tuning = Tuning { block_size: 4 << 10, compression: Compression::Lz4, ..Tuning::PLAIN };
}

/// A column family of the database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Family(u8);

/// Definition of a family.
#[derive(Clone, Copy)]
struct FamilyDefinition {
    name: &'static str,
    tuning: Tuning,
    is_writers_own: bool,
}

macro_rules! declare_homes {
    ($($module:ident: $($table:ident),+;)*) => {
        /// Name and home of every table, from which the families follow.
        pub(super) const DECLARED: &[(&str, Home)] = &[$($((
            <crate::$module::$table as Table>::NAME,
            <crate::$module::$table as Table>::HOME,
        )),+),*];
    };
}

for_each_table!(declare_homes);

/// The family that small tables share.
const SHARED: FamilyDefinition = FamilyDefinition {
    name: "small",
    tuning: Tuning { block_size: 4 << 10, filter_bits: 10, ..Tuning::PLAIN },
    is_writers_own: false,
};

/// Its index. The tables before it must keep their order: manifests of interrupted bulk indexing refer to families by
/// index.
const SHARED_AT: usize = 9;

const COUNT: usize = {
    let (mut count, mut table) = (1, 0);
    while table < DECLARED.len() {
        if DECLARED[table].1.tag().is_none() {
            count += 1;
        }
        table += 1;
    }
    count
};

static MADE: [FamilyDefinition; COUNT] = made();

/// The tables' own families in registry order, and the shared one at its index.
const fn made() -> [FamilyDefinition; COUNT] {
    let mut made = [SHARED; COUNT];
    let (mut at, mut table) = (0, 0);
    while table < DECLARED.len() {
        if at == SHARED_AT {
            at += 1;
        }
        let (name, home) = DECLARED[table];
        match home {
            Home::Own(tuning) => made[at] = FamilyDefinition { name, tuning, is_writers_own: false },
            Home::WritersOwn(tuning) => made[at] = FamilyDefinition { name, tuning, is_writers_own: true },
            Home::Shared(_) => {}
        }
        if home.tag().is_none() {
            at += 1;
        }
        table += 1;
    }
    made
}

/// Compares two texts in constants.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

impl Family {
    /// The family that small tables share, each with its tag.
    pub const SHARED: Family = Family(SHARED_AT as u8);

    /// All families, in opening order.
    pub const ALL: [Family; COUNT] = {
        let mut all = [Family(0); COUNT];
        let mut at = 0;
        while at < COUNT {
            all[at] = Family(at as u8);
            at += 1;
        }
        all
    };

    /// The family of a table. For constants: a table with a family of its own that is not registered does not compile.
    pub(crate) const fn of(table: &str, home: Home) -> Family {
        if home.tag().is_some() {
            return Family::SHARED;
        }
        let (made, mut at) = (made(), 0);
        while !same(made[at].name, table) {
            at += 1;
        }
        Family(at as u8)
    }

    /// Its name in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        MADE[self.index()].name
    }

    /// True if only the writer reads it; see [`Home::WritersOwn`].
    #[must_use]
    pub fn is_writers_own(self) -> bool {
        MADE[self.index()].is_writers_own
    }

    /// Its index in [`Family::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// Its tuning.
    #[must_use]
    pub fn tuning(self) -> Tuning {
        MADE[self.index()].tuning
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Family({})", self.name())
    }
}
