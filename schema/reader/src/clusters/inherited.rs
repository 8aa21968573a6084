//! Scripts of a cluster with claims that extend to its other scripts.

use cairn_model::TxNum;
use cairn_tables::{
    cluster_claims::{ClaimChild, ClaimChildren, ClaimNodes, SCRIPTS_BELOW},
    cluster_owners::MAX_OWNERS,
    clusters::{ClusterRow, Clusters},
    encode_key,
    labels::ScriptHash,
};

use super::{AsOf, Membership, SUSPECT_TRANSACTIONS};
use crate::{ReadError, View, forward::Forward, subjects::ClusterView};

/// Most steps down and up again for the claims of a cluster.
const MAX_STEPS: usize = 1_000;

const FIRST: ScriptHash = ScriptHash([0; 32]);

/// Scripts of a cluster with claims for the others.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ClaimedScripts {
    /// The scripts from the root down, in the order in which they joined.
    pub scripts: Vec<ScriptHash>,
    /// True if there are more.
    pub is_cut: bool,
    /// True if claims beyond a merge of two large clusters were left out, which may rest on a mistake.
    pub has_suspect: bool,
}

/// Scripts with claims for the others, by the part of the cluster that they are in: suspect merges part it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ClaimedParts {
    /// Scripts of the part with the root, in the order in which they joined; one more than the limit if there are more.
    pub own: Vec<ScriptHash>,
    /// The same of each other part that has some, in the order in which the parts joined, at most [`MAX_OWNERS`] less
    /// one. None if there are more of the root's part than the limit.
    pub others: Vec<Vec<ScriptHash>>,
}

impl ClaimedParts {
    /// A cluster that has such scripts at its root only.
    #[must_use]
    pub fn of_root(own: Vec<ScriptHash>, limit: usize) -> Self {
        let mut parts = ClaimedParts { own, others: Vec::new() };
        parts.cut(limit);
        parts
    }

    /// Adds those of a cluster that joins this one.
    pub fn join(&mut self, child: ClaimedParts, is_suspect: bool, limit: usize) {
        if !is_suspect {
            self.own.extend(child.own);
        } else if !child.own.is_empty() {
            self.others.push(child.own);
        }
        self.others.extend(child.others);
        self.cut(limit);
    }

    fn cut(&mut self, limit: usize) {
        self.own.truncate(limit + 1);
        self.others.truncate(if self.own.len() > limit { 0 } else { MAX_OWNERS - 1 });
    }
}

/// Scripts below a node, and the children of suspect merges that were not walked into.
#[derive(Default)]
struct Walked {
    scripts: Vec<ScriptHash>,
    suspects: Vec<TxNum>,
    is_cut: bool,
}

/// Looks up the scripts with claims of one part of a cluster after another. It reads least if the tops of the parts
/// ascend: most parts have none, and then the iterators are mostly beyond them already.
pub struct ClusterClaimWalk<'v> {
    view: &'v View<'v>,
    nodes: Forward<'v>,
    children: Forward<'v>,
}

impl<'v> ClusterView<'v> {
    /// True if a script of a cluster has claims for the others. One row read.
    pub fn has_claims(self) -> Result<bool, ReadError> {
        self.view.has_row::<ClaimNodes>()
    }

    /// Begins to look up scripts with claims for others. No row read.
    pub fn claim_walk(self) -> Result<ClusterClaimWalk<'v>, ReadError> {
        let (nodes, children) = (Forward::new::<ClaimNodes>(self.view)?, Forward::new::<ClaimChildren>(self.view)?);
        Ok(ClusterClaimWalk { view: self.view, nodes, children })
    }

    /// How many scripts with claims for others are at a node and below. A row read for each at the node, and for each
    /// child.
    pub fn claims_below(self, node: TxNum) -> Result<u64, ReadError> {
        let mut walk = self.claim_walk()?;
        let (mut sum, mut last) = (walk.scripts_at(node, usize::MAX)?.len() as u64, None);
        while let Some((child, below)) = walk.child_after(node, last)? {
            (sum, last) = (sum + below, Some(child));
        }
        Ok(sum)
    }

    /// At most `limit` scripts of a cluster with claims for the others, as of a block. Scripts beyond a merge of two
    /// large clusters are left out. Reads some four rows for each node that has such scripts at it or below, and one
    /// for each merge.
    pub fn claimed_scripts(self, of: &Membership, at: AsOf, limit: usize) -> Result<ClaimedScripts, ReadError> {
        let Some((top, has_suspect)) = of.part() else {
            return Ok(ClaimedScripts::default());
        };
        let found = self.claim_walk()?.scripts_of(top, at, limit)?;
        Ok(ClaimedScripts { has_suspect: has_suspect || found.has_suspect, ..found })
    }

    /// Scripts with claims for the others of the cluster of a root, by part, as of a block; of each part one more than
    /// `limit` at most. Reads as [`ClusterView::claimed_scripts`] for each part.
    pub fn claimed_parts(self, root: TxNum, at: AsOf, limit: usize) -> Result<ClaimedParts, ReadError> {
        let mut walk = self.claim_walk()?;
        let Walked { scripts: own, suspects, .. } = walk.walk_down(root, at, limit + 1)?;
        let mut parts = ClaimedParts { own, others: Vec::new() };
        // The first one on top.
        let mut waiting: Vec<TxNum> = suspects.into_iter().rev().collect();
        while let Some(top) = waiting.pop() {
            if parts.own.len() > limit || parts.others.len() == MAX_OWNERS - 1 {
                break;
            }
            let Walked { scripts, suspects, .. } = walk.walk_down(top, at, limit + 1)?;
            parts.others.extend(Some(scripts).filter(|scripts| !scripts.is_empty()));
            waiting.extend(suspects.into_iter().rev());
        }
        Ok(parts)
    }

    /// Whether a tie is a merge of two large clusters.
    fn is_suspect(self, tie: &ClaimChild) -> Result<bool, ReadError> {
        if tie.by == tie.child {
            return Ok(false);
        }
        match self.view.get::<Clusters>(&tie.child)? {
            Some(ClusterRow::Merged { counts, .. }) => Ok(counts.transactions >= SUSPECT_TRANSACTIONS),
            _ => Err(self.view.broken("claims below a missing tie")),
        }
    }
}

