//! Changes of the claims of clusters by a block: it brings scripts into clusters, ties clusters together, and moves
//! their coins.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cairn_events::EntityName;
use cairn_model::{ScriptId, TxNum};
use cairn_reader::{AsOf, ClaimedParts, ReadError, Tie, View, root_of};
use cairn_tables::{
    Family, Table,
    cluster_claims::{ClaimChildren, SCRIPTS_BELOW},
    cluster_owners::{BelowSum, OwnersRow},
    clusters::{ClusterOf, ClusterRow, Clusters, Counts},
    labels::{ScriptHash, ScriptLabel},
    sums::Sums,
};

use super::{
    LabelledScript, ScriptSums,
    judge::MAX_HEIRS,
    owners::{owners_by, row_of},
    rows::{Changes, at_and_above, claim_child, left_out, overflow},
};
use crate::PipelineError;

/// A row of the clusters' tables as it is after the block: family, key, and value if there is one.
pub(crate) type ForestRow = (Family, Vec<u8>, Option<Vec<u8>>);

/// True for the tables that are needed here.
pub(crate) fn is_forest(family: Family) -> bool {
    [ClusterOf::FAMILY, Clusters::FAMILY].contains(&family)
}

/// A script with a label that is in no cluster before the block, and that the block spends from.
pub(crate) struct Heir {
    pub(crate) id: ScriptId,
    pub(crate) hash: ScriptHash,
    pub(crate) before: ScriptLabel,
    /// Its label after the block; its node in the new cluster is not set.
    pub(crate) after: ScriptLabel,
    pub(crate) moved: ScriptSums,
}

/// Movement of a script that a list attributes to an entity, with the script's node.
pub(crate) type Movement = (TxNum, ScriptSums);

/// Changes of the forest of clusters by a block that is connected or undone.
pub(crate) struct BlockForest<'b> {
    first_tx: TxNum,
    /// In the order in which the clusters joined.
    ties: Vec<Tie>,
    /// Nodes of scripts that the block brings into clusters.
    nodes: HashMap<ScriptId, TxNum>,
    /// Roots whose rows the block writes, as they are after it, or after it is undone.
    roots: BTreeMap<TxNum, Counts>,
    /// Nodes of the block, if it is undone.
    gone: Vec<TxNum>,
    heirs: &'b [Heir],
    movements: &'b [Movement],
}

/// The tie of a node to its parent, if it is one of the block.
fn tie(node: TxNum, row: &ClusterRow, first_tx: TxNum) -> Option<Tie> {
    let (parent, by, smaller) = match row {
        ClusterRow::Newcomer { parent } => (*parent, node, None),
        ClusterRow::Merged { parent, by, counts } => (*parent, *by, Some(counts.transactions)),
        ClusterRow::Root(_) => return None,
    };
    (by >= first_tx).then_some(Tie { child: node, parent, by, smaller })
}

/// Sums that are left out of the parent because of a tie, with the changes so far. `known` has the stored sums below
/// the children.
fn left_out_by(tie: &Tie, known: &mut HashMap<TxNum, Sums>, changes: &Changes) -> Result<Sums, PipelineError> {
    let mut left_out = changes.below_from(known.remove(&tie.child).unwrap_or_default(), tie.child)?;
    left_out.add(BelowSum::Suspects.position(), tie.is_suspect().into()).map_err(overflow)?;
    Ok(left_out)
}

impl<'b> BlockForest<'b> {
    fn of(first_tx: TxNum, heirs: &'b [Heir], movements: &'b [Movement]) -> Self {
        let (ties, nodes, roots, gone) = Default::default();
        BlockForest { first_tx, ties, nodes, roots, gone, heirs, movements }
    }

    /// Reads the changes of a block that begins with transaction `first_tx`, from the rows that it writes.
    pub(crate) fn connecting(
        first_tx: TxNum,
        rows: &[ForestRow],
        heirs: &'b [Heir],
        movements: &'b [Movement],
    ) -> Result<Self, PipelineError> {
        let mut of = BlockForest::of(first_tx, heirs, movements);
        for (family, key, value) in rows {
            let Some(value) = value else { continue };
            if *family == ClusterOf::FAMILY {
                of.nodes.insert(ClusterOf::decode_key(key)?, ClusterOf::decode_value(value)?.0);
                continue;
            }
            let (node, row) = (Clusters::decode_key(key)?, Clusters::decode_value(value)?);
            of.ties.extend(tie(node, &row, first_tx));
            if let ClusterRow::Root(counts) = row {
                of.roots.insert(node, counts);
            }
        }
        of.ties.sort_unstable_by_key(|tie| (tie.by, tie.child));
        Ok(of)
    }

