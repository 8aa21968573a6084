//! Fills blocks like Bitcoin Core's miner since v31: with whole chunks of linearized clusters, highest feerate first.
//!
//! A cluster is a set of transactions connected through parents and children. Feerates and sizes use weights adjusted
//! for signature operations. Among chunks of equal feerate, the one whose cluster has less weight of that feerate up to
//! and including it goes first; then the one whose greatest txid is lower. Once a chunk does not fit, the block takes
//! no more of its cluster; after 1 000 failures in a row an almost full block is closed. For the next block, the
//! clusters of the remaining transactions are computed again.
//!
//! Core allows clusters of up to 64 transactions and 101 000 virtual bytes. Those of up to 64 are linearized exactly,
//! larger ones (of older nodes) in the order in which ancestor packages would be mined.

use cairn_model::Sats;

use super::{
    Template,
    graph::Graph,
    linearize::{Linearizer, MAX_EXACT, Set, members},
    select::{ALMOST_FULL, Filled, MAX_FAILURES, NO_BLOCK, Selected, minimum_fee, mining_order, rate_of},
};
use crate::FeeRate;

/// Part of a cluster that is mined together.
#[derive(Debug)]
struct Chunk {
    cluster: u32,
    /// Its transactions in the list of all: first one and number.
    start: usize,
    count: usize,
    fee: Sats,
    /// Adjusted weight.
    weight: u64,
    sigops: u64,
    /// Weight of the chunks of the same feerate in its cluster up to this one.
    prefix: u64,
    /// Its greatest transaction number.
    last: u32,
}

/// The two products that compare feerates.
fn crossed(a: &Chunk, b: &Chunk) -> (u128, u128) {
    (u128::from(a.fee) * u128::from(b.weight), u128::from(b.fee) * u128::from(a.weight))
}

/// All chunks, cluster by cluster.
struct Chunker<'a> {
    graph: &'a Graph,
    /// The transactions of all chunks, each chunk in an order that the chain accepts.
    txs: Vec<u32>,
    chunks: Vec<Chunk>,
    linearizer: Linearizer,
    /// Number within its cluster.
    local: Vec<u8>,
}

impl Chunker<'_> {
    fn push(&mut self, cluster: u32, txs: impl IntoIterator<Item = u32>) {
        let start = self.txs.len();
        self.txs.extend(txs);
        let mut chunk = Chunk { cluster, start, count: 0, fee: 0, weight: 0, sigops: 0, prefix: 0, last: 0 };
        for index in &self.txs[start..] {
            let at = *index as usize;
            chunk.count += 1;
            chunk.fee = chunk.fee.saturating_add(self.graph.fee[at]);
            chunk.weight = chunk.weight.saturating_add(self.graph.adjusted_weight(*index));
            chunk.sigops = chunk.sigops.saturating_add(self.graph.sigops[at].into());
            chunk.last = chunk.last.max(*index);
        }
        chunk.prefix = chunk.weight;
        self.chunks.push(chunk);
    }

    /// Computes the prefixes of the chunks from `first` on, which belong to one cluster.
    fn end_cluster(&mut self, first: usize) {
        for at in first + 1..self.chunks.len() {
            let (before, after) = (&self.chunks[at - 1], &self.chunks[at]);
            let (a, b) = crossed(before, after);
            if a == b {
                self.chunks[at].prefix = before.prefix.saturating_add(after.weight);
            }
        }
    }

    fn exact(&mut self, cluster: u32, txs: &[u32]) {
        for (index, local) in txs.iter().zip(0u8..) {
            self.local[*index as usize] = local;
        }
        let mut ancestors: [Set; MAX_EXACT] = [0; MAX_EXACT];
        // Txids say nothing about who is whose parent, so repeat until nothing changes: as often as the longest way
        // back.
        loop {
            let mut changed = false;
            for (at, index) in txs.iter().enumerate() {
                let parents = self.graph.parents.of(*index).iter().map(|parent| self.local[*parent as usize]);
                let all = parents.fold(1 << at, |all, parent| all | ancestors[parent as usize]);
                changed |= all != ancestors[at];
                ancestors[at] = all;
            }
            if !changed {
                break;
            }
        }
        let graph = self.graph;
        let facts = txs
            .iter()
            .zip(ancestors)
            .map(|(index, ancestors)| (graph.fee[*index as usize], graph.adjusted_weight(*index), ancestors));
        let first = self.chunks.len();
        let mut order = Vec::with_capacity(txs.len());
        for chunk in self.linearizer.chunks(facts) {
            order.clear();
            order.extend(members(chunk));
            // An ancestor has fewer ancestors than its descendants.
            order.sort_unstable_by_key(|at| (ancestors[*at].count_ones(), *at));
            self.push(cluster, order.iter().filter_map(|at| txs.get(*at).copied()));
        }
        self.end_cluster(first);
    }

    /// The chunks of a given order: a transaction joins the chunk before it as long as it pays more.
    fn in_order(&mut self, cluster: u32, txs: impl Iterator<Item = u32>) {
        let first = self.chunks.len();
        for index in txs {
            self.push(cluster, [index]);
            while let [.., before, after] = &mut self.chunks[first..] {
                let (a, b) = crossed(before, after);
                if a >= b {
                    break;
                }
                before.count += after.count;
                before.fee = before.fee.saturating_add(after.fee);
                before.weight = before.weight.saturating_add(after.weight);
                before.sigops = before.sigops.saturating_add(after.sigops);
                before.last = before.last.max(after.last);
                before.prefix = before.weight;
                self.chunks.pop();
            }
        }
        self.end_cluster(first);
    }
}

