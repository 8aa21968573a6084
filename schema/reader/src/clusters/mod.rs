//! Clusters as of any block: the cluster of a script, its figures, and its other members.

mod explain;
mod holders;
mod inherited;
mod members;
mod owners;
mod walk;

use std::collections::HashMap;

use cairn_model::{Height, Sats, ScriptId, TxNum, each_once};
use cairn_tables::{
    clusters::{CHILDREN_PER_ROW, Child, ClusterChildren, ClusterOf, ClusterRow, Clusters, Counts},
    stages::CLUSTERS,
};

pub use self::{
    explain::{Explanation, MAX_EXPLAINED_ROWS, MAX_STEPS, Step},
    inherited::{ClaimedParts, ClaimedScripts, ClusterClaimWalk},
    members::{MemberPage, MemberPlace},
    owners::{LeftOut, SuspectMerge},
    walk::{ClusterNodes, WalkedNode},
};
use crate::{ReadError, View, subjects::ClusterView};

/// The chain up to a block: blocks above it do not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AsOf {
    /// The block.
    pub height: Height,
    /// One past its last transaction.
    pub tx_end: TxNum,
}

/// A cluster of several scripts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClusterRoot(
    /// The transaction that it is named after: the first that showed it, or the largest of those that were merged into
    /// it.
    pub TxNum,
);

/// One step from a script's node towards the root of its cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tie {
    /// The cluster that was merged into another, or the transaction that joined one.
    pub child: TxNum,
    /// The other.
    pub parent: TxNum,
    /// The transaction that shows it.
    pub by: TxNum,
    /// Transactions of the smaller of two clusters that were merged; `None` if a transaction joined.
    pub smaller: Option<u64>,
}

/// A merge of two clusters with at least this many transactions each may rest on a mistake: nothing is inherited over
/// it.
pub const SUSPECT_TRANSACTIONS: u64 = 10_000;

impl Tie {
    /// Whether it is a merge of two large clusters.
    #[must_use]
    pub fn is_suspect(&self) -> bool {
        self.smaller.is_some_and(|transactions| transactions >= SUSPECT_TRANSACTIONS)
    }
}

/// The tie of a node to its parent as of a block; `None` for a root.
fn tie_of(child: TxNum, row: &ClusterRow, at: AsOf) -> Option<Tie> {
    match *row {
        ClusterRow::Newcomer { parent } => Some(Tie { child, parent, by: child, smaller: None }),
        ClusterRow::Merged { parent, by, counts } if by < at.tx_end => {
            Some(Tie { child, parent, by, smaller: Some(counts.transactions) })
        }
        _ => None,
    }
}

/// The root that a way from a node leads to.
#[must_use]
pub fn root_of(node: TxNum, path: &[Tie]) -> ClusterRoot {
    ClusterRoot(path.last().map_or(node, |tie| tie.parent))
}

/// The cluster of a script, and its place there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Membership {
    /// The script.
    pub script: ScriptId,
    /// Its cluster; `None` for a script that is a cluster of its own.
    pub root: Option<ClusterRoot>,
    /// Its node; `None` for a script that is a cluster of its own.
    pub node: Option<TxNum>,
    /// The way from the node to the root.
    pub path: Vec<Tie>,
}

impl Membership {
    /// The part of its cluster that the script is in: the top of the part, and whether a suspect merge ties it to the
    /// rest. Scripts with the same part inherit the same claims. `None` for a script that is a cluster of its own.
    #[must_use]
    pub fn part(&self) -> Option<(TxNum, bool)> {
        let mut top = self.node?;
        for tie in &self.path {
            if tie.is_suspect() {
                return Some((top, true));
            }
            top = tie.parent;
        }
        Some((top, false))
    }
}

/// Figures of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterSize {
    /// Number of transactions that show it.
    pub transactions: u64,
    /// Number of its scripts.
    pub scripts: u64,
    /// Their balance; `None` for an earlier block.
    pub balance: Option<Sats>,
}

/// Children of a root that are counted for an earlier block.
pub const MAX_COUNTED_CHILDREN: u32 = 100_000;