    /// Reads the changes of the newest block, which the view has, from the rows that undoing it writes.
    pub(crate) fn disconnecting(
        view: &View<'_>,
        first_tx: TxNum,
        rows: &[ForestRow],
        movements: &'b [Movement],
    ) -> Result<Self, PipelineError> {
        let mut of = BlockForest::of(first_tx, &[], movements);
        for (_, key, value) in rows.iter().filter(|(family, ..)| *family == Clusters::FAMILY) {
            let node = Clusters::decode_key(key)?;
            let row = view.get::<Clusters>(&node)?;
            let row =
                row.ok_or_else(|| ReadError::Lacks { table: Clusters::NAME, what: format!("node {}", node.0) })?;
            of.ties.extend(tie(node, &row, first_tx));
            match value.as_ref().map(|value| Clusters::decode_value(value)).transpose()? {
                Some(ClusterRow::Root(counts)) => drop(of.roots.insert(node, counts)),
                Some(_) => {}
                None => of.gone.push(node),
            }
        }
        of.ties.sort_unstable_by_key(|tie| (tie.by, tie.child));
        Ok(of)
    }

    /// Connects the block. The view is of the index before it.
    pub(crate) fn connect(&self, view: &View<'_>, changes: &mut Changes) -> Result<(), PipelineError> {
        self.add_moved(view, changes)?;
        let has_claims = view.clusters().has_claims()?;
        // Scripts with claims below a child before the block, and those that the block brought there before the child
        // joined.
        let mut brought: HashMap<TxNum, u64> = HashMap::new();
        let mut known = self.below_children(view)?;
        for tie in &self.ties {
            changes.add_below(tie.parent, &left_out_by(tie, &mut known, changes)?)?;
            let is_old = has_claims && tie.child < self.first_tx;
            let stored = if is_old { view.clusters().claims_below(tie.child)? } else { 0 };
            let below = stored + brought.get(&tie.child).copied().unwrap_or_default();
            if below > 0 {
                changes.tie(tie, below.into())?;
                *brought.entry(tie.parent).or_default() += below;
            }
        }
        let parents: HashMap<TxNum, &Tie> = self.ties.iter().map(|tie| (tie.child, tie)).collect();
        // All that a node of the block was tied to since is of the block.
        let path = |node: TxNum| -> Vec<Tie> {
            let climb = std::iter::successors(parents.get(&node), |tie| parents.get(&tie.parent));
            climb.map(|tie| **tie).collect()
        };
        let mut claimed: BTreeMap<TxNum, Vec<ScriptHash>> = BTreeMap::new();
        for heir in self.heirs {
            let node = self.nodes.get(&heir.id).copied();
            let path = node.map(&path).unwrap_or_default();
            heir.join(view, node, &path, changes)?;
            let heritable = node.filter(|_| heir.after.is_heritable);
            heritable.iter().for_each(|node| claimed.entry(*node).or_default().push(heir.hash));
        }
        claimed.values_mut().for_each(|scripts| scripts.sort_unstable());
        // The owner of a cluster may change where claims came to it.
        let mut asked: BTreeSet<TxNum> = brought.keys().chain(claimed.keys()).copied().collect();
        asked = asked.into_iter().map(|node| root_of(node, &path(node)).0).collect();
        let parts = self.parts(view, &asked, &path, claimed)?;
        // A root that was merged is no longer a root.
        let merged = self.ties.iter().map(|tie| tie.child).filter(|child| !self.roots.contains_key(child)).collect();
        self.replace_owners(view, changes, parts, merged)
    }

    /// Scripts with claims for the others, of the clusters of some roots after the block.
    fn parts(
        &self,
        view: &View<'_>,
        roots: &BTreeSet<TxNum>,
        path: &impl Fn(TxNum) -> Vec<Tie>,
        mut claimed: BTreeMap<TxNum, Vec<ScriptHash>>,
    ) -> Result<HashMap<TxNum, ClaimedParts>, PipelineError> {
        let mut of_node = |node: TxNum| -> Result<ClaimedParts, ReadError> {
            if node < self.first_tx {
                return view.clusters().claimed_parts(node, view.as_of_tip(), MAX_HEIRS);
            }
            Ok(ClaimedParts::of_root(claimed.remove(&node).unwrap_or_default(), MAX_HEIRS))
        };
        let mut parts: HashMap<TxNum, ClaimedParts> = HashMap::new();
        if roots.is_empty() {
            return Ok(parts);
        }
        for root in roots {
            parts.insert(*root, of_node(*root)?);
        }
        for tie in self.ties.iter().filter(|tie| roots.contains(&root_of(tie.child, &path(tie.child)).0)) {
            let child = match parts.remove(&tie.child) {
                Some(known) => known,
                None => of_node(tie.child)?,
            };
            let parent = match parts.remove(&tie.parent) {
                Some(known) => known,
                None => of_node(tie.parent)?,
            };
            let mut joined = parent;
            joined.join(child, tie.is_suspect(), MAX_HEIRS);
            parts.insert(tie.parent, joined);
        }
        parts.retain(|root, _| roots.contains(root));
        Ok(parts)
    }

