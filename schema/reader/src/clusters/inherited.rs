//! Scripts of a cluster with claims that extend to its other scripts.

use cairn_model::TxNum;
use cairn_tables::{
    cluster_claims::{ClaimChild, ClaimChildren, ClaimNodes, SCRIPTS_BELOW},
    cluster_owners::MAX_OWNERS,
    clusters::{ClusterRow, Clusters},
    labels::ScriptHash,
};

use super::{AsOf, Membership, SUSPECT_TRANSACTIONS};
use crate::{ReadError, subjects::ClusterView};

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

impl ClusterView<'_> {
    /// True if a script of a cluster has claims for the others. One row read.
    pub fn has_claims(self) -> Result<bool, ReadError> {
        self.view.has_row::<ClaimNodes>()
    }

    /// How many scripts with claims for others are at a node and below. A row read for each at the node, and for each
    /// child.
    pub fn claims_below(self, node: TxNum) -> Result<u64, ReadError> {
        let own = self.claimed_at(node, usize::MAX)?.len() as u64;
        self.claimed_children(node, None)?.try_fold(own, |sum, child| Ok(sum + child?.1))
    }

    /// At most `limit` scripts at a node, ascending.
    fn claimed_at(self, node: TxNum, limit: usize) -> Result<Vec<ScriptHash>, ReadError> {
        let own = self.view.scan_while::<ClaimNodes>((node, FIRST), |(of, _)| *of == node)?;
        own.take(limit).map(|row| row.map(|((_, script), ())| script)).collect()
    }

    /// Children of a node that have such scripts at them or below, each with their number, in the order in which they
    /// joined, after `last`.
    fn claimed_children(
        self,
        parent: TxNum,
        last: Option<ClaimChild>,
    ) -> Result<impl Iterator<Item = Result<(ClaimChild, u64), ReadError>>, ReadError> {
        let from = last.unwrap_or(ClaimChild { parent, by: TxNum(0), child: TxNum(0) });
        let own = self.view.scan_while::<ClaimChildren>(from, move |tie| tie.parent == parent)?;
        let after = own.skip_while(move |row| row.as_ref().is_ok_and(|(tie, _)| Some(*tie) == last));
        Ok(after.map(|row| {
            let (tie, sums) = row?;
            let below = u64::try_from(sums.get(SCRIPTS_BELOW));
            Ok((tie, below.map_err(|_| ReadError::Broken("fewer than no claims of a cluster".to_owned()))?))
        }))
    }

    /// At most `limit` scripts of a cluster with claims for the others, as of a block. Scripts beyond a merge of two
    /// large clusters are left out. Reads some four rows for each node that has such scripts at it or below, and one
    /// for each merge.
    pub fn claimed_scripts(self, of: &Membership, at: AsOf, limit: usize) -> Result<ClaimedScripts, ReadError> {
        let Some((top, has_suspect)) = of.part() else { return Ok(ClaimedScripts::default()) };
        let Walked { scripts, suspects, is_cut } = self.walk_down(top, at, limit)?;
        Ok(ClaimedScripts { scripts, is_cut, has_suspect: has_suspect || !suspects.is_empty() })
    }

    /// Scripts with claims for the others of the cluster of a root, by part, as of a block; of each part one more than
    /// `limit` at most. Reads as [`ClusterView::claimed_scripts`] for each part.
    pub fn claimed_parts(self, root: TxNum, at: AsOf, limit: usize) -> Result<ClaimedParts, ReadError> {
        let Walked { scripts: own, suspects, .. } = self.walk_down(root, at, limit + 1)?;
        let mut parts = ClaimedParts { own, others: Vec::new() };
        // The first one on top.
        let mut waiting: Vec<TxNum> = suspects.into_iter().rev().collect();
        while let Some(top) = waiting.pop() {
            if parts.own.len() > limit || parts.others.len() == MAX_OWNERS - 1 {
                break;
            }
            let Walked { scripts, suspects, .. } = self.walk_down(top, at, limit + 1)?;
            parts.others.extend(Some(scripts).filter(|scripts| !scripts.is_empty()));
            waiting.extend(suspects.into_iter().rev());
        }
        Ok(parts)
    }

    /// At most `limit` scripts at a node and below, without those beyond suspect merges.
    fn walk_down(self, top: TxNum, at: AsOf, limit: usize) -> Result<Walked, ReadError> {
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
                found.scripts.extend(self.claimed_at(node, room)?);
            }
            let next = self.claimed_children(node, last)?.next().transpose()?;
            let Some((tie, _)) = next.filter(|(tie, _)| tie.by < at.tx_end) else { continue };
            way.push((node, Some(tie)));
            if self.is_suspect(&tie)? {
                found.suspects.push(tie.child);
            } else {
                way.push((tie.child, None));
            }
        }
        found.is_cut |= found.scripts.len() > limit;
        found.scripts.truncate(limit);
        Ok(found)
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
