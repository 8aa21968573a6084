//! Finds the nodes of a graph hop by hop.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::Hash,
};

use cairn_model::{Sats, TxNum};

/// Which way the graph grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Along received payments.
    In,
    /// Along sent payments.
    Out,
    /// Both.
    Both,
}

/// Side of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// Value comes from there.
    In,
    /// The middle.
    Center,
    /// Value goes there.
    Out,
}

impl Side {
    /// True if the payments that a node there sends are followed.
    #[must_use]
    pub fn grows_out(self, direction: Direction) -> bool {
        match self {
            Side::In => false,
            Side::Center => direction != Direction::In,
            Side::Out => true,
        }
    }

    /// True if the payments that a node there receives are followed.
    #[must_use]
    pub fn grows_in(self, direction: Direction) -> bool {
        match self {
            Side::In => true,
            Side::Center => direction != Direction::Out,
            Side::Out => false,
        }
    }
}

/// How large a graph may become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Hops from the middle.
    pub hops: u32,
    /// Nodes, the middle among them.
    pub nodes: usize,
    /// Edges that are looked at in each hop.
    pub candidates: usize,
    /// Satoshis of an edge at least.
    pub min_sats: Sats,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Sum {
    sats: Sats,
    txs: BTreeSet<TxNum>,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node<K> {
    /// Its key.
    pub key: K,
    /// Hops from the middle.
    pub depth: u32,
    /// Its side.
    pub side: Side,
    /// Sum of its incoming edges.
    pub in_sats: Sats,
    /// Sum of its outgoing edges.
    pub out_sats: Sats,
}

/// An edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The place of its payer among the nodes.
    pub from: usize,
    /// The place of its payee among the nodes.
    pub to: usize,
    /// Sum that it pays.
    pub sats: Sats,
    /// The transactions, ascending.
    pub txs: Vec<TxNum>,
}

/// Value of all edges that were looked at, by what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Accounting {
    /// Value of all of them: the sum of the fields below.
    pub seen_sats: u128,
    /// On edges of the graph.
    pub shown_sats: u128,
    /// Sum that nodes pay to themselves.
    pub self_sats: u128,
    /// On edges below the minimum.
    pub below_min_sats: u128,
    /// On edges to nodes that are not in the graph.
    pub omitted_sats: u128,
    /// Edges that were looked at, those to oneself not among them.
    pub candidates: u64,
    /// Candidates below the minimum.
    pub below_min: u64,
    /// Nodes that are not in the graph although an edge above the minimum leads there.
    pub omitted_nodes: u64,
}

/// A graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph<K> {
    /// The middle first, then by depth, side, and the larger value.
    pub nodes: Vec<Node<K>>,
    /// The edges, ascending by the places of their ends.
    pub edges: Vec<Edge>,
    /// Value by what became of the edges.
    pub accounting: Accounting,
    /// Edges were left out of a hop since there were too many.
    pub is_cut: bool,
}

/// A node that may be taken.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Candidate<K> {
    key: K,
    depth: u32,
    side: Side,
    sats: Sats,
}

/// A graph in the making.
#[derive(Clone, Debug)]
pub struct Building<K> {
    limits: Limits,
    direction: Direction,
    edges: HashMap<(K, K), Sum>,
    placed: BTreeMap<K, (u32, Side, Sats)>,
    frontier: BTreeSet<K>,
    spare: Vec<Candidate<K>>,
    hop: u32,
    is_cut: bool,
}

impl<K: Ord + Clone + Hash> Building<K> {
    /// Around a node.
    #[must_use]
    pub fn around(center: K, direction: Direction, limits: Limits) -> Self {
        Building {
            limits,
            direction,
            edges: HashMap::new(),
            placed: BTreeMap::from([(center.clone(), (0, Side::Center, 0))]),
            frontier: BTreeSet::from([center]),
            spare: Vec::new(),
            hop: 0,
            is_cut: false,
        }
    }

    /// Adds a part of a transaction's value that goes from one node to another. Each part once.
    pub fn add(&mut self, from: K, to: K, tx: TxNum, sats: Sats) {
        let sum = self.edges.entry((from, to)).or_default();
        sum.sats = sum.sats.saturating_add(sats);
        sum.txs.insert(tx);
    }

    /// Takes and returns the nodes of the next hop, the largest first: those to which edges of the last hop's nodes
    /// lead.
    pub fn next_hop(&mut self) -> Vec<(K, Side)> {
        self.hop += 1;
        let mut found: HashMap<K, [Sats; 2]> = HashMap::new();
        let mut edges: Vec<(Sats, &K, usize)> = Vec::new();
        for ((from, to), sum) in &self.edges {
            if sum.sats < self.limits.min_sats || from == to {
                continue;
            }
            let grows = |key: &K, out: bool| {
                let side = self.placed.get(key).filter(|_| self.frontier.contains(key)).map(|(_, side, _)| *side);
                side.is_some_and(
                    |side| {
                        if out { side.grows_out(self.direction) } else { side.grows_in(self.direction) }
                    },
                )
            };
            if !self.placed.contains_key(to) && grows(from, true) {
                edges.push((sum.sats, to, 1));
            }
            if !self.placed.contains_key(from) && grows(to, false) {
                edges.push((sum.sats, from, 0));
            }
        }
        if edges.len() > self.limits.candidates {
            edges.sort_unstable_by_key(|(sats, key, side)| (Reverse(*sats), *key, *side));
            edges.truncate(self.limits.candidates);
            self.is_cut = true;
        }
        for (sats, key, side) in edges {
            let sums = found.entry(key.clone()).or_default();
            sums[side] = sums[side].saturating_add(sats);
        }
        let depth = self.hop;
        let candidate = |(key, [into, out]): (K, [Sats; 2])| {
            let side = if into > out { Side::In } else { Side::Out };
            Candidate { key, depth, side, sats: into.saturating_add(out) }
        };
        let mut candidates: Vec<Candidate<K>> = found.into_iter().map(candidate).collect();
        sort(&mut candidates);
        let left = self.limits.nodes.saturating_sub(self.placed.len());
        // Each later hop has its share; room that they do not need is filled up at the end.
        let hops = self.limits.hops.saturating_sub(self.hop) as usize + 1;
        let rest = candidates.split_off(candidates.len().min(left.div_ceil(hops)));
        self.spare.extend(rest);
        self.frontier = candidates.iter().map(|candidate| candidate.key.clone()).collect();
        self.place(&candidates);
        candidates.into_iter().map(|candidate| (candidate.key, candidate.side)).collect()
    }

