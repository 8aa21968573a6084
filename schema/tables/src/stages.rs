//! The identities of the stages: name, version and tables, which readers need too. `indexer/stages` implements the
//! stages.

use crate::{TABLES, TableInfo};

/// Identity of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StageInfo {
    /// Name on the command line and in its checkpoint.
    pub name: &'static str,
    /// Version of its tables. A stage whose tables have another version is rebuilt from the journal.
    pub version: u32,
    /// The stages whose tables it reads. It is rebuilt if the version of one changes. The journal is not listed: every
    /// stage is built from it, and an index with another version of it cannot be used.
    pub depends_on: &'static [&'static StageInfo],
    /// The tables it owns; no other stage writes them.
    pub tables: &'static [TableInfo],
}

impl StageInfo {
    /// Names and versions of its dependencies, ascending by name.
    #[must_use]
    pub fn dependencies(&self) -> Vec<(String, u32)> {
        let mut found: Vec<_> = self.depends_on.iter().map(|stage| (stage.name.to_owned(), stage.version)).collect();
        found.sort_unstable();
        found
    }
}

const fn count_tables(stage: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < TABLES.len() {
        if TABLES[at].is_of(stage) {
            count += 1;
        }
        at += 1;
    }
    count
}

/// The tables of a stage, `N` of them.
const fn tables_of<const COUNT: usize>(stage: &str) -> [TableInfo; COUNT] {
    let (mut found, mut count, mut at) = ([TABLES[0]; COUNT], 0, 0);
    while at < TABLES.len() {
        if TABLES[at].is_of(stage) {
            found[count] = TABLES[at];
            count += 1;
        }
        at += 1;
    }
    found
}

macro_rules! declare_stage {
    ($NAME:ident = $stage:ident { version: $version:literal, depends_on: [$($other:ident),*] }) => {
        #[doc = concat!("Stage `", stringify!($stage), "`.")]
        pub const $NAME: StageInfo = StageInfo {
            name: stringify!($stage),
            version: $version,
            depends_on: &[$(&$other),*],
            tables: {
                const TABLES: [TableInfo; count_tables(stringify!($stage))] = tables_of(stringify!($stage));
                &TABLES
            },
        };
    };
}

macro_rules! declare_stages {
    ($($NAME:ident = $module:ident::$stage:ident {
        version: $version:literal, depends_on: [$($other:ident),*]
    })*) => {
        $(declare_stage! { $NAME = $module { version: $version, depends_on: [$($other),*] } })*

        /// Every stage, in order of application. The first is the journal.
        pub const STAGES: &[StageInfo] = &[$($NAME),*];
    };
}

for_each_stage!(declare_stages);

macro_rules! declare_late_stages {
    ($($NAME:ident = $stage:ident { version: $version:literal, depends_on: [$($other:ident),*] })*) => {
        $(declare_stage! { $NAME = $stage { version: $version, depends_on: [$($other),*] } })*

        /// Every late stage. Places are in the keys of [`LateUndo`](crate::late::LateUndo): new ones go to the end.
        pub const LATE: &[StageInfo] = &[$($NAME),*];
    };
}

for_each_late_stage!(declare_late_stages);
