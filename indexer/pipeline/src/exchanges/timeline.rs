//! The exchange that a script counted as at each block, by the claims that were asserted by then and the clusters as of
//! then.
//!
//! The owner of a script changes at few blocks: when a claim about it begins or ends to hold, when its cluster gets an
//! owner, and when its cluster joins another one. The owner of a cluster changes only with the first scripts of it that
//! have claims for the others, and with their claims.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use cairn_events::{Claim, EntityName};
use cairn_model::{Height, TxNum, day_of};
use cairn_reader::{ClaimWalk, ReadError, Tie, View};
use cairn_tables::{
    claims::{ClaimKey, ListVersion},
    labels::ScriptHash,
};

use super::known::{ExchangeId, Exchanges};
use crate::labels::{MAX_HEIRS, NamedEntity, named_at, owner_by};

/// The exchange that a script counts as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    pub(super) exchange: ExchangeId,
    /// Day on which the index received the first document that names it for this, in days since 1970. Earlier flows
    /// count because of a document that came later.
    pub(super) known: u32,
}

/// Owner changes as (first height, owner), ascending; no owner before the first.
pub(super) type Spans = Vec<(Height, Option<Owner>)>;

/// Claims of a list about a script, row by row.
pub(super) type Rows = [(ClaimKey, Claim)];

/// Appends a change of owner at `from`; does nothing if the owner stays.
fn push(spans: &mut Spans, from: Height, owner: Option<Owner>) {
    match spans.last_mut() {
        Some(last) if last.0 == from => last.1 = owner,
        Some(last) if last.1 == owner => {}
        None if owner.is_none() => {}
        _ => spans.push((from, owner)),
    }
}

/// Returns the owner at `height`.
fn at(spans: &[(Height, Option<Owner>)], height: Height) -> Option<Owner> {
    let next = spans.partition_point(|span| span.0 <= height);
    next.checked_sub(1).and_then(|last| spans.get(last)).and_then(|span| span.1)
}

/// Appends the owner changes of `other` from block `from` up to block `to`.
fn extend(spans: &mut Spans, other: &[(Height, Option<Owner>)], from: Height, to: Height) {
    if from >= to {
        return;
    }
    push(spans, from, at(other, from));
    other.iter().filter(|span| (from + 1..to).contains(&span.0)).for_each(|span| push(spans, span.0, span.1));
}

/// Joins the owner changes of a child before block `by` and those of its parent from there on.
pub(super) fn joined(own: &[(Height, Option<Owner>)], parent: &[(Height, Option<Owner>)], by: Height) -> Spans {
    let mut spans = Spans::new();
    extend(&mut spans, own, 0, by);
    extend(&mut spans, parent, by, Height::MAX);
    spans
}

/// Finds owners at any block by the claims and clusters of then.
pub(super) struct Timelines<'v> {
    view: &'v View<'v>,
    exchanges: &'v Exchanges,
    claims: ClaimWalk<'v>,
    /// Nodes at which or below which scripts have claims for the others.
    claimed: HashSet<TxNum>,
    nodes: HashMap<TxNum, Rc<Spans>>,
    /// When documents were received.
    received: HashMap<ListVersion, u32>,
}

impl<'v> Timelines<'v> {
    pub(super) fn new(
        view: &'v View<'v>,
        exchanges: &'v Exchanges,
        claimed: HashSet<TxNum>,
    ) -> Result<Self, ReadError> {
        let claims = view.claims().walk()?;
        Ok(Timelines { view, exchanges, claims, claimed, nodes: HashMap::new(), received: HashMap::new() })
    }

    /// The block of a transaction.
    pub(super) fn height_of(&self, tx_num: TxNum) -> Height {
        self.view.chain().height_of(tx_num).unwrap_or_default()
    }

    /// The first block at which something holds from a time on; `None` if no block is as late.
    fn first_at(&self, time: u32) -> Option<Height> {
        let before = time.checked_sub(1).and_then(|time| self.view.chain().height_at(time));
        let height = before.map_or(0, |height| height + 1);
        self.view.chain().get(height).map(|_| height)
    }

    fn time_of(&self, height: Height) -> u32 {
        self.view.chain().get(height).map_or(0, |block| block.mono_time)
    }

