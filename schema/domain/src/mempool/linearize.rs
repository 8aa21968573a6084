//! The best order of a cluster: its chunks, best paying first.
//!
//! A *closed* set of transactions holds the ancestors of each of its members. The first chunk is the closed set of the
//! highest feerate, the second the best of the rest, and so on. Bitcoin Core from v31 on keeps its clusters in that
//! order, up to 64 transactions each; here it is found exactly, by cutting.
//!
//! Give each transaction of a set the weight `fee − feerate of the set × size`: they sum to nothing. Where a closed
//! part weighs more than nothing, the best order mines it before the rest: cut there and go on with both parts. Where
//! none does, the set is a chunk. The closed part of the greatest weight is a minimum cut: let those that pay more than
//! the set's feerate make up, as far as they can, for ancestors that pay less. If fees are left over, they show the
//! part to cut off. If not, the payments show which members are connected, and these are the smallest chunks of that
//! feerate.

use cairn_model::Sats;

/// Maximum number of transactions that are ordered exactly.
pub(super) const MAX_EXACT: usize = 64;

/// A set of the cluster's transactions: bit `i` is transaction number `i`.
pub(super) type Set = u64;

/// The members of a set, ascending.
pub(super) fn members(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (set != 0).then_some(set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(at)
    })
}

/// Working memory, reused for the next cluster.
#[derive(Debug)]
pub(super) struct Linearizer {
    fee: [Sats; MAX_EXACT],
    /// Sizes in weight, all above 0.
    size: [u64; MAX_EXACT],
    /// Ancestors of each, including itself.
    ancestors: [Set; MAX_EXACT],
    /// For those above the feerate the surplus that is not paid yet, for those below the deficit that remains.
    left: [i128; MAX_EXACT],
    /// The transactions that pay for it.
    payers: [Set; MAX_EXACT],
    /// The amount that one pays for the other; valid only for entries in `payers`.
    paid: Vec<[i128; MAX_EXACT]>,
}

/// Result of a cut.
enum Cut {
    /// A closed part that pays more than the whole.
    At(Set),
    /// There is none: the smallest closed parts of the same feerate, in an order valid in a block.
    Chunks(Vec<Set>),
}

impl Linearizer {
    pub(super) fn new() -> Self {
        Linearizer {
            fee: [0; MAX_EXACT],
            size: [1; MAX_EXACT],
            ancestors: [0; MAX_EXACT],
            left: [0; MAX_EXACT],
            payers: [0; MAX_EXACT],
            paid: vec![[0; MAX_EXACT]; MAX_EXACT],
        }
    }

    /// The chunks of a cluster, from the fee, size and ancestors (including itself) of each transaction. Transactions
    /// beyond [`MAX_EXACT`] are left out.
    pub(super) fn chunks(&mut self, txs: impl Iterator<Item = (Sats, u64, Set)>) -> Vec<Set> {
        let mut all: Set = 0;
        for (at, (fee, size, ancestors)) in txs.take(MAX_EXACT).enumerate() {
            (self.fee[at], self.size[at], self.ancestors[at]) = (fee, size.max(1), ancestors);
            all |= 1 << at;
        }
        let mut chunks = Vec::new();
        let mut to_cut = vec![all];
        while let Some(set) = to_cut.pop() {
            if set.count_ones() < 2 {
                chunks.extend((set != 0).then_some(set));
                continue;
            }
            match self.cut(set) {
                Cut::At(first) => to_cut.extend([set & !first, first]),
                Cut::Chunks(smallest) => chunks.extend(smallest),
            }
        }
        chunks
    }