impl ClusterClaimWalk<'_> {
    /// As [`ClusterView::claimed_scripts`], of the part of a cluster below its top. `has_suspect` is about merges below
    /// it.
    pub fn scripts_of(&mut self, top: TxNum, at: AsOf, limit: usize) -> Result<ClaimedScripts, ReadError> {
        let Walked { scripts, suspects, is_cut } = self.walk_down(top, at, limit)?;
        Ok(ClaimedScripts { scripts, is_cut, has_suspect: !suspects.is_empty() })
    }

    /// At most `limit` scripts at a node and below, without those beyond suspect merges.
    fn walk_down(&mut self, top: TxNum, at: AsOf, limit: usize) -> Result<Walked, ReadError> {
        let mut found = Walked::default();
        // Nodes on the way down, each with the child that was last; nothing of a node is read before it is needed.
        let (mut way, mut steps): (Vec<(TxNum, Option<ClaimChild>)>, usize) = (vec![(top, None)], 0);
        while let Some((node, last)) = way.pop() {
            // One more shows if there are more.
            let room = (limit + 1).saturating_sub(found.scripts.len());
            if room == 0 || steps == MAX_STEPS {
                found.is_cut = true;
                break;
            }
            steps += 1;
            if last.is_none() {
                found.scripts.extend(self.scripts_at(node, room)?);
            }
            let next = self.child_after(node, last)?;
            let Some((tie, _)) = next.filter(|(tie, _)| tie.by < at.tx_end) else {
                continue;
            };
            way.push((node, Some(tie)));
            if self.view.clusters().is_suspect(&tie)? {
                found.suspects.push(tie.child);
            } else {
                way.push((tie.child, None));
            }
        }
        found.is_cut |= found.scripts.len() > limit;
        found.scripts.truncate(limit);
        Ok(found)
    }

    /// At most `limit` scripts at a node, ascending.
    fn scripts_at(&mut self, node: TxNum, limit: usize) -> Result<Vec<ScriptHash>, ReadError> {
        let mut found = Vec::new();
        self.nodes.seek_counted(self.view, &encode_key::<ClaimNodes>(&(node, FIRST)))?;
        while let Some(((of, script), ())) = self.nodes.decoded::<ClaimNodes>(self.view)? {
            if of != node || found.len() >= limit {
                break;
            }
            found.push(script);
            if found.len() < limit {
                self.nodes.next_counted(self.view)?;
            }
        }
        Ok(found)
    }

    /// The first child of a node, or the one that joined after `last`, which has such scripts at it or below, with
    /// their number.
    fn child_after(&mut self, parent: TxNum, last: Option<ClaimChild>) -> Result<Option<(ClaimChild, u64)>, ReadError> {
        let from = last.unwrap_or(ClaimChild { parent, by: TxNum(0), child: TxNum(0) });
        let mut key = encode_key::<ClaimChildren>(&from);
        if last.is_some() && self.children.is_at(&key) {
            self.children.next_counted(self.view)?;
        } else {
            if last.is_some() {
                // The first key after it.
                key.push(0);
            }
            self.children.seek_counted(self.view, &key)?;
        }
        let found = self.children.decoded::<ClaimChildren>(self.view)?;
        let Some((tie, sums)) = found.filter(|(tie, _)| tie.parent == parent) else {
            return Ok(None);
        };
        let below = u64::try_from(sums.get(SCRIPTS_BELOW));
        Ok(Some((tie, below.map_err(|_| ReadError::Broken("fewer than no claims of a cluster".to_owned()))?)))
    }
}
