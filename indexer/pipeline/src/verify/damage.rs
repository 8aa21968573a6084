//! Damage that an audit found, and its remedies.

use cairn_model::Height;
use cairn_reader::ReadError;
use cairn_tables::{Origin, TABLES, Table, TableInfo, stages::CHAIN};

use super::tally::Tallies;
use crate::PipelineError;

/// The remedy for a damaged table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Repair {
    /// Its stage is rebuilt from the journal.
    Stage(&'static str),
    /// Its rows are made again from the other tables of the journal.
    LookUp,
    /// The blocks concerned are read again from the block files or the node.
    Blocks,
    /// Its rows are made again from the program and the tip.
    Index,
    /// Nothing: its rows were observed once. Unreadable rows are dropped.
    Dropped,
    /// The documents of the ledger that can be read are taken in again.
    Ledger,
    /// The archive of the ledger is written again from the index.
    Archive,
    /// Its rows are made again from claims and blocks.
    Labels,
    /// The late stages follow the chain again.
    Late,
    /// Tweaks of silent payments are made again from whole blocks.
    Tweaks,
    /// The block file is copied again, or the node repairs it.
    BlockFile,
}

impl Repair {
    /// The remedy that follows from the origin of a table's rows.
    const fn of_table(table: &TableInfo) -> Self {
        match table.origin {
            Origin::Stage(_) if table.is_of(CHAIN.name) => Repair::Blocks,
            Origin::Stage(stage) => Repair::Stage(stage),
            Origin::Late(_) => Repair::Late,
            Origin::Index => Repair::Index,
            Origin::Observations => Repair::Dropped,
            Origin::Events | Origin::FoldedEvents => Repair::Ledger,
            Origin::Joined => Repair::Labels,
        }
    }

    /// Describes the repair in words.
    #[must_use]
    pub fn explained(self) -> String {
        match self {
            Repair::Stage(stage) => format!("stage {stage} is rebuilt from the journal"),
            Repair::LookUp => "its rows are made again from the journal".to_owned(),
            Repair::Blocks => "the blocks are read again from the block files or the node".to_owned(),
            Repair::Index => "its rows are made again".to_owned(),
            Repair::Dropped => "observations cannot be rebuilt: rows that cannot be read are dropped".to_owned(),
            Repair::Ledger => "the documents of the ledger are taken in again from its archive".to_owned(),
            Repair::Archive => "documents of the archive are written again from the index".to_owned(),
            Repair::Labels => "its rows are made again from the claims and the blocks".to_owned(),
            Repair::Late => "late stages follow the chain again, from the tables of others".to_owned(),
            Repair::Tweaks => "they are removed, and made again from whole blocks by `--silent-payments`".to_owned(),
            Repair::BlockFile => "not part of the index: copy the file again, or run bitcoind -reindex".to_owned(),
        }
    }

    /// The command that does it; `None` if this program has no command for it.
    #[must_use]
    pub fn command(self) -> Option<&'static str> {
        (self != Repair::BlockFile).then_some("cairn repair")
    }
}

/// One damaged place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The table, or the block file.
    pub place: String,
    /// Height of the damaged block, if it is one.
    pub height: Option<Height>,
    /// Description of the damage.
    pub what: String,
    /// The remedy.
    pub repair: Repair,
}

/// How a table is verified and what mends it. Every registered table must have a rule (`rules.rs`), or this crate does
/// not compile.
pub(crate) trait Verified: Table + Sized {
    const REPAIR: Repair = Repair::of_table(&TableInfo::of::<Self>());

    /// Notes the facts of a row that the journal must have. Rows that another pass compares have none here.
    fn note(_: &Self::Key, _: &Self::Value, _: &mut Tallies) {}
}

macro_rules! declare_repairs {
    ($($module:ident: $($table:ident),+;)*) => {
        /// The remedy of each table, in the order of the registry.
        const REPAIRS: [Repair; TABLES.len()] = [$($(<cairn_tables::$module::$table as Verified>::REPAIR),+),*];
    };
}

cairn_tables::for_each_table!(declare_repairs);

pub(crate) fn repair_of(table: &str) -> Repair {
    TABLES.iter().position(|t| t.name == table).map_or(Repair::Blocks, |at| REPAIRS[at])
}

/// Damage that is listed at most. More is counted.
const LISTED: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct Damages {
    pub(crate) listed: Vec<Damage>,
    pub(crate) count: u64,
    /// Heights of damaged blocks. A repair needs all of them: a number takes four bytes.
    pub(crate) heights: Vec<Height>,
}

impl Damages {
    pub(crate) fn note(&mut self, damage: Damage) {
        self.count += 1;
        self.heights.extend(damage.height.filter(|_| damage.repair == Repair::Blocks));
        if self.listed.len() < LISTED {
            self.listed.push(damage);
        }
    }

    pub(crate) fn differs(&mut self, table: &str, what: String) {
        self.note(Damage { place: table.to_owned(), height: None, what, repair: repair_of(table) });
    }

    /// Notes an error that damage caused.
    ///
    /// # Errors
    /// Returns an error that has another cause.
    pub(crate) fn take(&mut self, error: ReadError, table: &str, height: Option<Height>) -> Result<(), PipelineError> {
        if !error.is_damage() {
            return Err(error.into());
        }
        let place = error.damaged_table().unwrap_or(table).to_owned();
        let repair = repair_of(&place);
        self.note(Damage {
            height: height.filter(|_| repair == Repair::Blocks),
            what: error.to_string(),
            place,
            repair,
        });
        Ok(())
    }

    /// True if the damage is in blocks of the journal, so that other tables cannot be compared with it.
    pub(crate) fn has_blocks(&self) -> bool {
        !self.heights.is_empty() || self.listed.iter().any(|d| d.repair == Repair::Blocks)
    }
}
