//! Scripts of a cluster that lists say something of which extends to its other scripts.

use cairn_model::TxNum;
use cairn_tables::{
    Table,
    cluster_claims::{ClaimChild, ClaimChildren, ClaimNodes, SCRIPTS_BELOW},
    clusters::{ClusterRow, Clusters},
    encode_key,
    labels::ScriptHash,
};

use super::{AsOf, Membership, SUSPECT_TRANSACTIONS};
use crate::{ReadError, View};

/// Most steps down and up again for the claims of a cluster.
const MOST_STEPS: usize = 1_000;

const FIRST: ScriptHash = ScriptHash([0; 32]);

/// Scripts of a cluster with claims for the others.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ClaimedScripts {
    /// From the root down, in the order in which they joined.
    pub scripts: Vec<ScriptHash>,
    /// True if there are more.
    pub is_cut: bool,
    /// True if claims beyond a merge of two large clusters were left out, which may rest on a mistake.
    pub has_suspect: bool,
}

impl View<'_> {
    /// True if a script of a cluster has claims for the others. One row read.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn has_cluster_claims(&self) -> Result<bool, ReadError> {
        let mut rows = self.raw_iterator::<ClaimNodes>()?;
        rows.seek(encode_key::<ClaimNodes>(&(TxNum(0), FIRST)));
        self.count()?;
        rows.status().map_err(|e| ReadError::of_table(ClaimNodes::NAME, e))?;
        Ok(rows.key().is_some_and(|key| key.first() == ClaimNodes::TAG.as_ref()))
    }

    /// How many scripts with claims for others are at a node and below. A row read for each at the node, and for each child.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn claims_below(&self, node: TxNum) -> Result<u64, ReadError> {
        let own = self.claimed_at(node, usize::MAX)?.len() as u64;
        self.claimed_children(node, None)?.try_fold(own, |sum, child| Ok(sum + child?.1))
    }

    /// Scripts at a node, ascending, at most so many.
    fn claimed_at(&self, node: TxNum, limit: usize) -> Result<Vec<ScriptHash>, ReadError> {
        let rows = self.scan::<ClaimNodes>(Some(&(node, FIRST)))?;
        let own = rows.take_while(|row| row.as_ref().map_or(true, |((of, _), ())| *of == node));
        own.take(limit).map(|row| row.map(|((_, script), ())| script)).collect()
    }

    /// Children of a node below which there are such scripts, and how many, in the order in which they joined, after one.
    fn claimed_children(
        &self,
        parent: TxNum,
        last: Option<ClaimChild>,
    ) -> Result<impl Iterator<Item = Result<(ClaimChild, u64), ReadError>>, ReadError> {
        let from = last.unwrap_or(ClaimChild { parent, by: TxNum(0), child: TxNum(0) });
        let rows = self.scan::<ClaimChildren>(Some(&from))?;
        let after = rows.skip_while(move |row| row.as_ref().is_ok_and(|(tie, _)| Some(*tie) == last));
        let own = after.take_while(move |row| row.as_ref().map_or(true, |(tie, _)| tie.parent == parent));
        Ok(own.map(|row| {
            let (tie, sums) = row?;
            let below = u64::try_from(sums.get(SCRIPTS_BELOW));
            Ok((tie, below.map_err(|_| ReadError::Broken("fewer than no claims of a cluster".to_owned()))?))
        }))
    }

    /// Scripts of a cluster with claims for the others, as of a block, at most so many. What is beyond a merge of two large
    /// clusters is left out. Reads some four rows for each node that has some at it or below, and one for each merge.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn claimed_in_cluster(&self, of: &Membership, at: AsOf, limit: usize) -> Result<ClaimedScripts, ReadError> {
        let mut found = ClaimedScripts::default();
        let Some(mut top) = of.node else { return Ok(found) };
        for tie in &of.path {
            if tie.is_suspect() {
                found.has_suspect = true;
                break;
            }
            top = tie.parent;
        }
        // Nodes on the way down, each with the child that was last; nothing of a node is read before it is needed.
        let (mut way, mut steps): (Vec<(TxNum, Option<ClaimChild>)>, usize) = (vec![(top, None)], 0);
        while let Some((node, last)) = way.pop() {
            // One more tells if there are more.
            let room = (limit + 1).saturating_sub(found.scripts.len());
            if room == 0 || steps == MOST_STEPS {
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
                found.has_suspect = true;
            } else {
                way.push((tie.child, None));
            }
        }
        found.is_cut |= found.scripts.len() > limit;
        found.scripts.truncate(limit);
        Ok(found)
    }

    /// Whether a tie is a merge of two large clusters.
    fn is_suspect(&self, tie: &ClaimChild) -> Result<bool, ReadError> {
        if tie.by == tie.child {
            return Ok(false);
        }
        match self.get::<Clusters>(&tie.child)? {
            Some(ClusterRow::Merged { counts, .. }) => Ok(counts.transactions >= SUSPECT_TRANSACTIONS),
            _ => Err(self.broken("claims below a tie that is none")),
        }
    }
}