    fn cut(&mut self, set: Set) -> Cut {
        // Fees are below 2^51 and weights below 2^22: these sums and products are far from any limit.
        let fee: i128 = members(set).map(|at| i128::from(self.fee[at])).sum();
        let size: i128 = members(set).map(|at| i128::from(self.size[at])).sum();
        let (mut above, mut below): (Set, Set) = (0, 0);
        for at in members(set) {
            let weight = i128::from(self.fee[at]) * size - fee * i128::from(self.size[at]);
            match weight.signum() {
                1 => above |= 1 << at,
                -1 => below |= 1 << at,
                _ => {}
            }
            self.left[at] = weight.abs();
            self.payers[at] = 0;
        }
        loop {
            let rich = members(above).filter(|at| self.left[*at] > 0).fold(0, |rich, at| rich | 1 << at);
            if rich == 0 {
                return Cut::Chunks(self.smallest(set));
            }
            if let Err(unpayable) = self.pay(set, below, rich) {
                return Cut::At(unpayable);
            }
        }
    }

    /// Pays for one ancestor more, by the shortest way: straight, or by taking over from another payer, who then pays
    /// elsewhere. If there is no way, the error is the set of those that have too much, with all their ancestors.
    fn pay(&mut self, set: Set, below: Set, rich: Set) -> Result<(), Set> {
        // The payer that would pay for each member, and the member from which that payer would be relieved.
        let (mut by, mut relieved) = ([0usize; MAX_EXACT], [0usize; MAX_EXACT]);
        let (mut queued, mut seen): (Set, Set) = (rich, 0);
        let mut queue: Vec<usize> = members(rich).collect();
        let mut at = 0;
        while let Some(payer) = queue.get(at).copied() {
            at += 1;
            let new = self.ancestors[payer] & set & !seen;
            seen |= new;
            for lacking in members(new & below) {
                by[lacking] = payer;
                if self.left[lacking] > 0 {
                    self.settle(lacking, rich, &by, &relieved);
                    return Ok(());
                }
                for other in members(self.payers[lacking] & !queued) {
                    relieved[other] = lacking;
                    queued |= 1 << other;
                    queue.push(other);
                }
            }
        }
        Err(seen)
    }

    /// Moves as much as possible along the path that ends at `lacking`.
    fn settle(&mut self, lacking: usize, rich: Set, by: &[usize; MAX_EXACT], relieved: &[usize; MAX_EXACT]) {
        let is_rich = |payer: usize| rich >> payer & 1 == 1;
        let mut amount = self.left[lacking];
        let mut payer = by[lacking];
        while !is_rich(payer) {
            amount = amount.min(self.paid[payer][relieved[payer]]);
            payer = by[relieved[payer]];
        }
        amount = amount.min(self.left[payer]);
        self.left[payer] -= amount;
        self.left[lacking] -= amount;
        let mut to = lacking;
        loop {
            let payer = by[to];
            if self.payers[to] >> payer & 1 == 0 {
                self.payers[to] |= 1 << payer;
                self.paid[payer][to] = 0;
            }
            self.paid[payer][to] += amount;
            if is_rich(payer) {
                return;
            }
            let from = relieved[payer];
            self.paid[payer][from] -= amount;
            if self.paid[payer][from] == 0 {
                self.payers[from] &= !(1 << payer);
            }
            to = from;
        }
    }

    /// The smallest chunks of a set in which everything is paid for. A member of a closed part of the same feerate
    /// has its ancestors there, and those who pay for it.
    fn smallest(&self, set: Set) -> Vec<Set> {
        let mut needs = [0; MAX_EXACT];
        for at in members(set) {
            needs[at] = (self.ancestors[at] | self.payers[at]) & set;
        }
        for through in members(set) {
            for at in members(set) {
                if needs[at] >> through & 1 == 1 {
                    needs[at] |= needs[through];
                }
            }
        }
        let mut chunks = Vec::new();
        let mut rest = set;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let chunk = members(needs[first]).filter(|at| needs[*at] == needs[first]).fold(0, |all, at| all | 1 << at);
            // `first` needs itself, so this ends in any case.
            rest &= !(chunk | 1 << first);
            chunks.push((needs[first].count_ones(), chunk));
        }
        // Chunks that need more members come later.
        chunks.sort_unstable();
        chunks.into_iter().map(|(_, chunk)| chunk).collect()
    }
}
