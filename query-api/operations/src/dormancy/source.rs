//! Transactions that may spend old coins, the newest first: all of the chain, or those of one script.

use cairn_domain::dormancy::YEAR;
use cairn_http::{ApiError, Work};
use cairn_model::TxNum;
use cairn_reader::{DormantWalk, FoundScript, View};
use cairn_tables::{ages::DORMANT_YEARS, history::HistoryEntry};

use crate::window::{BoundedScan, ScanStep, TX};

/// Entries of a history that are read at a time.
const ENTRIES: usize = 512;

enum Source<'v> {
    /// The table of transactions that spend coins of a year and more.
    Chain(Option<DormantWalk<'v>>),
    Script(Spends<'v>),
}

/// A search for transactions that spend old coins.
pub(super) struct Search<'v> {
    source: Source<'v>,
    least: MinSpend,
    scan: BoundedScan,
}

/// Transactions that spend from a script, the newest first.
pub(super) struct Spends<'v> {
    view: &'v View<'v>,
    script: FoundScript,
    /// Entries that were read or skipped.
    read: u64,
    /// The next ones, the newest last.
    entries: Vec<HistoryEntry>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MinSpend {
    /// Age of coins that count in seconds.
    pub(super) age: u32,
    /// Satoshis of them together.
    pub(super) sats: u64,
}

impl MinSpend {
    /// True unless coins of these classes are certainly too few.
    fn may_fit(self, classes: &[cairn_tables::ages::Dormant]) -> bool {
        // Of the class that the age is within some may be too young.
        let class = DORMANT_YEARS.iter().rposition(|years| self.age / YEAR >= *years).unwrap_or(0);
        let old = classes.iter().filter(|of| usize::from(of.class) >= class);
        old.map(|of| of.sats).fold(0, u64::saturating_add) >= self.sats
    }
}

impl<'v> Search<'v> {
    /// Those from `first` on before `end`; of a script only those that spend from it.
    pub(super) fn of(
        view: &'v View<'v>,
        (first, end): (TxNum, TxNum),
        script: Option<FoundScript>,
        least: MinSpend,
    ) -> Result<Self, ApiError> {
        let source = match script {
            None => Source::Chain(view.movements().dormant_before(end)?),
            Some(script) => Source::Script(Spends::before(view, end, script)?),
        };
        Ok(Search { source, least, scan: BoundedScan::back_to(first) })
    }

    /// The next one that may fit.
    pub(super) fn next(&mut self, work: &Work) -> Result<ScanStep<()>, ApiError> {
        let Search { source, least, scan } = self;
        let older = || {
            Ok(match source {
                Source::Chain(None) => None,
                Source::Chain(Some(walk)) => walk.older()?.map(|(tx, row)| (tx, least.may_fit(&row.0))),
                Source::Script(spends) => spends.next()?.map(|tx| (tx, true)),
            })
        };
        Ok(match scan.next(work, older, |may_fit| *may_fit)? {
            ScanStep::Tx(tx, _) => {
                scan.spend(TX);
                ScanStep::Tx(tx, ())
            }
            ScanStep::End => ScanStep::End,
            ScanStep::Enough(last) => ScanStep::Enough(last),
        })
    }
}

impl<'v> Spends<'v> {
    fn before(view: &'v View<'v>, end: TxNum, script: FoundScript) -> Result<Self, ApiError> {
        let (mut newest, mut oldest) = (0, script.totals.tx_count);
        // The number of entries that are not before `end`.
        while newest < oldest {
            let middle = newest + (oldest - newest) / 2;
            let entry = view.scripts().history(&script, middle, 1)?;
            if entry.first().is_some_and(|entry| entry.tx_num >= end) {
                newest = middle + 1;
            } else {
                oldest = middle;
            }
        }
        Ok(Spends { view, script, read: newest, entries: Vec::new() })
    }

    fn next(&mut self) -> Result<Option<TxNum>, ApiError> {
        loop {
            match self.entries.pop() {
                Some(entry) if entry.sent > 0 => return Ok(Some(entry.tx_num)),
                Some(_) => {}
                None => {
                    self.entries = self.view.scripts().history(&self.script, self.read, ENTRIES)?;
                    self.read += self.entries.len() as u64;
                    if self.entries.is_empty() {
                        return Ok(None);
                    }
                    self.entries.reverse();
                }
            }
        }
    }
}
