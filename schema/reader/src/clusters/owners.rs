//! Owners of clusters by claims.

use std::collections::HashMap;

use cairn_model::{Sats, TxNum};
use cairn_tables::{
    Table,
    cluster_owners::{BelowSum, ClusterBelow, ClusterOwners, OwnersDue, OwnersRow},
    clusters::{ClusterRow, Clusters, Counts},
    sums::Sums,
};

use super::{ClusterRoot, Tie};
use crate::{ReadError, subjects::ClusterView};

/// Sums to leave out of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// Scripts that a list attributes to an entity.
    pub scripts: u64,
    /// Balance of these scripts.
    pub balance: Sats,
    /// Merges of two large clusters.
    pub suspects: u64,
}

impl LeftOut {
    /// Content of a row of `cluster_below`; `None` if it is impossible.
    #[must_use]
    pub fn of(sums: &Sums) -> Option<Self> {
        let of = |sum: BelowSum| sums.get(sum.position());
        let balance = of(BelowSum::Funded) - of(BelowSum::Spent);
        Some(LeftOut {
            scripts: of(BelowSum::Scripts).try_into().ok()?,
            balance: balance.try_into().ok()?,
            suspects: of(BelowSum::Suspects).try_into().ok()?,
        })
    }
}

impl ClusterView<'_> {
    /// Figures of a cluster as of the tip, by its root; `None` if the node is not a root. One row read.
    pub fn counts(self, root: TxNum) -> Result<Option<Counts>, ReadError> {
        Ok(match self.view.get::<Clusters>(&root)? {
            Some(ClusterRow::Root(counts)) => Some(counts),
            _ => None,
        })
    }

    /// Owners of a cluster by the claims that extend to all of its scripts, as of the tip; `None` if it has no owner.
    /// One row read.
    pub fn owners(self, root: ClusterRoot) -> Result<Option<OwnersRow>, ReadError> {
        self.view.get::<ClusterOwners>(&root.0)
    }

    /// As [`ClusterView::owners`], of many roots, ascending, in one look-up.
    pub fn owners_of_many(self, roots: &[TxNum]) -> Result<Vec<Option<OwnersRow>>, ReadError> {
        self.view.rows_of_many::<ClusterOwners>(roots)
    }

    /// True if any cluster has an owner. No row is decoded.
    pub fn has_owners(self) -> Result<bool, ReadError> {
        self.view.has_row::<ClusterOwners>()
    }

    /// At most `limit` roots of clusters to judge again, ascending, after one.
    pub fn owners_due(self, after: Option<TxNum>, limit: usize) -> Result<Vec<TxNum>, ReadError> {
        let rows = self.view.scan::<OwnersDue>(after.as_ref())?;
        let is_after = |row: &Result<TxNum, ReadError>| row.as_ref().map_or(true, |row| after != Some(*row));
        rows.map(|row| Ok(row?.0)).filter(is_after).take(limit).collect()
    }

    /// Sums left out at a node and below; a missing row is zero. One row read.
    pub fn below(self, node: TxNum) -> Result<Sums, ReadError> {
        Ok(self.view.get::<ClusterBelow>(&node)?.unwrap_or_default())
    }

    /// As [`ClusterView::below`], of many nodes, ascending, in one look-up: those that have a row.
    pub fn below_of_many(self, nodes: &[TxNum]) -> Result<HashMap<TxNum, Sums>, ReadError> {
        let rows = self.view.rows_of_many::<ClusterBelow>(nodes)?;
        Ok(nodes.iter().zip(rows).filter_map(|(node, row)| Some((*node, row?))).collect())
    }

    /// Merges of two large clusters among `rows` rows of the forest, from a node on: the tie of each, and the path from
    /// its parent to the root as of the tip. Also returns the node from which to continue; `None` at the end.
    pub fn suspect_merges(self, from: TxNum, rows: usize) -> Result<(Vec<SuspectMerge>, Option<TxNum>), ReadError> {
        let (mut scan, mut read, mut ties) = (self.view.scan::<Clusters>(Some(&from))?, 0, Vec::new());
        let mut next = None;
        while let Some((key, value)) = scan.next_bytes()? {
            if read == rows {
                next = Some(Clusters::decode_key(key)?);
                break;
            }
            read += 1;
            // Of hundreds of millions of rows few are of merges.
            if !ClusterRow::is_merged(value) {
                continue;
            }
            if let ClusterRow::Merged { parent, by, counts } = Clusters::decode_value(value)? {
                let tie = Tie { child: Clusters::decode_key(key)?, parent, by, smaller: Some(counts.transactions) };
                ties.extend(Some(tie).filter(Tie::is_suspect));
            }
        }
        let parents: Vec<TxNum> = ties.iter().map(|tie| tie.parent).collect();
        let paths = self.paths_at(&parents, self.view.as_of_tip())?;
        Ok((ties.into_iter().zip(paths).collect(), next))
    }
}

/// The tie of a merge of two large clusters, and the way from its parent to the root.
pub type SuspectMerge = (Tie, Vec<Tie>);
