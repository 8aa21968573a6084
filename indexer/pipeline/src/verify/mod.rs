//! Audits the index: reads every row of every table and every byte of its files, and compares each table with the
//! journal.
//!
//! A table is compared by sums of facts, so that the order of its rows does not matter and memory stays constant.
//! Unreadable rows are noted and skipped: an audit finds all damage, not only the first.

mod archive;
mod blocks;
mod cluster_tally;
mod clusters;
mod damage;
mod events;
mod files;
mod labels;
mod late;
mod meter;
mod owners;
mod pings;
mod raw;
mod rules;
mod scripts;
mod tables;
mod tally;
mod tweaks;
mod weights;

use std::path::Path;

use cairn_model::{BlockHash, Height, MuHashDigest, Sats};
use cairn_reader::{ReadError, ReadMemory, Reader, StageStatus, View};
use cairn_tables::{
    Family, Table, block_log::BlockLog, coins::Coins, headers::Headers, pings::Pings, stages::CLUSTERS,
    totals::TotalsTable,
};

pub use self::{
    archive::audit_archive,
    damage::{Damage, Repair},
    raw::RawCheck,
};
use self::{
    damage::{Damages, repair_of},
    meter::Meter,
    tally::{Fact, Tallies},
};
use crate::{PipelineError, Progress};

/// One comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Compared files.
    pub name: &'static str,
    /// True if it matched.
    pub ok: bool,
    /// Figures, or the first difference.
    pub detail: String,
}

/// Result of an audit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Audit {
    /// The comparisons.
    pub checks: Vec<Check>,
    /// Damaged places, the first ones.
    pub damages: Vec<Damage>,
    /// How many there are.
    pub damage_count: u64,
    /// Heights of all damaged blocks of the journal, ascending.
    pub damaged_heights: Vec<Height>,
    /// Height of the audited tip.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
    /// Number of unspent coins at that block.
    pub coins: u64,
    /// Sum of their values.
    pub supply_sats: Sats,
    /// MuHash3072 of the coins in Bitcoin Core's serialization, as `gettxoutsetinfo muhash` prints it.
    pub muhash: MuHashDigest,
}

impl Audit {
    /// True if all checks matched and nothing is damaged.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.damage_count == 0 && self.checks.iter().all(|c| c.ok)
    }
}

/// Collects a check: counts differences and keeps the first.
pub(crate) struct Finding {
    name: &'static str,
    first: Option<String>,
    differences: u64,
}

impl Finding {
    fn new(name: &'static str) -> Self {
        Finding { name, first: None, differences: 0 }
    }

    fn expect(&mut self, holds: bool, detail: impl FnOnce() -> String) {
        if !holds {
            self.differences += 1;
            self.first.get_or_insert_with(detail);
        }
    }

    fn differs(&mut self, damages: &mut Damages, table: &str, what: &str) {
        self.expect(false, || format!("{table}: {what}"));
        damages.differs(table, what.to_owned());
    }

    fn into_check(self, figures: String) -> Check {
        let ok = self.differences == 0;
        let detail = match self.first {
            Some(first) => format!("{} differences, the first: {first}", self.differences),
            None => figures,
        };
        Check { name: self.name, ok, detail }
    }
}

/// Audits everything below the view's tip. Reads all tables once, in order, and no block files.
///
/// # Errors
/// Fails if a table cannot be read for another reason than damage; returns [`PipelineError::Stopped`] if cancelled. A
/// difference or damage is not an error: it is reported in the audit.
pub fn audit(view: &View<'_>, progress: &dyn Progress) -> Result<Audit, PipelineError> {
    audit_with(view, None, Meter::new(None, progress), RawCheck::None)
}

/// Audits an index that may be damaged so much that no view can be opened. `raw` says which blocks are compared with
/// the block files.
pub fn audit_index(reader: &Reader, raw: RawCheck, progress: &dyn Progress) -> Result<Audit, PipelineError> {
    let audited = match reader.view() {
        Ok(view) => audit_with(&view, Some(reader), Meter::new(Some(reader), progress), raw),
        Err(error) => Err(error.into()),
    };
    match audited {
        // Without the list of blocks, or the heights of the stages, nothing else can be compared.
        Err(PipelineError::Read(error)) if error.is_damage() => unreadable(&error),
        audited => audited,
    }
}

/// Default memory limit of an audit in bytes.
pub const DEFAULT_AUDIT_MEMORY: u64 = 256 << 20;
/// Least memory limit of an audit in bytes.
pub const LEAST_AUDIT_MEMORY: u64 = 128 << 20;
/// Memory of an audit besides reading the index: the program, rows and blocks that are compared, read-ahead.
const AUDIT_WORK: u64 = 96 << 20;

