//! Fills blocks like Bitcoin Core's miner up to v30: with whole packages of a transaction and its unconfirmed
//! ancestors, highest feerate first.
//!
//! A candidate is ranked by the lower of its own feerate and that of its package; of equal ones the lower txid goes
//! first. A package that does not fit is skipped until one of its ancestors is taken; after 1 000 failures in a row
//! an almost full block is closed. Sizes are adjusted for signature operations, weights are not.
//!
//! Since v31 Core selects chunks (see the `chunks` module). Both agree unless a transaction has several unconfirmed
//! children that pay for it only together.

use std::{cmp::Ordering, collections::BinaryHeap};

use cairn_model::Sats;

use super::{Template, graph::Graph};
use crate::FeeRate;

/// Failures in a row after which an almost full block is closed.
pub(super) const MAX_FAILURES: u32 = 1_000;
/// A block is almost full when less weight than this is left.
pub(super) const ALMOST_FULL: u64 = 4_000;
/// A transaction with more relatives upwards than this (itself counted) does not count as a package with them: it
/// becomes a candidate when its parents are in. It bounds the work; nodes allow 25 or 64.
const MAX_PACKAGE: usize = 256;
/// Not in any of the blocks.
pub(super) const NO_BLOCK: u8 = u8::MAX;

#[derive(Debug, Default)]
pub(super) struct Filled {
    /// In an order valid in a block.
    pub(super) txs: Vec<u32>,
    pub(super) weight: u64,
    pub(super) sigops: u64,
    pub(super) fees: Sats,
}

#[derive(Debug)]
pub(super) struct Selected {
    pub(super) blocks: Vec<Filled>,
    /// For each transaction the index of its block, or [`NO_BLOCK`].
    pub(super) block_of: Vec<u8>,
    /// The feerate at which it was or would be selected: that of its package.
    pub(super) rate: Vec<FeeRate>,
}

/// A candidate in the queue. It is stale if its transaction has moved on.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    fee: Sats,
    vsize: u64,
    index: u32,
    version: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (u128::from(self.fee) * u128::from(other.vsize), u128::from(other.fee) * u128::from(self.vsize));
        // The greatest is taken first: of equal ones, the lowest number, which is the lowest txid.
        a.cmp(&b).then(other.index.cmp(&self.index)).then(self.version.cmp(&other.version))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// A transaction with its ancestors that are not in a block yet.
#[derive(Clone, Copy, Debug)]
struct Bundle {
    fee: Sats,
    vsize: u64,
    sigops: u64,
    count: u32,
    version: u32,
    /// For a transaction with too many ancestors: number of parents that are not in a block yet.
    waits_for: u32,
    deep: bool,
}

/// Walks over the graph without visiting twice.
#[derive(Debug)]
struct Walker {
    marks: Vec<u32>,
    mark: u32,
    queue: Vec<u32>,
}

impl Walker {
    fn new(count: usize) -> Self {
        Walker { marks: vec![0; count], mark: 0, queue: Vec::new() }
    }

    fn start(&mut self, index: u32) {
        if self.mark == u32::MAX {
            self.marks.fill(0);
            self.mark = 0;
        }
        self.mark += 1;
        self.queue.clear();
        self.visit(index);
    }

    fn visit(&mut self, index: u32) {
        if let Some(mark) = self.marks.get_mut(index as usize)
            && *mark != self.mark
        {
            *mark = self.mark;
            self.queue.push(index);
        }
    }
}

struct Selector<'a> {
    graph: &'a Graph,
    template: Template,
    bundles: Vec<Bundle>,
    block_of: Vec<u8>,
    rate: Vec<FeeRate>,
    heap: BinaryHeap<Candidate>,
    walker: Walker,
}

impl<'a> Selector<'a> {
    fn new(graph: &'a Graph, template: Template) -> Self {
        let count = graph.len();
        let mut selector = Selector {
            graph,
            template,
            bundles: Vec::with_capacity(count),
            block_of: vec![NO_BLOCK; count],
            rate: vec![FeeRate(0); count],
            heap: BinaryHeap::new(),
            walker: Walker::new(count),
        };
        for index in 0..count {
            let bundle = selector.bundle(index as u32);
            selector.bundles.push(bundle);
        }
        let ready = (0..count as u32).filter(|index| selector.bundles[*index as usize].waits_for == 0);
        selector.heap = ready.map(|index| selector.candidate(index)).collect::<Vec<_>>().into();
        selector
    }