    /// Disconnects the block. The view has it still.
    pub(crate) fn disconnect(&self, view: &View<'_>, before: AsOf, changes: &mut Changes) -> Result<(), PipelineError> {
        self.add_moved(view, changes)?;
        let mut asked = BTreeSet::new();
        let mut known = self.below_children(view)?;
        for tie in self.ties.iter().rev() {
            let left_out = left_out_by(tie, &mut known, changes)?;
            changes.add_below(tie.parent, &left_out.negated().map_err(overflow)?)?;
            if let Some(below) = view.get::<ClaimChildren>(&claim_child(tie))? {
                changes.tie(tie, -below.get(SCRIPTS_BELOW))?;
                asked.extend([tie.parent, tie.child]);
            }
        }
        for node in &self.gone {
            let left_out = changes.below(view, *node)?;
            changes.add_below(*node, &left_out.negated().map_err(overflow)?)?;
        }
        let mut parts = HashMap::new();
        for root in asked.intersection(&self.roots.keys().copied().collect()) {
            parts.insert(*root, view.clusters().claimed_parts(*root, before, MAX_HEIRS)?);
        }
        self.replace_owners(view, changes, parts, self.gone.clone())
    }

    /// Stored sums that are left out below the children of its ties. One look-up for all.
    fn below_children(&self, view: &View<'_>) -> Result<HashMap<TxNum, Sums>, ReadError> {
        let mut children: Vec<TxNum> = self.ties.iter().map(|tie| tie.child).collect();
        children.sort_unstable();
        view.clusters().below_of_many(&children)
    }

    /// Adds the block's movements of scripts that a list attributes to an entity: they count in no sum of their
    /// cluster.
    fn add_moved(&self, view: &View<'_>, changes: &mut Changes) -> Result<(), PipelineError> {
        let nodes: Vec<TxNum> = self.movements.iter().map(|(node, _)| *node).collect();
        for ((node, moved), path) in self.movements.iter().zip(view.clusters().paths_at(&nodes, view.as_of_tip())?) {
            let sums = Sums::of(left_out(0, moved)).map_err(overflow)?;
            at_and_above(*node, &path).try_for_each(|node| changes.add_below(node, &sums))?;
        }
        Ok(())
    }

    /// Brings the rows of all roots that the block writes to their state after it. Those in `parts` are judged again,
    /// those in `ended` are no longer roots.
    fn replace_owners(
        &self,
        view: &View<'_>,
        changes: &mut Changes,
        mut parts: HashMap<TxNum, ClaimedParts>,
        mut ended: Vec<TxNum>,
    ) -> Result<(), PipelineError> {
        let is_due = !view.clusters().owners_due(None, 1)?.is_empty();
        let roots: Vec<TxNum> = self.roots.keys().copied().collect();
        let stored = self.stored_owners(view, &roots)?;
        let mut claims = None;
        for ((root, counts), before) in self.roots.iter().zip(stored) {
            if is_due {
                changes.judge_again(*root);
            }
            let owners: Vec<EntityName> = match (parts.remove(root), &before) {
                (Some(parts), _) => {
                    let claims = match &mut claims {
                        Some(claims) => claims,
                        none => none.insert(view.claims().walk()?),
                    };
                    owners_by(claims, &parts)?
                }
                (None, Some(before)) => before.owners.clone(),
                (None, None) => continue,
            };
            let after = row_of(*root, owners, counts, &changes.below(view, *root)?)?;
            changes.replace_owners(*root, before.as_ref(), after)?;
        }
        ended.sort_unstable();
        for (node, before) in ended.iter().zip(self.stored_owners(view, &ended)?) {
            if let Some(before) = before {
                changes.replace_owners(*node, Some(&before), None)?;
            }
        }
        Ok(())
    }

    /// The rows that roots have before the block, or before it is undone.
    fn stored_owners(&self, view: &View<'_>, roots: &[TxNum]) -> Result<Vec<Option<OwnersRow>>, ReadError> {
        if view.clusters().has_owners()? { view.clusters().owners_of_many(roots) } else { Ok(vec![None; roots.len()]) }
    }
}

impl Heir {
    /// It is in a cluster now, with a way to the root that is all of the block; or it is in none still.
    fn join(
        &self,
        view: &View<'_>,
        node: Option<TxNum>,
        path: &[Tie],
        changes: &mut Changes,
    ) -> Result<(), PipelineError> {
        let Heir { id, hash, before, after, moved } = self;
        let after = ScriptLabel { node, ..after.clone() };
        // All that it ever did is left out of the cluster, not only what the block does.
        let had = match before.seen.filter(|_| node.is_some() && after.names_somebody()) {
            Some(_) => view.scripts().by_id(*id)?.map(|found| ScriptSums::of(&found.totals)).unwrap_or_default(),
            None => ScriptSums::default(),
        };
        let side = |label, moved| LabelledScript { label, moved, path: Some(path) };
        changes.replace(*hash, Some(side(before, had)), Some(side(&after, had.plus(*moved))))
    }
}