/// Audits the index in a folder, opened for this alone and without a cache of rows: what is read comes from the disk.
/// The reader is missing if the index cannot be opened at all.
pub fn audit_folder(
    dir: &Path,
    raw: RawCheck,
    progress: &dyn Progress,
) -> Result<(Option<Reader>, Audit), PipelineError> {
    audit_folder_within(dir, raw, DEFAULT_AUDIT_MEMORY, progress)
}

/// As [`audit_folder`], with a memory limit of the process in bytes, at least [`LEAST_AUDIT_MEMORY`].
pub fn audit_folder_within(
    dir: &Path,
    raw: RawCheck,
    memory: u64,
    progress: &dyn Progress,
) -> Result<(Option<Reader>, Audit), PipelineError> {
    let memory = ReadMemory::within("--memory", memory, AUDIT_WORK);
    let strict = match Reader::open_within(dir, &memory) {
        Ok(reader) => {
            let audit = audit_index(&reader, raw, progress)?;
            return Ok((Some(reader), audit));
        }
        Err(error) => lost(dir, error)?,
    };
    match Reader::open_damaged_within(dir, &memory) {
        Ok(reader) => {
            let mut audit = audit_index(&reader, raw, progress)?;
            // Damage that the rows do not show: a file that is damaged where no row lies.
            if audit.damage_count == 0 {
                audit = Audit { checks: audit.checks, ..unreadable(&strict)? };
            }
            Ok((Some(reader), audit))
        }
        Err(_) => Ok((None, unreadable(&strict)?)),
    }
}

/// The reason why an index cannot be opened, if it is damage.
fn lost(dir: &Path, error: ReadError) -> Result<ReadError, PipelineError> {
    let mut files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut has_tables = || files.any(|file| file.path().extension().is_some_and(|e| e == "sst"));
    match error {
        error if error.is_damage() => Ok(error),
        ReadError::Database(_) => Ok(ReadError::Broken(error.to_string())),
        // The parameters are written first, before any table file.
        ReadError::Empty if has_tables() => {
            Ok(ReadError::Broken("the list of files ends before the first commit".to_owned()))
        }
        ReadError::Unusable(_) if !dir.join("CURRENT").exists() && has_tables() => {
            Ok(ReadError::Broken("the file CURRENT is missing".to_owned()))
        }
        error => Err(error.into()),
    }
}

/// The result of the audit of an index that cannot be opened for this reason.
///
/// # Errors
/// Fails if the reason is not damage.
pub fn unreadable(error: &ReadError) -> Result<Audit, PipelineError> {
    let mut damages = Damages::default();
    damages.take(error.clone(), Headers::NAME, None)?;
    Ok(Audit {
        checks: Vec::new(),
        damages: damages.listed,
        damage_count: damages.count,
        damaged_heights: damages.heights,
        height: 0,
        hash: BlockHash::default(),
        coins: 0,
        supply_sats: 0,
        muhash: cairn_model::MuHash::new().finalize(),
    })
}

fn audit_with(
    view: &View<'_>,
    reader: Option<&Reader>,
    mut meter: Meter<'_>,
    raw: RawCheck,
) -> Result<Audit, PipelineError> {
    let (mut tallies, mut damages) = (Tallies::default(), Damages::default());
    let mut checks = vec![checkpoints(view)?];
    let chain = blocks::audit(view, raw, &mut meter, &mut tallies, &mut damages)?;
    checks.extend(chain.checks);
    checks.push(scripts::audit(view, chain.supply, &mut meter, &mut tallies, &mut damages)?);
    meter.begin(&[Family::SHARED]);
    tables::audit(view, &mut meter, &mut tallies, &mut damages)?;
    checks.extend(compare(&tallies, &mut damages));
    checks.push(events::audit(view, &mut damages)?);
    checks.push(labels::audit(view, &mut meter, &mut tallies, &mut damages)?);
    checks.push(late::audit(view, &mut meter, &mut damages)?);
    checks.push(tweaks::audit(view, raw, &mut meter, &mut damages)?);
    blame(&checks, &mut damages);
    if let Some(reader) = reader {
        files::audit(reader, &mut meter, &mut damages)?;
    }
    damages.heights.sort_unstable();
    damages.heights.dedup();
    let tip = view.tip();
    Ok(Audit {
        checks,
        damages: damages.listed,
        damage_count: damages.count,
        damaged_heights: damages.heights,
        height: tip.height,
        hash: tip.hash,
        coins: chain.coins,
        supply_sats: chain.supply,
        muhash: chain.muhash.finalize(),
    })
}

