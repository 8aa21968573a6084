//! Holders of coins: the clusters of scripts, or the scripts themselves.

use cairn_model::{ScriptId, TxNum};
use cairn_tables::{
    clusters::{ClusterOf, ClusterRow, Clusters},
    flushes::Holder,
};

use super::{AsOf, Membership};
use crate::{ReadError, subjects::ClusterView};

impl ClusterView<'_> {
    /// The holders of the coins of scripts as of a block, in the order of the scripts: their clusters, or the scripts
    /// themselves.
    pub fn holders(self, scripts: &[ScriptId], at: AsOf) -> Result<Vec<Holder>, ReadError> {
        let of = |member: Membership| match member.root {
            Some(root) => Holder::Cluster(root.0),
            None => Holder::Script(member.script),
        };
        Ok(self.of_scripts(scripts, at)?.into_iter().map(of).collect())
    }

    /// The transaction by which a holder becomes a part of a cluster that it was not, as far as the tip, with that
    /// cluster as of the transaction; `None` if nothing has.
    pub fn next_tie(self, holder: Holder) -> Result<Option<(TxNum, Holder)>, ReadError> {
        let tie = match holder {
            Holder::Script(script) => self.view.get::<ClusterOf>(&script)?.map(|node| (node.0, node.0)),
            Holder::Cluster(root) => match self.view.get::<Clusters>(&root)? {
                Some(ClusterRow::Merged { parent, by, .. }) => Some((by, parent)),
                Some(ClusterRow::Root(_)) => None,
                Some(ClusterRow::Newcomer { .. }) | None => {
                    return Err(self.view.broken("a cluster's root is not a root"));
                }
            },
        };
        let Some((by, node)) = tie else { return Ok(None) };
        let at = AsOf { height: 0, tx_end: TxNum(by.0.saturating_add(1)) };
        let (root, _) = self.of_node(node, at)?.ok_or_else(|| self.view.broken("a row of clusters is missing"))?;
        Ok(Some((by, Holder::Cluster(root.0))))
    }
}
