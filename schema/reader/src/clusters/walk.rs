//! The whole tree of a cluster, node by node.

use cairn_model::{ScriptId, TxNum};
use cairn_tables::clusters::{ClusterRow, Clusters};

use super::{AsOf, ClusterRoot, LeftOut, SUSPECT_TRANSACTIONS, members::Level};
use crate::{ReadError, View, subjects::ClusterView};

/// A node of a cluster's tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WalkedNode {
    /// The node.
    pub node: TxNum,
    /// Steps from the root.
    pub depth: usize,
    /// The transaction that tied it to its parent; `None` for the root.
    pub by: Option<TxNum>,
    /// Scripts that it is the first to show, ascending.
    pub scripts: Vec<ScriptId>,
}

/// Walks through a cluster's tree: a node before its children, these in the order in which they joined.
pub struct ClusterNodes<'v> {
    view: &'v View<'v>,
    at: AsOf,
    root: Option<ClusterRoot>,
    levels: Vec<Level>,
}

impl<'v> ClusterView<'v> {
    /// Begins to walk through a cluster's tree as of the tip. Reads some five rows for each node that shows scripts.
    #[must_use]
    pub fn nodes(self, root: ClusterRoot) -> ClusterNodes<'v> {
        ClusterNodes { view: self.view, at: self.view.as_of_tip(), root: Some(root), levels: Vec::new() }
    }

    /// The transaction that brought the first merge of two large clusters into the tree of a node: it is that merge, or
    /// it joined a tree with one. `None` if there is no such merge. Reads one row if there is none, else two for each
    /// cluster that joined until then.
    pub fn first_suspect(self, node: TxNum) -> Result<Option<TxNum>, ReadError> {
        let has_some = |node: TxNum| -> Result<bool, ReadError> {
            Ok(LeftOut::of(&self.below(node)?).is_none_or(|left_out| left_out.suspects > 0))
        };
        if !has_some(node)? {
            return Ok(None);
        }
        let (at, mut level) = (self.view.as_of_tip(), self.level(node)?);
        while let Some(child) = self.next_child(&mut level, at)? {
            if child.node == child.by {
                continue;
            }
            let is_large = match self.view.get::<Clusters>(&child.node)? {
                Some(ClusterRow::Merged { counts, .. }) => counts.transactions >= SUSPECT_TRANSACTIONS,
                _ => return Err(self.view.broken("a cluster that joined another does not exist")),
            };
            if is_large || has_some(child.node)? {
                return Ok(Some(child.by));
            }
        }
        Err(self.view.broken("a suspect merge is missing"))
    }
}

impl ClusterNodes<'_> {
    /// The next node that shows scripts, or has children.
    pub fn next_node(&mut self) -> Result<Option<WalkedNode>, ReadError> {
        if let Some(ClusterRoot(node)) = self.root.take() {
            self.levels.push(self.view.clusters().level(node)?);
            return Ok(Some(WalkedNode {
                node,
                depth: 0,
                by: None,
                scripts: self.view.clusters().scripts_of_node(node)?,
            }));
        }
        loop {
            let depth = self.levels.len();
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some(child) = self.view.clusters().next_child(level, self.at)? else {
                self.levels.pop();
                continue;
            };
            // A node that joined by itself has no children.
            let has_children = child.node != child.by;
            if has_children {
                self.levels.push(self.view.clusters().level(child.node)?);
            } else if child.scripts == 0 {
                continue;
            }
            let scripts = self.view.clusters().scripts_of_node(child.node)?;
            return Ok(Some(WalkedNode { node: child.node, depth, by: Some(child.by), scripts }));
        }
    }
}
