//! Which scripts count as exchanges', now and at any block: those that lists name, and the others of their clusters.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use cairn_events::Claim;
use cairn_model::{CancelToken, ScriptId, TxNum};
use cairn_reader::{ClusterRoot, ReadError, Tie, View, root_of};
use cairn_tables::{
    claims::{ClaimKey, Claims},
    cluster_claims::ClaimNodes,
    labels::ScriptHash,
};

use super::{
    known::{ExchangeId, Exchanges},
    timeline::{Spans, Timelines, joined},
};
use crate::PipelineError;

/// Nodes whose ways to their roots are read together.
const TOGETHER: usize = 1_024;

/// Receives each script that counts as an exchange's, now or at some block.
pub(super) trait ScriptReceiver {
    /// Takes a script with its former owners and its present one.
    fn receive(&mut self, script: ScriptId, spans: &Spans, latest: Option<ExchangeId>) -> Result<(), PipelineError>;
}

/// A cluster of which scripts count or counted as an exchange's.
struct Tree {
    latest: Option<ExchangeId>,
    own: HashSet<ScriptId>,
}

/// Hands over all scripts that count or counted as exchanges', each once.
pub(super) fn assign(
    view: &View<'_>,
    exchanges: &Exchanges,
    cancel: &CancelToken,
    receiver: &mut dyn ScriptReceiver,
) -> Result<(), PipelineError> {
    let (claimed, tops) = claimed_nodes(view, cancel)?;
    let mut timelines = Timelines::new(view, exchanges, claimed)?;
    let mut trees = HashMap::new();
    for (root, nodes) in tops {
        let owners = view.clusters().owners(ClusterRoot(root))?.filter(|row| !row.is_suspect);
        let latest = owners.and_then(|row| exchanges.find(row.owners.first()?));
        let mut counts = latest.is_some();
        for node in nodes {
            counts = counts || timelines.of_root(node)?.iter().any(|span| span.1.is_some());
        }
        if counts {
            trees.insert(root, Tree { latest, own: HashSet::new() });
        }
    }
    let mut assignment = Assignment { view, exchanges, timelines, trees };
    let (mut rows, mut script): (Vec<(ClaimKey, Claim)>, _) = (Vec::new(), None);
    for row in view.scan::<Claims>(None)? {
        let (key, claim) = row?;
        if script != Some(key.script) {
            assignment.script(&rows, receiver)?;
            rows.clear();
            script = Some(key.script);
            PipelineError::if_cancelled(cancel)?;
        }
        if rows.len() < MAX_ROWS {
            rows.push((key, claim));
        }
    }
    assignment.script(&rows, receiver)?;
    assignment.clusters(cancel, receiver)
}

/// Most claims of one script that are looked at.
const MAX_ROWS: usize = 1 << 16;

/// Nodes at or below which scripts have claims for the others of their cluster, and of each cluster those that are or
/// were roots.
type ClaimedNodes = (HashSet<TxNum>, BTreeMap<TxNum, BTreeSet<TxNum>>);

fn claimed_nodes(view: &View<'_>, cancel: &CancelToken) -> Result<ClaimedNodes, PipelineError> {
    let (mut claimed, mut tops) = ClaimedNodes::default();
    let mut note = |node: TxNum, path: &[Tie]| {
        claimed.insert(node);
        claimed.extend(path.iter().map(|tie| tie.parent));
        let of_root = tops.entry(root_of(node, path).0).or_default();
        // A node that joined by itself was not a root.
        of_root.extend(Some(node).filter(|_| path.first().is_none_or(|tie| tie.smaller.is_some())));
        of_root.extend(path.iter().map(|tie| tie.parent));
    };
    let mut nodes: Vec<TxNum> = Vec::new();
    let mut read = |nodes: &mut Vec<TxNum>| -> Result<(), PipelineError> {
        PipelineError::if_cancelled(cancel)?;
        let paths = view.clusters().paths_at(nodes, view.as_of_tip())?;
        nodes.drain(..).zip(&paths).for_each(|(node, path)| note(node, path));
        Ok(())
    };
    for row in view.scan::<ClaimNodes>(None)? {
        let ((node, _), ()) = row?;
        if nodes.last() != Some(&node) {
            nodes.push(node);
        }
        if nodes.len() == TOGETHER {
            read(&mut nodes)?;
        }
    }
    read(&mut nodes)?;
    Ok((claimed, tops))
}

struct Assignment<'v> {
    view: &'v View<'v>,
    exchanges: &'v Exchanges,
    timelines: Timelines<'v>,
    trees: HashMap<TxNum, Tree>,
}

impl Assignment<'_> {
    /// Hands over a script that lists say something of, if it counts or counted as an exchange's.
    fn script(&mut self, rows: &[(ClaimKey, Claim)], receiver: &mut dyn ScriptReceiver) -> Result<(), PipelineError> {
        let Some((first, _)) = rows.first() else { return Ok(()) };
        let hash = ScriptHash(first.script);
        let label = self.view.labels().of_hash(&hash)?;
        let id = match &label {
            Some(label) => label.id(&hash),
            // The claims about it no longer hold.
            None => self.view.scripts().find_hash(&hash.0)?.map(|(found, _)| found.id),
        };
        let Some(id) = id else { return Ok(()) };
        let of = self.view.clusters().of_script(id, self.view.as_of_tip())?;
        let tree = of.root.and_then(|root| self.trees.get_mut(&root.0));
        if tree.is_none() && !self.timelines.may_be(rows) {
            return Ok(());
        }
        let (mut inherited, mut heir) = (Spans::new(), None);
        if let (Some(tree), Some(node)) = (tree, of.node) {
            tree.own.insert(id);
            heir = tree.latest;
            inherited = self.timelines.of_path(node, &of.path)?;
        }
        let latest = match &label {
            Some(label) if label.names_somebody() => {
                label.member.as_ref().and_then(|member| self.exchanges.find(&member.entity))
            }
            _ => heir,
        };
        let spans = self.timelines.of_script(&hash.0, rows, &inherited)?;
        receiver.receive(id, &spans, latest)
    }

    /// Hands over the other scripts of the clusters.
    fn clusters(mut self, cancel: &CancelToken, receiver: &mut dyn ScriptReceiver) -> Result<(), PipelineError> {
        let roots: BTreeSet<TxNum> = self.trees.keys().copied().collect();
        for root in roots {
            let Some(Tree { latest, own }) = self.trees.remove(&root) else { continue };
            // Of each node on the way from the root.
            let mut way: Vec<Rc<Spans>> = Vec::new();
            let mut nodes = self.view.clusters().nodes(ClusterRoot(root));
            while let Some(node) = nodes.next_node()? {
                PipelineError::if_cancelled(cancel)?;
                way.truncate(node.depth);
                let spans = match (node.by, way.last()) {
                    (Some(by), Some(parent)) => {
                        let alone = if by == node.node { Rc::default() } else { self.timelines.of_root(node.node)? };
                        Rc::new(joined(&alone, parent, self.timelines.height_of(by)))
                    }
                    (None, None) => self.timelines.of_root(root)?,
                    _ => return Err(ReadError::Broken("a cluster's tree has no order".to_owned()).into()),
                };
                for script in node.scripts.iter().filter(|script| !own.contains(script)) {
                    receiver.receive(*script, &spans, latest)?;
                }
                way.push(spans);
            }
        }
        Ok(())
    }
}
