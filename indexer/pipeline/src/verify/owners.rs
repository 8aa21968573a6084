//! Compares the owners of clusters with the claims that extend to them, and the sums left out of clusters with the
//! forest.

use std::collections::BTreeSet;

use cairn_model::TxNum;
use cairn_reader::{ClaimWalk, ClusterRoot, ReadError, View};
use cairn_tables::cluster_owners::ClusterOwners;

use super::{Finding, meter::Meter, tally::Tallies};
use crate::{
    PipelineError,
    labels::{judge_owners, rows_of_owners, rows_of_suspect},
};

/// Rows of the forest that are read at a time.
const ROWS: usize = 1 << 20;
/// Clusters that are judged between two steps of progress.
const STEP: usize = 256;

pub(super) struct Owners<'v> {
    pub(super) view: &'v View<'v>,
    /// Roots of clusters with claims that extend to them.
    pub(super) roots: BTreeSet<TxNum>,
    /// True if scripts wait to be judged: then a cluster may have an owner by claims that no longer hold.
    pub(super) is_waiting: bool,
}

impl Owners<'_> {
    /// Judges these clusters again, and all that have an owner. Returns how many have one;
    /// ends with [`PipelineError::Read`] at the first damage.
    pub(super) fn compare(
        mut self,
        meter: &Meter<'_>,
        (tallies, finding): (&mut Tallies, &mut Finding),
    ) -> Result<u64, PipelineError> {
        let due = self.stored()?;
        let (roots, mut owned) = (std::mem::take(&mut self.roots).into_iter().collect::<Vec<_>>(), 0);
        for some in roots.chunks(STEP) {
            meter.at(1, 1)?;
            owned += self.judge(some, &due, (tallies, finding))?;
        }
        let mut from = Some(TxNum(0));
        while let Some(at) = from {
            meter.at(1, 1)?;
            from = self.suspects(at, tallies)?;
        }
        Ok(owned)
    }

    /// Adds the roots that have a row. Returns those that are to be judged again.
    fn stored(&mut self) -> Result<BTreeSet<TxNum>, ReadError> {
        for row in self.view.scan::<ClusterOwners>(None)? {
            self.roots.insert(row?.0);
        }
        Ok(self.view.clusters().owners_due(None, usize::MAX)?.into_iter().collect())
    }

    fn judge(
        &self,
        roots: &[TxNum],
        due: &BTreeSet<TxNum>,
        (tallies, finding): (&mut Tallies, &mut Finding),
    ) -> Result<u64, ReadError> {
        let (mut claims, mut owned): (ClaimWalk<'_>, u64) = (self.view.claims().walk()?, 0);
        for root in roots {
            let stored = self.view.clusters().owners(ClusterRoot(*root))?;
            let is_due = self.is_waiting || due.contains(root);
            let is_right = is_due || stored == judge_owners(self.view, &mut claims, *root)?;
            let wrong = || format!("the cluster of {} has other owners than its claims give", root.0);
            finding.expect(is_right, wrong);
            if let Some(stored) = &stored {
                tallies.expect_rows(&rows_of_owners(stored).map_err(|e| ReadError::Broken(e.to_string()))?);
                owned += 1;
            }
        }
        Ok(owned)
    }

    /// Some merges of two large clusters, from a node on. Returns the node to go on with.
    fn suspects(&self, from: TxNum, tallies: &mut Tallies) -> Result<Option<TxNum>, ReadError> {
        let (merges, next) = self.view.clusters().suspect_merges(from, ROWS)?;
        for (tie, path) in &merges {
            tallies.expect_rows(&rows_of_suspect(tie.parent, path).map_err(|e| ReadError::Broken(e.to_string()))?);
        }
        Ok(next)
    }
}
