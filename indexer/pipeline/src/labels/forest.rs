//! What a block changes of the claims of clusters: it brings scripts into clusters, and ties clusters together.

use std::collections::{BTreeMap, HashMap};

use cairn_model::{ScriptId, TxNum};
use cairn_reader::{ReadError, Tie, View};
use cairn_tables::{
    Family, Table,
    cluster_claims::{ClaimChildren, SCRIPTS_BELOW},
    clusters::{ClusterOf, ClusterRow, Clusters},
    labels::{ScriptHash, ScriptLabel},
};

use super::{
    Moved, Side,
    rows::{Changes, claim_child},
};
use crate::PipelineError;

/// A row of the clusters' tables as it is after the block: family, key, and value if there is one.
pub(crate) type ForestRow = (Family, Vec<u8>, Option<Vec<u8>>);

/// True for the tables that are needed here.
pub(crate) fn is_forest(family: Family) -> bool {
    [ClusterOf::FAMILY, Clusters::FAMILY].contains(&family)
}

/// A script whose claims extend to its cluster, and that has none before the block.
pub(crate) struct Heir {
    pub(crate) id: ScriptId,
    pub(crate) hash: ScriptHash,
    pub(crate) before: ScriptLabel,
    /// Its label after the block, without a node.
    pub(crate) after: ScriptLabel,
    pub(crate) moved: Moved,
}

/// The tie of a node to its parent, if it is one of the block.
fn tie(node: TxNum, row: ClusterRow, first_tx: TxNum) -> Option<Tie> {
    let (parent, by) = match row {
        ClusterRow::Newcomer { parent } => (parent, node),
        ClusterRow::Merged { parent, by, .. } => (parent, by),
        ClusterRow::Root(_) => return None,
    };
    (by >= first_tx).then_some(Tie { child: node, parent, by, smaller: None })
}

/// Connects a block that begins with a transaction.
///
/// # Errors
/// The database cannot be read, or a row is damaged.
pub(crate) fn connect(
    view: &View<'_>,
    first_tx: TxNum,
    forest: &[ForestRow],
    heirs: &[Heir],
    changes: &mut Changes,
) -> Result<(), PipelineError> {
    let (mut nodes, mut ties) = (HashMap::new(), BTreeMap::new());
    for (family, key, value) in forest {
        let Some(value) = value else { continue };
        if *family == ClusterOf::FAMILY {
            nodes.insert(ClusterOf::decode_key(key)?, ClusterOf::decode_value(value)?.0);
        } else if let Some(tie) = tie(Clusters::decode_key(key)?, Clusters::decode_value(value)?, first_tx) {
            ties.insert((tie.by, tie.child), tie);
        }
    }
    // What was below a child before the block, and what the block brought there before the child joined.
    let mut brought: HashMap<TxNum, u64> = HashMap::new();
    for tie in ties.values() {
        let stored = if tie.child < first_tx { view.claims_below(tie.child)? } else { 0 };
        let below = stored + brought.get(&tie.child).copied().unwrap_or_default();
        if below > 0 {
            changes.tie(tie, below.into())?;
            *brought.entry(tie.parent).or_default() += below;
        }
    }
    let parents: HashMap<TxNum, &Tie> = ties.values().map(|tie| (tie.child, tie)).collect();
    for Heir { id, hash, before, after, moved } in heirs {
        let node = nodes.get(id).copied();
        // Its node is of this block, and so is all that the node was tied to since.
        let mut path: Vec<Tie> = Vec::new();
        let mut next = node;
        while let Some(tie) = next.and_then(|node| parents.get(&node)) {
            path.push(**tie);
            next = Some(tie.parent);
        }
        let after = ScriptLabel { node, ..after.clone() };
        let before = Side { label: before, moved: Moved::default(), path: &[] };
        changes.replace(*hash, Some(before), Some(Side { label: &after, moved: *moved, path: &path }))?;
    }
    Ok(())
}

/// Disconnects the newest block. The view has it still.
///
/// # Errors
/// The database cannot be read, or a row is damaged.
pub(crate) fn disconnect(
    view: &View<'_>,
    first_tx: TxNum,
    forest: &[ForestRow],
    changes: &mut Changes,
) -> Result<(), PipelineError> {
    for (_, key, _) in forest.iter().filter(|(family, ..)| *family == Clusters::FAMILY) {
        let node = Clusters::decode_key(key)?;
        let row = view.get::<Clusters>(&node)?;
        let row = row.ok_or_else(|| ReadError::Lacks { table: Clusters::NAME, what: format!("node {}", node.0) })?;
        let Some(tie) = tie(node, row, first_tx) else { continue };
        if let Some(below) = view.get::<ClaimChildren>(&claim_child(&tie))? {
            changes.tie(&tie, -below.get(SCRIPTS_BELOW))?;
        }
    }
    Ok(())
}
