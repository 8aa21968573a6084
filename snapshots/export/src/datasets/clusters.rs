//! `clusters` and `cluster_scripts`.

use cairn_model::TxNum;
use cairn_reader::{ReadError, View};
use cairn_tables::{
    clusters::{ClusterOf, ClusterRow, Clusters},
    stages,
};

use crate::{
    Dataset, ExportError,
    columns::{Kind, column},
    dataset::{Scope, Source},
    sink::Sink,
};

pub(super) const CLUSTERS: Dataset = Dataset {
    name: "clusters",
    about: "Clusters of scripts that were spent together, as of the tip. A cluster comes from transactions that spend \
        from several scripts and are not CoinJoins. A script that no such transaction spends from is its own cluster \
        and is not listed.",
    sorted_by: &["cluster"],
    columns: &[
        column("cluster", Kind::Long, "`tx_num` of the transaction that the cluster is named after."),
        column("scripts", Kind::Long, "Number of scripts in the cluster."),
        column("transactions", Kind::Long, "Number of transactions that spend from several scripts of the cluster."),
        column("balance", Kind::Sats, "Total balance of the scripts."),
    ],
    source: Source::Whole(clusters),
};

pub(super) const CLUSTER_SCRIPTS: Dataset = Dataset {
    name: "cluster_scripts",
    about: "The cluster of each script that was spent together with others, as of the tip.",
    sorted_by: &["script_id"],
    columns: &[
        column("script_id", Kind::ScriptId, "Id of the script."),
        column("cluster", Kind::Long, "Cluster of the script, as in `clusters`."),
    ],
    source: Source::Whole(scripts),
};

/// Number of rows between two checks for cancellation.
const LOOK_EACH: usize = 1 << 16;

fn clusters(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    view.require(&stages::CLUSTERS)?;
    for (at, row) in view.scan::<Clusters>(None)?.enumerate() {
        let (node, row) = row?;
        if at.is_multiple_of(LOOK_EACH) {
            scope.check()?;
        }
        if let ClusterRow::Root(counts) = row {
            sink.rows.tx(node);
            sink.rows.number(counts.scripts);
            sink.rows.number(counts.transactions);
            sink.rows.sats(counts.balance);
            sink.settle()?;
        }
    }
    Ok(())
}

fn scripts(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    view.require(&stages::CLUSTERS)?;
    let forest = Forest::read(scope, view)?;
    for (at, row) in view.scan::<ClusterOf>(None)?.enumerate() {
        let (script, node) = row?;
        if at.is_multiple_of(LOOK_EACH) {
            scope.check()?;
        }
        sink.rows.script_id(script);
        sink.rows.tx(forest.root_of(node.0)?);
        sink.settle()?;
    }
    Ok(())
}

/// The nodes of all clusters with their roots, in memory: nine bytes each.
struct Forest {
    /// Ascending.
    nodes: Vec<[u8; 5]>,
    /// Position of each node's root in `nodes`.
    roots: Vec<u32>,
}

const NODE_BYTES: u64 = 9;

impl Forest {
    fn read(scope: &Scope<'_>, view: &View<'_>) -> Result<Self, ExportError> {
        let (mut nodes, mut parents): (Vec<[u8; 5]>, Vec<[u8; 5]>) = (Vec::new(), Vec::new());
        for (at, row) in view.scan::<Clusters>(None)?.enumerate() {
            let (node, row) = row?;
            if at.is_multiple_of(LOOK_EACH) {
                scope.check()?;
                // Parents, 5 bytes each, are in memory until all roots are found.
                if at as u64 * (NODE_BYTES + 5) > scope.memory {
                    return Err(ExportError::Memory { dataset: "cluster_scripts", bytes: scope.memory });
                }
            }
            let parent = match row {
                ClusterRow::Root(_) => node,
                ClusterRow::Newcomer { parent } | ClusterRow::Merged { parent, .. } => parent,
            };
            nodes.push(node.to_be5());
            parents.push(parent.to_be5());
        }
        let mut roots = Vec::with_capacity(nodes.len());
        for parent in parents {
            roots.push(place(&nodes, parent)?);
        }
        // Each node takes the root of its parent, from the top of its path downwards.
        let mut path = Vec::new();
        for at in 0..roots.len() {
            let mut node = at as u32;
            while let Some(parent) = roots.get(node as usize).copied().filter(|parent| *parent != node) {
                path.push(node);
                node = parent;
                if path.len() > roots.len() {
                    return Err(ReadError::Broken("clusters go round in a circle".to_owned()).into());
                }
            }
            for below in path.drain(..) {
                if let Some(root) = roots.get_mut(below as usize) {
                    *root = node;
                }
            }
        }
        Ok(Forest { nodes, roots })
    }

    fn root_of(&self, node: TxNum) -> Result<TxNum, ExportError> {
        let at = place(&self.nodes, node.to_be5())?;
        let root = self.roots.get(at as usize).and_then(|root| self.nodes.get(*root as usize));
        root.map(|root| TxNum::from_be5(*root)).ok_or(ExportError::Defect("a root is not among the nodes"))
    }
}

fn place(nodes: &[[u8; 5]], node: [u8; 5]) -> Result<u32, ExportError> {
    let found = nodes.binary_search(&node).ok().and_then(|at| u32::try_from(at).ok());
    found.ok_or_else(|| ReadError::Broken("a cluster has a node that is not there".to_owned()).into())
}