/// The connected parts, each identified by its first transaction.
struct Clusters(Vec<u32>);

impl Clusters {
    fn new(count: usize) -> Self {
        Clusters((0..count as u32).collect())
    }

    fn find(&mut self, mut index: u32) -> u32 {
        loop {
            let up = self.0[index as usize];
            if up == index {
                return index;
            }
            let further = self.0[up as usize];
            self.0[index as usize] = further;
            index = further;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// Recomputes the clusters of the remaining transactions: a cluster may split when a transaction is taken.
fn regroup(graph: &Graph, chunks: &mut [Chunk], txs: &[u32], block_of: &[u8]) {
    let mut clusters = Clusters::new(graph.len());
    for chunk in &*chunks {
        let members = &txs[chunk.start..chunk.start + chunk.count];
        for index in members {
            clusters.join(*index, members[0]);
            for parent in graph.parents.of(*index).iter().filter(|parent| block_of[**parent as usize] == NO_BLOCK) {
                clusters.join(*index, *parent);
            }
        }
    }
    for chunk in chunks {
        chunk.cluster = clusters.find(chunk.last);
    }
}

fn chunks(graph: &Graph) -> (Vec<Chunk>, Vec<u32>) {
    let count = graph.len();
    let mut clusters = Clusters::new(count);
    for index in 0..count as u32 {
        graph.parents.of(index).iter().for_each(|parent| clusters.join(index, *parent));
    }
    let mut chunker = Chunker {
        graph,
        txs: Vec::with_capacity(count),
        chunks: Vec::with_capacity(count),
        linearizer: Linearizer::new(),
        local: vec![0; count],
    };
    let mut related = Vec::new();
    for index in 0..count as u32 {
        if graph.parents.of(index).is_empty() && graph.children.of(index).is_empty() {
            chunker.push(index, [index]);
        } else {
            related.push((clusters.find(index), index));
        }
    }
    related.sort_unstable();
    let mut txs = Vec::new();
    let mut oversized = false;
    for group in related.chunk_by(|a, b| a.0 == b.0) {
        if group.len() > MAX_EXACT {
            oversized = true;
            continue;
        }
        txs.clear();
        txs.extend(group.iter().map(|(_, index)| *index));
        chunker.exact(group[0].0, &txs);
    }
    if oversized {
        let (order, _) = mining_order(graph);
        let mut place = vec![0u32; count];
        for (index, at) in order.iter().zip(0u32..) {
            place[*index as usize] = at;
        }
        for group in related.chunk_by_mut(|a, b| a.0 == b.0).filter(|group| group.len() > MAX_EXACT) {
            group.sort_unstable_by_key(|(_, index)| place[*index as usize]);
            chunker.in_order(group[0].0, group.iter().map(|(_, index)| *index));
        }
    }
    (chunker.chunks, chunker.txs)
}

/// Fills the blocks of a template in order.
pub(super) fn by_chunks(graph: &Graph, template: &Template) -> Selected {
    let (mut chunks, txs) = chunks(graph);
    let mut rate = vec![FeeRate(0); graph.len()];
    for chunk in &chunks {
        let of_chunk = rate_of(chunk.fee, chunk.weight.div_ceil(4));
        for index in &txs[chunk.start..chunk.start + chunk.count] {
            rate[*index as usize] = of_chunk;
        }
    }
    chunks.sort_unstable_by(|a, b| {
        let (of_a, of_b) = crossed(a, b);
        of_b.cmp(&of_a).then(a.prefix.cmp(&b.prefix)).then(a.last.cmp(&b.last))
    });
    let mut block_of = vec![NO_BLOCK; graph.len()];
    // The number of the last block that takes no more of a cluster.
    let mut closed_in = vec![NO_BLOCK; graph.len()];
    let mut blocks = Vec::new();
    for number in 0..template.max_blocks.min(NO_BLOCK - 1) {
        let mut block =
            Filled { weight: template.reserved_weight, sigops: template.reserved_sigops, ..Filled::default() };
        if number > 0 {
            regroup(graph, &mut chunks, &txs, &block_of);
        }
        let mut failures = 0;
        let mut is_closed = false;
        chunks.retain(|chunk| {
            if is_closed || closed_in[chunk.cluster as usize] == number {
                return true;
            }
            if chunk.fee < minimum_fee(template.min_rate, chunk.weight.div_ceil(4)) {
                is_closed = true;
                return true;
            }
            let fits = block.weight.saturating_add(chunk.weight) < template.max_weight
                && block.sigops.saturating_add(chunk.sigops) < template.max_sigops;
            if !fits {
                closed_in[chunk.cluster as usize] = number;
                failures += 1;
                is_closed = failures > MAX_FAILURES && block.weight.saturating_add(ALMOST_FULL) > template.max_weight;
                return true;
            }
            failures = 0;
            for index in &txs[chunk.start..chunk.start + chunk.count] {
                let at = *index as usize;
                block_of[at] = number;
                block.weight = block.weight.saturating_add(graph.weight[at].into());
                block.sigops = block.sigops.saturating_add(graph.sigops[at].into());
                block.fees = block.fees.saturating_add(graph.fee[at]);
                block.txs.push(*index);
            }
            false
        });
        if block.txs.is_empty() {
            break;
        }
        block.weight -= template.reserved_weight;
        block.sigops -= template.reserved_sigops;
        blocks.push(block);
    }
    Selected { blocks, block_of, rate }
}