    /// The blocks at which the claims of a script may say something else than before, ascending.
    fn changes(&mut self, script: &[u8; 32], rows: &Rows) -> Result<BTreeSet<Height>, ReadError> {
        let mut times = BTreeSet::new();
        for (key, claim) in rows {
            times.insert(claim.then(key.version.retrieved_at));
            times.extend([claim.valid_from, claim.valid_to].into_iter().flatten());
        }
        for of_version in rows.chunk_by(|a, b| (&a.0.list, a.0.version) == (&b.0.list, b.0.version)) {
            if let Some((key, _)) = of_version.first() {
                times.extend(self.claims.complete_after(&key.list, key.version)?.map(|next| next.retrieved_at));
            }
        }
        let (contests, _) = self.view.claims().contests_of(script, None)?;
        times.extend(contests.iter().map(|(key, _)| key.version.retrieved_at));
        Ok(times.into_iter().filter_map(|time| self.first_at(time)).collect())
    }

    /// The day of the first document that makes a script an entity's.
    fn known(&mut self, rows: &Rows, entity: &EntityName) -> Result<u32, ReadError> {
        let mut known = u32::MAX;
        for (key, claim) in rows {
            if claim.entity.as_ref() != Some(entity) || !claim.claim_type.makes_members() {
                continue;
            }
            let received = match self.received.get(&key.version) {
                Some(received) => *received,
                None => {
                    let document = self.view.claims().document(&key.version)?;
                    let lacks = || ReadError::Broken("a claim has no document".to_owned());
                    let received = document.ok_or_else(lacks)?.received_at;
                    self.received.insert(key.version, received);
                    received
                }
            };
            known = known.min(day_of(received));
        }
        Ok(known)
    }

    fn owner(&mut self, rows: &Rows, entity: &EntityName) -> Result<Option<Owner>, ReadError> {
        let Some(exchange) = self.exchanges.find(entity) else { return Ok(None) };
        Ok(Some(Owner { exchange, known: self.known(rows, entity)? }))
    }

    /// True if lists may make a script an exchange's.
    pub(super) fn may_be(&self, rows: &Rows) -> bool {
        let is = |claim: &Claim| claim.entity.as_ref().is_some_and(|entity| self.exchanges.find(entity).is_some());
        rows.iter().any(|(_, claim)| claim.claim_type.makes_members() && is(claim))
    }

    /// Returns the owners of a script: by its own claims where they named somebody, else by its cluster.
    pub(super) fn of_script(
        &mut self,
        script: &[u8; 32],
        rows: &Rows,
        inherited: &[(Height, Option<Owner>)],
    ) -> Result<Spans, ReadError> {
        let changes = self.changes(script, rows)?;
        let mut named: BTreeMap<Height, Option<Option<Owner>>> = BTreeMap::new();
        for height in changes {
            let time = self.time_of(height);
            let said = named_at(&mut self.claims, script, time)?;
            named.insert(
                height,
                match said {
                    NamedEntity::Nobody => None,
                    NamedEntity::Somebody(None) => Some(None),
                    NamedEntity::Somebody(Some(entity)) => Some(self.owner(rows, &entity)?),
                },
            );
        }
        let heights: BTreeSet<Height> = named.keys().copied().chain(inherited.iter().map(|span| span.0)).collect();
        let mut spans = Spans::new();
        for height in heights {
            let said = named.range(..=height).next_back().and_then(|(_, said)| *said);
            push(&mut spans, height, said.unwrap_or_else(|| at(inherited, height)));
        }
        Ok(spans)
    }

    /// Returns the owners of the scripts of a node by its cluster, from the way to the root.
    pub(super) fn of_path(&mut self, node: TxNum, path: &[Tie]) -> Result<Spans, ReadError> {
        let mut spans = Spans::new();
        let (mut current, mut from) = (node, self.height_of(node));
        for tie in path {
            let to = self.height_of(tie.by);
            if tie.smaller.is_some() {
                let own = self.of_root(current)?;
                extend(&mut spans, &own, from, to);
            }
            (current, from) = (tie.parent, to.max(from));
        }
        let own = self.of_root(current)?;
        extend(&mut spans, &own, from, Height::MAX);
        Ok(spans)
    }