    fn own(&self, index: u32) -> Bundle {
        let at = index as usize;
        Bundle {
            fee: self.graph.fee[at],
            vsize: self.graph.vsize[at].into(),
            sigops: self.graph.sigops[at].into(),
            count: 1,
            version: 0,
            waits_for: 0,
            deep: false,
        }
    }

    /// The whole package of a transaction, at the start.
    fn bundle(&mut self, index: u32) -> Bundle {
        let mut bundle = self.own(index);
        let parents = self.graph.parents.of(index);
        if parents.is_empty() {
            return bundle;
        }
        self.walker.start(index);
        let mut at = 0;
        while let Some(next) = self.walker.queue.get(at).copied() {
            at += 1;
            for parent in self.graph.parents.of(next) {
                self.walker.visit(*parent);
            }
            if self.walker.queue.len() > MAX_PACKAGE {
                bundle.deep = true;
                bundle.waits_for = parents.len() as u32;
                return bundle;
            }
        }
        for ancestor in self.walker.queue.iter().skip(1).map(|ancestor| *ancestor as usize) {
            // A package is small, and every fee below 2^51.
            bundle.fee += self.graph.fee[ancestor];
            bundle.vsize += u64::from(self.graph.vsize[ancestor]);
            bundle.sigops += u64::from(self.graph.sigops[ancestor]);
            bundle.count += 1;
        }
        bundle
    }

    /// The lower of the own feerate and that of the package.
    fn score(&self, index: u32) -> (Sats, u64) {
        let bundle = &self.bundles[index as usize];
        let (fee, vsize) = (self.graph.fee[index as usize], u64::from(self.graph.vsize[index as usize]));
        let own_is_higher = u128::from(fee) * u128::from(bundle.vsize) > u128::from(bundle.fee) * u128::from(vsize);
        if own_is_higher { (bundle.fee, bundle.vsize) } else { (fee, vsize) }
    }

    fn candidate(&self, index: u32) -> Candidate {
        let (fee, vsize) = self.score(index);
        Candidate { fee, vsize, index, version: self.bundles[index as usize].version }
    }

    fn is_taken(&self, index: u32) -> bool {
        self.block_of[index as usize] != NO_BLOCK
    }

    fn is_current(&self, candidate: &Candidate) -> bool {
        !self.is_taken(candidate.index) && self.bundles[candidate.index as usize].version == candidate.version
    }

    /// Fills one block from the remaining transactions.
    fn fill(&mut self, number: u8) -> Filled {
        let template = self.template;
        let mut block =
            Filled { weight: template.reserved_weight, sigops: template.reserved_sigops, ..Filled::default() };
        let mut passed_over = Vec::new();
        let mut failures = 0;
        while let Some(candidate) = self.heap.pop() {
            if !self.is_current(&candidate) {
                continue;
            }
            let bundle = self.bundles[candidate.index as usize];
            if bundle.fee < minimum_fee(template.min_rate, bundle.vsize) {
                passed_over.push(candidate);
                break;
            }
            let weight = block.weight.saturating_add(bundle.vsize * 4);
            let fits = weight < template.max_weight && block.sigops.saturating_add(bundle.sigops) < template.max_sigops;
            if !fits {
                passed_over.push(candidate);
                failures += 1;
                if failures > MAX_FAILURES && block.weight > template.max_weight.saturating_sub(ALMOST_FULL) {
                    break;
                }
                continue;
            }
            failures = 0;
            self.take(candidate.index, number, &mut block);
        }
        // The next block looks at them again, unless they changed and queue already.
        passed_over.retain(|candidate| self.is_current(candidate));
        self.heap.extend(passed_over);
        block.weight -= template.reserved_weight;
        block.sigops -= template.reserved_sigops;
        block
    }

