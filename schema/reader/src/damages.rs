//! Damage that a running server found, and progress of its scrubber.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::ReadError;

/// In place of a table's name, if rows contradict each other and it is not known which table is wrong.
pub const NAMELESS: &str = "unknown";

/// Damage that was found. Requests and the scrubber add to it; health and metrics show it.
#[derive(Debug, Default)]
pub struct Damages(Mutex<KnownDamages>);

#[derive(Debug, Default)]
struct KnownDamages {
    tables: BTreeMap<&'static str, Table>,
    scrubbed: Scrubbed,
    /// Number of the running or last scrub.
    scrub: u64,
}

#[derive(Debug, Default)]
struct Table {
    /// How often damage was met.
    met: u64,
    /// The scrub during or before which bytes of a file were last found wrong; `None`: they are not, as far as known.
    in_file: Option<u64>,
    /// True if rows were wrong although the checksums held: no scrub finds that.
    in_rows: bool,
}

impl Table {
    fn is_damaged(&self) -> bool {
        self.in_file.is_some() || self.in_rows
    }
}

/// State of the scrubber.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ScrubState {
    /// It is switched off, or the process has none.
    #[default]
    Off,
    /// It waits: for an index, or until the next scrub is due.
    Waiting,
    /// It reads the table files.
    Running,
}

/// How far the scrubber is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scrubbed {
    /// Whether it waits or reads.
    pub state: ScrubState,
    /// Bytes of table files that it has read.
    pub bytes: u64,
    /// Scrubs that have read every table file.
    pub complete: u64,
    /// End of the last of them, in seconds since 1970.
    pub last_end: Option<u64>,
}

impl Damages {
    /// Notes that a table was found damaged while it was read. Returns true if that was not known: then it is worth a
    /// line in the log.
    pub fn note(&self, error: &ReadError) -> bool {
        let is_in_file = matches!(error, ReadError::Damaged { .. } | ReadError::Files(_) | ReadError::Database(_));
        self.note_damage(error.damaged_table().unwrap_or(NAMELESS), is_in_file)
    }

    /// Notes that the scrubber found a file of this table damaged. Returns true if the table was not known to be.
    pub fn note_file(&self, table: &'static str) -> bool {
        self.note_damage(table, true)
    }

    fn note_damage(&self, table: &'static str, is_in_file: bool) -> bool {
        let mut found = self.0.lock();
        let scrub = found.scrub;
        let table = found.tables.entry(table).or_default();
        let is_known = table.is_damaged();
        table.met += 1;
        if is_in_file {
            table.in_file = Some(scrub);
        } else {
            table.in_rows = true;
        }
        !is_known
    }

    /// The tables that are damaged, as far as known.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static str> {
        self.0.lock().tables.iter().filter(|(_, table)| table.is_damaged()).map(|(name, _)| *name).collect()
    }

    /// Another index is served now: nothing is known of its tables. How often damage was met stays.
    pub fn forget(&self) {
        for table in self.0.lock().tables.values_mut() {
            (table.in_file, table.in_rows) = (None, false);
        }
    }

    /// How often damage was met, by table.
    #[must_use]
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        self.0.lock().tables.iter().map(|(name, table)| (*name, table.met)).collect()
    }

    /// How far the scrubber is.
    #[must_use]
    pub fn scrubbed(&self) -> Scrubbed {
        self.0.lock().scrubbed
    }

    /// The scrubber waits.
    pub fn scrub_waits(&self) {
        self.0.lock().scrubbed.state = ScrubState::Waiting;
    }

    /// A scrub begins.
    pub fn scrub_begins(&self) {
        let mut found = self.0.lock();
        found.scrubbed.state = ScrubState::Running;
        found.scrub += 1;
    }

    /// The scrubber has read further bytes.
    pub fn scrub_reads(&self, bytes: u64) {
        self.0.lock().scrubbed.bytes += bytes;
    }

    /// A scrub has read every table file. Tables whose files it found whole are no longer damaged; those with wrong
    /// rows are, because checksums do not show that.
    pub fn scrub_ends(&self, now: u64) {
        let mut found = self.0.lock();
        let scrub = found.scrub;
        for table in found.tables.values_mut() {
            table.in_file = table.in_file.filter(|seen| *seen >= scrub);
        }
        found.scrubbed.complete += 1;
        found.scrubbed.last_end = Some(now);
        found.scrubbed.state = ScrubState::Waiting;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_told_once_and_stays_until_a_scrub_finds_it_whole() {
        let damages = Damages::default();
        assert!(damages.tables().is_empty() && damages.scrubbed().state == ScrubState::Off);
        damages.scrub_begins();
        assert!(damages.note_file("coins"));
        assert!(!damages.note_file("coins"));
        damages.scrub_ends(7);
        // Found in this scrub: the next one may find it whole.
        assert_eq!((damages.tables(), damages.counts()), (vec!["coins"], vec![("coins", 2)]));
        damages.scrub_begins();
        damages.scrub_reads(5);
        assert!(damages.note_file("history"));
        damages.scrub_ends(9);
        assert_eq!(damages.tables(), ["history"]);
        let expected = Scrubbed { state: ScrubState::Waiting, bytes: 5, complete: 2, last_end: Some(9) };
        assert_eq!(damages.scrubbed(), expected);
        assert!(damages.note_file("coins"), "it was whole in between");
    }

    #[test]
    fn rows_that_contradict_each_other_stay_damaged() {
        let damages = Damages::default();
        assert!(damages.note(&ReadError::Broken("x".to_owned())));
        damages.scrub_begins();
        damages.scrub_ends(1);
        assert_eq!(damages.tables(), [NAMELESS]);
        assert!(!damages.note(&ReadError::Broken("x".to_owned())));
    }
}