/// Adds damage for checks that failed without known damage: their cause must be mended too.
fn blame(checks: &[Check], damages: &mut Damages) {
    let tables = [
        ("supply matches issuance", BlockLog::NAME),
        ("coins are unspent outputs", Coins::NAME),
        ("coins = history = totals, per script", TotalsTable::NAME),
    ];
    for (check, table) in tables {
        let has = |table: &str| damages.listed.iter().any(|d| d.repair == repair_of(table));
        // The supply is counted in the coins: as long as they are wrong, it says nothing of the journal. A repair that
        // was killed may have left none at all.
        let known = damages.has_blocks() || has(table) || (table == BlockLog::NAME && has(Coins::NAME));
        if let Some(check) = checks.iter().find(|c| c.name == check && !c.ok && !known) {
            damages.differs(table, check.detail.clone());
        }
    }
}

/// Compares the facts of tables and journal. Unreadable tables are not compared.
fn compare(tallies: &Tallies, damages: &mut Damages) -> Vec<Check> {
    let rows: [(&'static str, &[(Fact, &str)]); 5] = [
        (
            "look-ups match the journal",
            &[
                (Fact::TxNums, "tx_nums"),
                (Fact::HeightByHash, "height_by_hash"),
                (Fact::HeightByTime, "height_by_time"),
                (Fact::Overwritten, "overwritten"),
            ],
        ),
        ("spenders match inputs", &[(Fact::Spenders, "spenders")]),
        ("coins match the journal", &[(Fact::Coins, "coins"), (Fact::CoinsByScript, "coins_by_script")]),
        (
            "history and totals match the journal",
            &[
                (Fact::History, "history"),
                (Fact::HistoryIndex, "history_index"),
                (Fact::Funded, "totals"),
                (Fact::Spent, "totals"),
            ],
        ),
        ("scripts that return match the history", &[(Fact::Returns, "returns")]),
    ];
    let journal_is_whole = !damages.has_blocks();
    let unread: Vec<String> = damages.listed.iter().map(|damage| damage.place.clone()).collect();
    let mut checks = Vec::new();
    let mapped: Vec<_> = blocks::mapped().flat_map(|stage| stage.tables()).map(|table| table.name).collect();
    let facts = rows.into_iter().map(|(name, facts)| {
        (name, facts.iter().map(|(fact, table)| (*table, tallies.difference(*fact))).collect::<Vec<_>>())
    });
    let mapped = mapped.into_iter().map(|table| (table, tallies.row_difference(table))).collect();
    let pings = vec![(Pings::NAME, tallies.row_difference(Pings::NAME))];
    let rows = [("ages and sums match the journal", mapped), ("pings match the journal and the history", pings)];
    for (name, facts) in facts.chain(rows) {
        let mut finding = Finding::new(name);
        for (table, difference) in facts {
            let is_read = !unread.iter().any(|place| place == table) && !tallies.is_unknown(table);
            let comparable = journal_is_whole && is_read;
            let Some(lacks) = difference.filter(|_| comparable) else { continue };
            let detail = match lacks {
                0 => format!("{table} has rows that the journal has not"),
                1.. => format!("{table} lacks {lacks} entries of the journal"),
                _ => format!("{table} has {} entries more than the journal", lacks.unsigned_abs()),
            };
            // Coins by script are compared with coins: one wrong row shows in both.
            damages.differs(table, detail.clone());
            finding.expect(false, || detail);
        }
        checks.push(finding.into_check(extent(journal_is_whole)));
    }
    let mut finding = Finding::new("clusters match the journal, and each other");
    for (table, what) in tallies.clusters.differences() {
        let read = |name: &str| !unread.iter().any(|place| place == name);
        if journal_is_whole && CLUSTERS.tables.iter().all(|table| read(table.name)) {
            damages.differs(table, what.to_owned());
            finding.expect(false, || format!("{table}: {what}"));
        }
    }
    checks.push(finding.into_check(extent(journal_is_whole)));
    checks
}

fn extent(journal_is_whole: bool) -> String {
    if journal_is_whole { "every row" } else { "not compared: the journal is damaged" }.to_owned()
}

fn checkpoints(view: &View<'_>) -> Result<Check, PipelineError> {
    let mut finding = Finding::new("stages are at the tip");
    let stages = view.stages()?;
    for state in &stages {
        let is_finished = state.status == StageStatus::Finished;
        finding.expect(is_finished, || format!("{}: {:?}", state.stage.name, state.checkpoint));
    }
    Ok(finding.into_check(format!("{} stages at height {}", stages.len(), view.tip().height)))
}