    fn place(&mut self, candidates: &[Candidate<K>]) {
        for Candidate { key, depth, side, sats } in candidates {
            self.placed.entry(key.clone()).or_insert((*depth, *side, *sats));
        }
    }

    /// The graph.
    #[must_use]
    pub fn finish(mut self) -> Graph<K> {
        let mut spare = std::mem::take(&mut self.spare);
        spare.retain(|candidate| !self.placed.contains_key(&candidate.key));
        sort(&mut spare);
        // One may have been left out of several hops.
        let mut known = BTreeSet::new();
        spare.retain(|candidate| known.insert(candidate.key.clone()));
        let rest = spare.split_off(spare.len().min(self.limits.nodes.saturating_sub(self.placed.len())));
        self.place(&spare);

        let mut nodes: Vec<Node<K>> = Vec::with_capacity(self.placed.len());
        let mut order: Vec<(&K, &(u32, Side, Sats))> = self.placed.iter().collect();
        order.sort_by_key(|(key, (depth, side, sats))| (*depth, *side, Reverse(*sats), (*key).clone()));
        for (key, (depth, side, _)) in order {
            nodes.push(Node { key: key.clone(), depth: *depth, side: *side, in_sats: 0, out_sats: 0 });
        }
        let places: HashMap<K, usize> = nodes.iter().enumerate().map(|(at, node)| (node.key.clone(), at)).collect();
        let (mut edges, mut accounting) = (Vec::new(), Accounting::default());
        let mut omitted: BTreeSet<&K> = rest.iter().map(|candidate| &candidate.key).collect();
        for ((from, to), sum) in &self.edges {
            let sats = u128::from(sum.sats);
            accounting.seen_sats += sats;
            if from == to {
                accounting.self_sats += sats;
                continue;
            }
            accounting.candidates += 1;
            if sum.sats < self.limits.min_sats {
                accounting.below_min += 1;
                accounting.below_min_sats += sats;
                continue;
            }
            let (Some(payer), Some(payee)) = (places.get(from), places.get(to)) else {
                accounting.omitted_sats += sats;
                omitted.extend([from, to].into_iter().filter(|key| !places.contains_key(*key)));
                continue;
            };
            accounting.shown_sats += sats;
            nodes[*payer].out_sats = nodes[*payer].out_sats.saturating_add(sum.sats);
            nodes[*payee].in_sats = nodes[*payee].in_sats.saturating_add(sum.sats);
            let txs = sum.txs.iter().copied().collect();
            edges.push(Edge { from: *payer, to: *payee, sats: sum.sats, txs });
        }
        accounting.omitted_nodes = omitted.len() as u64;
        edges.sort_unstable_by_key(|edge| (edge.from, edge.to));
        Graph { nodes, edges, accounting, is_cut: self.is_cut }
    }
}

/// Sorts the largest first; equal ones by key, and those of one key by hop.
fn sort<K: Ord>(candidates: &mut [Candidate<K>]) {
    candidates.sort_unstable_by(|a, b| {
        b.sats.cmp(&a.sats).then_with(|| a.key.cmp(&b.key)).then_with(|| (a.depth, a.side).cmp(&(b.depth, b.side)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that two hops leave out with the same value belongs to the first of them, whoever else is left out.
    #[test]
    fn a_spare_node_has_the_depth_of_the_first_hop_that_saw_it() {
        for fillers in 0..80u32 {
            let limits = Limits { hops: 3, nodes: 9, candidates: 5_000, min_sats: 1 };
            let mut graph = Building::around(0u32, Direction::In, limits);
            for (hop, to, payers) in [(0, 0, [1, 2, 3]), (1, 1, [5, 6, 7])] {
                for payer in payers {
                    graph.add(payer, to, TxNum(u64::from(100 * hop + payer)), 1_000 + Sats::from(payer));
                }
                graph.add(4, to, TxNum(90 + u64::from(hop)), 500);
                for filler in 0..fillers {
                    graph.add(100 + filler, to, TxNum(u64::from(1_000 * (hop + 1) + filler)), 1 + Sats::from(filler));
                }
                graph.next_hop();
            }
            graph.next_hop();
            let found = graph.finish();
            let depth = found.nodes.iter().find(|node| node.key == 4).map(|node| node.depth);
            assert_eq!(depth, Some(1), "{fillers} others");
        }
    }
}