/// Maximum number of steps of a climb. The number of transactions at least doubles with each step but the first, so a
/// longer climb means damaged rows.
const MAX_CLIMBS: usize = 48;

impl View<'_> {
    /// The chain up to a block of it; `None` above the tip.
    #[must_use]
    pub fn as_of(&self, height: Height) -> Option<AsOf> {
        self.chain().get(height)?;
        let tx_end = self.chain().get(height + 1).map_or(self.tip().tx_end, |next| next.first_tx);
        Some(AsOf { height, tx_end })
    }

    /// The chain up to the tip.
    #[must_use]
    pub fn as_of_tip(&self) -> AsOf {
        AsOf { height: self.tip().height, tx_end: self.tip().tx_end }
    }
}

impl ClusterView<'_> {
    /// The cluster of a script as of a block. Reads a row for the script and one for each step to the root, 2 to 4
    /// mostly.
    pub fn of_script(self, script: ScriptId, at: AsOf) -> Result<Membership, ReadError> {
        let mut found = self.of_scripts(&[script], at)?;
        found.pop().ok_or_else(|| self.view.broken("a look-up without result"))
    }

    /// As [`ClusterView::of_script`], of many scripts at once, in their order. Rows are looked up together, and each
    /// once.
    pub fn of_scripts(self, scripts: &[ScriptId], at: AsOf) -> Result<Vec<Membership>, ReadError> {
        let nodes = self.nodes_at(scripts, at)?;
        let known: Vec<TxNum> = nodes.iter().copied().flatten().collect();
        let mut paths = self.paths_at(&known, at)?.into_iter();
        let of = |(script, node): (&ScriptId, Option<TxNum>)| {
            let path = node.and_then(|_| paths.next()).unwrap_or_default();
            Membership { script: *script, root: node.map(|node| root_of(node, &path)), node, path }
        };
        Ok(scripts.iter().zip(nodes).map(of).collect())
    }

    /// The ways from nodes to the roots of their clusters as of a block, in their order. Rows are looked up together,
    /// and each once. The nodes must be of the block or of one before it.
    pub fn paths_at(self, nodes: &[TxNum], at: AsOf) -> Result<Vec<Vec<Tie>>, ReadError> {
        let mut rows: HashMap<TxNum, ClusterRow> = HashMap::new();
        let mut paths: Vec<Vec<Tie>> = nodes.iter().map(|_| Vec::new()).collect();
        let mut climbing: Vec<usize> = (0..nodes.len()).collect();
        let top = |paths: &[Vec<Tie>], i: usize| root_of(nodes[i], &paths[i]).0;
        for _ in 0..MAX_CLIMBS {
            if climbing.is_empty() {
                return Ok(paths);
            }
            let wanted = climbing.iter().map(|i| top(&paths, *i)).filter(|node| !rows.contains_key(node));
            let wanted = each_once(wanted);
            for (node, row) in wanted.iter().zip(self.view.rows_of_many::<Clusters>(&wanted)?) {
                rows.insert(*node, row.ok_or_else(|| self.view.broken("a row of clusters is missing"))?);
            }
            climbing.retain(|i| {
                let child = top(&paths, *i);
                let tie = rows.get(&child).and_then(|row| tie_of(child, row, at));
                paths[*i].extend(tie);
                tie.is_some()
            });
        }
        Err(self.view.broken("a path of clusters without end"))
    }

    /// Returns the node of each script as of a block; `None` for a script without one.
    fn nodes_at(self, scripts: &[ScriptId], at: AsOf) -> Result<Vec<Option<TxNum>>, ReadError> {
        self.view.require(&CLUSTERS)?;
        let nodes = self.view.rows_of_each::<ClusterOf>(scripts)?.into_iter();
        Ok(nodes.map(|node| node.map(|node| node.0).filter(|node| *node < at.tx_end)).collect())
    }

    /// The cluster that a transaction's scripts are in as of a block; `None` if it shows none by then. With
    /// the way there: an id that was given out stays good after its cluster was merged.
    pub fn of_node(self, node: TxNum, at: AsOf) -> Result<Option<(ClusterRoot, Vec<Tie>)>, ReadError> {
        self.view.require(&CLUSTERS)?;
        let mut path = Vec::new();
        let mut root = node;
        for _ in 0..MAX_CLIMBS {
            let row = match self.view.get::<Clusters>(&root)?.filter(|_| root < at.tx_end) {
                None if root == node => return Ok(None),
                None => return Err(self.view.broken("a row of clusters is missing")),
                Some(row) => row,
            };
            let Some(tie) = tie_of(root, &row, at) else { return Ok(Some((ClusterRoot(root), path))) };
            root = tie.parent;
            path.push(tie);
        }
        Err(self.view.broken("a path of clusters without end"))
    }

    fn root_row(self, root: ClusterRoot) -> Result<(Counts, bool), ReadError> {
        match self.view.get::<Clusters>(&root.0)? {
            Some(ClusterRow::Root(counts)) => Ok((counts, true)),
            Some(ClusterRow::Merged { counts, .. }) => Ok((counts, false)),
            _ => Err(self.view.broken("a cluster's root is not a root")),
        }
    }

    /// Figures of a cluster as of a block: for the tip one row, for an earlier block one for each 128 children and one
    /// for each cluster that was merged. `None` if it has more than [`MAX_COUNTED_CHILDREN`] for that.
    pub fn size(self, root: ClusterRoot, at: AsOf) -> Result<Option<ClusterSize>, ReadError> {
        let (counts, whole) = self.root_row(root)?;
        if whole && at.tx_end >= self.view.tip().tx_end {
            let Counts { transactions, scripts, balance, .. } = counts;
            return Ok(Some(ClusterSize { transactions, scripts, balance: Some(balance) }));
        }
        let own = self.scripts_of_node(root.0)?.len() as u64;
        let mut size = ClusterSize { transactions: 1, scripts: own, balance: None };
        for slot in 0..=counts.children / CHILDREN_PER_ROW {
            if slot >= MAX_COUNTED_CHILDREN / CHILDREN_PER_ROW {
                return Ok(None);
            }
            for child in self.children(root.0, slot, counts.children)? {
                if child.by >= at.tx_end {
                    return Ok(Some(size));
                }
                let (transactions, scripts) = if child.node == child.by {
                    (1, child.scripts.into())
                } else {
                    let (merged, _) = self.root_row(ClusterRoot(child.node))?;
                    (merged.transactions, merged.scripts)
                };
                size.transactions += transactions;
                size.scripts += scripts;
            }
        }
        Ok(Some(size))
    }

    /// A row of the children of a root that has `children`; empty behind the last.
    fn children(self, root: TxNum, slot: u32, children: u32) -> Result<Vec<Child>, ReadError> {
        let expected = children.saturating_sub(slot.saturating_mul(CHILDREN_PER_ROW)).min(CHILDREN_PER_ROW);
        if expected == 0 {
            return Ok(Vec::new());
        }
        let row = self.view.get::<ClusterChildren>(&(root, slot))?;
        let row = row.ok_or_else(|| self.view.broken("a row of cluster_children is missing"))?.0;
        // A root that was merged has had no more children since; others have them all.
        if row.len() == expected as usize {
            Ok(row)
        } else {
            Err(self.view.broken("a row of cluster_children is too short"))
        }
    }

    /// The newest transaction before one that shows something of a cluster: that which named it, or the last that tied
    /// something to it. Some ten rows read for a large cluster.
    pub fn last_tie_before(self, root: ClusterRoot, before: TxNum) -> Result<TxNum, ReadError> {
        let (counts, _) = self.root_row(root)?;
        let (mut from, mut to) = (0, counts.children.div_ceil(CHILDREN_PER_ROW));
        let mut newest = root.0;
        // Children are ordered by the transaction that tied them: the newest before is in the last row that begins
        // before.
        while from < to {
            let slot = from + (to - from) / 2;
            let row = self.children(root.0, slot, counts.children)?;
            let older = row.partition_point(|child| child.by < before);
            match older.checked_sub(1).and_then(|at| row.get(at)) {
                Some(child) => {
                    newest = newest.max(child.by);
                    from = slot + 1;
                }
                None => to = slot,
            }
        }
        Ok(newest)
    }
}