    /// Takes a transaction with its ancestors.
    fn take(&mut self, index: u32, number: u8, block: &mut Filled) {
        let bundle = self.bundles[index as usize];
        let rate = rate_of(bundle.fee, bundle.vsize);
        self.walker.start(index);
        let mut at = 0;
        while let Some(next) = self.walker.queue.get(at).copied() {
            at += 1;
            for parent in self.graph.parents.of(next) {
                if self.block_of[*parent as usize] == NO_BLOCK {
                    self.walker.visit(*parent);
                }
            }
        }
        let mut package = std::mem::take(&mut self.walker.queue);
        // An ancestor has fewer ancestors than its descendants.
        package.sort_unstable_by_key(|index| (self.bundles[*index as usize].count, *index));
        for index in &package {
            let at = *index as usize;
            self.block_of[at] = number;
            self.rate[at] = rate;
            block.txs.push(*index);
            block.weight = block.weight.saturating_add(self.graph.weight[at].into());
            block.sigops = block.sigops.saturating_add(self.graph.sigops[at].into());
            block.fees = block.fees.saturating_add(self.graph.fee[at]);
        }
        self.unburden(&package);
    }

    /// Updates the packages of the descendants of a taken transaction.
    fn unburden(&mut self, package: &[u32]) {
        let mut changed = Vec::new();
        for taken in package {
            let own = self.own(*taken);
            self.walker.start(*taken);
            let mut at = 0;
            while let Some(next) = self.walker.queue.get(at).copied() {
                at += 1;
                for child in self.graph.children.of(next) {
                    // Descendants of a deep one are deep; they wait for parents instead.
                    if !self.bundles[*child as usize].deep {
                        self.walker.visit(*child);
                    }
                }
            }
            for descendant in self.walker.queue.iter().skip(1) {
                let bundle = &mut self.bundles[*descendant as usize];
                bundle.fee -= own.fee;
                bundle.vsize -= own.vsize;
                bundle.sigops -= own.sigops;
                bundle.count -= 1;
                changed.push(*descendant);
            }
            for child in self.graph.children.of(*taken) {
                let bundle = &mut self.bundles[*child as usize];
                if bundle.deep {
                    bundle.waits_for -= 1;
                    if bundle.waits_for == 0 {
                        changed.push(*child);
                    }
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        for index in changed {
            if !self.is_taken(index) {
                let bundle = &mut self.bundles[index as usize];
                bundle.version = bundle.version.wrapping_add(1);
                let candidate = self.candidate(index);
                self.heap.push(candidate);
            }
        }
    }

    fn run(mut self) -> Selected {
        let mut blocks = Vec::new();
        for number in 0..self.template.max_blocks.min(NO_BLOCK - 1) {
            let block = self.fill(number);
            if block.txs.is_empty() {
                break;
            }
            blocks.push(block);
        }
        for index in 0..self.graph.len() as u32 {
            if !self.is_taken(index) {
                let (fee, vsize) = self.score(index);
                self.rate[index as usize] = rate_of(fee, vsize);
            }
        }
        Selected { blocks, block_of: self.block_of, rate: self.rate }
    }
}

/// Minimum fee of a package of this size, rounded up as in Bitcoin Core.
pub(super) fn minimum_fee(rate: FeeRate, vsize: u64) -> Sats {
    let fee = (u128::from(rate.0) * u128::from(vsize)).div_ceil(1000);
    Sats::try_from(fee).unwrap_or(Sats::MAX)
}

pub(super) fn rate_of(fee: Sats, vsize: u64) -> FeeRate {
    FeeRate::of(fee, vsize).unwrap_or(FeeRate(u64::MAX))
}

/// Fills the blocks of a template in order.
pub(super) fn by_ancestors(graph: &Graph, template: &Template) -> Selected {
    Selector::new(graph, *template).run()
}

/// All transactions in the order in which a block without a size limit would take them, each with its feerate at that
/// point. Parents come before children.
pub(super) fn mining_order(graph: &Graph) -> (Vec<u32>, Vec<FeeRate>) {
    let endless = Template {
        selection: super::Selection::AncestorFeerate,
        max_blocks: 1,
        max_weight: u64::MAX,
        reserved_weight: 0,
        max_sigops: u64::MAX,
        reserved_sigops: 0,
        min_rate: FeeRate(0),
    };
    let mut selected = by_ancestors(graph, &endless);
    let order = selected.blocks.pop().map(|block| block.txs).unwrap_or_default();
    (order, selected.rate)
}