    /// Returns the owners of the cluster of a node while the node was its root; later changes do not count.
    pub(super) fn of_root(&mut self, node: TxNum) -> Result<Rc<Spans>, ReadError> {
        if !self.claimed.contains(&node) {
            return Ok(Rc::default());
        }
        if let Some(known) = self.nodes.get(&node) {
            return Ok(Rc::clone(known));
        }
        let spans = Rc::new(self.read_root(node)?);
        self.nodes.insert(node, Rc::clone(&spans));
        Ok(spans)
    }

    fn read_root(&mut self, node: TxNum) -> Result<Spans, ReadError> {
        let start = self.height_of(node);
        let suspect = self.view.clusters().first_suspect(node)?.map_or(Height::MAX, |by| self.height_of(by));
        let mut scripts = self.view.clusters().claimed_parts(node, self.view.as_of_tip(), MAX_HEIRS)?.own;
        scripts.truncate(MAX_HEIRS);
        // Of each script when it came into the tree, and its claims.
        let mut heirs = Vec::new();
        let mut heights = BTreeSet::from([start, suspect]);
        for (script, joined) in scripts.iter().zip(self.joined(node, &scripts)?) {
            let rows = self.claims.rows(&script.0)?;
            heights.insert(joined);
            heights.extend(self.changes(&script.0, &rows)?);
            heirs.push((joined, rows));
        }
        let mut spans = Spans::new();
        for height in heights.into_iter().filter(|height| *height >= start && *height < Height::MAX) {
            // They joined in their order.
            let there = heirs.partition_point(|(joined, _)| *joined <= height);
            let time = self.time_of(height);
            let owner = match scripts.get(..there).filter(|_| height < suspect) {
                Some(scripts) => owner_by(&mut self.claims, scripts, Some(time))?,
                None => None,
            };
            let owner = match owner.and_then(|entity| Some((self.exchanges.find(&entity)?, entity))) {
                Some((exchange, entity)) => {
                    let mut known = u32::MAX;
                    for (_, rows) in heirs.get(..there).unwrap_or_default() {
                        known = known.min(self.known(rows, &entity)?);
                    }
                    Some(Owner { exchange, known })
                }
                None => None,
            };
            push(&mut spans, height, owner);
        }
        Ok(spans)
    }

    /// When scripts came into the tree of a node.
    fn joined(&self, node: TxNum, scripts: &[ScriptHash]) -> Result<Vec<Height>, ReadError> {
        let broken = || ReadError::Broken("a script with claims for its cluster has no node".to_owned());
        let labels = self.view.labels().of_hashes(scripts)?;
        let nodes = labels.iter().map(|label| label.as_ref().and_then(|label| label.node).ok_or_else(broken));
        let nodes: Vec<TxNum> = nodes.collect::<Result<_, _>>()?;
        let paths = self.view.clusters().paths_at(&nodes, self.view.as_of_tip())?;
        let by = |path: &Vec<Tie>| path.iter().find(|tie| tie.parent == node).map_or(node, |tie| tie.by);
        Ok(paths.iter().map(|path| self.height_of(by(path))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(exchange: ExchangeId) -> Option<Owner> {
        Some(Owner { exchange, known: 0 })
    }

    #[test]
    fn a_child_has_its_own_owner_until_it_joins() {
        let own = vec![(5, owner(1)), (8, None), (20, owner(3))];
        let parent = vec![(3, owner(2)), (10, None), (12, owner(2))];
        assert_eq!(joined(&own, &parent, 4), [(4, owner(2)), (10, None), (12, owner(2))]);
        assert_eq!(joined(&own, &parent, 9), [(5, owner(1)), (8, None), (9, owner(2)), (10, None), (12, owner(2))]);
        assert_eq!(joined(&own, &parent, 11), [(5, owner(1)), (8, None), (12, owner(2))]);
        assert_eq!(joined(&[], &parent, 30), [(30, owner(2))]);
        assert_eq!(joined(&own, &[], 6), [(5, owner(1)), (6, None)]);
        assert_eq!(joined(&[], &[], 6), []);
        assert_eq!(
            [4, 5, 7, 8, 19, 20].map(|height| at(&own, height)),
            [None, owner(1), owner(1), None, None, owner(3)]
        );
    }
}
