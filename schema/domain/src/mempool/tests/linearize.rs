//! Chunks of a cluster against all its closed subsets.

use proptest::{collection::vec, prelude::*};

use crate::mempool::linearize::{Linearizer, MAX_EXACT, Set, members};

/// Fee, size and ancestors with itself.
pub(super) type Tx = (u64, u64, Set);

/// Fees, sizes and parents as numbers that may point anywhere before.
type Raw = Vec<(u64, u64, Vec<prop::sample::Index>)>;

fn cluster(raw: &Raw) -> Vec<Tx> {
    let mut txs: Vec<Tx> = Vec::new();
    for (at, (fee, size, parents)) in raw.iter().enumerate() {
        let parents = parents.iter().filter(|_| at > 0).map(|parent| txs[parent.index(at)].2);
        let ancestors = parents.fold(1 << at, |all, more| all | more);
        txs.push((*fee, *size, ancestors));
    }
    txs
}

fn raw(size: impl Into<prop::collection::SizeRange>, parents: usize) -> impl Strategy<Value = Raw> {
    // Few fees and sizes, so that there are ties, or any, so that there are none.
    let fee = prop_oneof![0u64..4, 0u64..1_000, 0u64..2_100_000_000_000_000];
    let weight = prop_oneof![Just(4u64), 1u64..5, 240u64..404_000];
    vec((fee, weight, vec(any::<prop::sample::Index>(), 0..=parents)), size)
}

fn sums(txs: &[Tx], set: Set) -> (u128, u128) {
    let sum = |of: fn(&Tx) -> u64| members(set).map(|at| u128::from(of(&txs[at]))).sum();
    (sum(|tx| tx.0), sum(|tx| tx.1))
}

fn is_closed(txs: &[Tx], set: Set, rest: Set) -> bool {
    members(set).all(|at| txs[at].2 & rest & !set == 0)
}

fn better(txs: &[Tx], a: Set, b: Set) -> std::cmp::Ordering {
    let ((fee_a, size_a), (fee_b, size_b)) = (sums(txs, a), sums(txs, b));
    (fee_a * size_b).cmp(&(fee_b * size_a))
}

/// Panics unless these are the chunks: each the smallest of the best closed subsets of the rest.
pub(super) fn assert_best(txs: &[Tx], chunks: &[Set]) {
    let mut rest: Set = (1 << txs.len()) - 1;
    for chunk in chunks {
        assert!(*chunk != 0 && chunk & !rest == 0 && is_closed(txs, *chunk, rest));
        for other in (1..1 << txs.len()).filter(|set| set & !rest == 0 && is_closed(txs, *set, rest)) {
            let order = better(txs, other, *chunk);
            assert!(order.is_le(), "{other:b} pays better than {chunk:b}");
            assert!(order.is_lt() || other & !chunk != 0 || other == *chunk, "{chunk:b} falls apart");
        }
        rest &= !chunk;
    }
    assert_eq!(rest, 0);
}

/// Fees at every size, by the order of these sets taken whole: corners only, so compare where one has a corner.
fn fee_at(txs: &[Tx], chunks: &[Set], size: u128) -> (u128, u128) {
    let (mut fees, mut sizes) = (0, 0);
    for chunk in chunks {
        let (fee, more) = sums(txs, *chunk);
        if sizes + more >= size {
            // Times `more`, so that it stays whole.
            return (fees * more + fee * (size - sizes), more);
        }
        (fees, sizes) = (fees + fee, sizes + more);
    }
    (fees, 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn chunks_are_the_best_of_all_subsets(raw in raw(1..10, 3)) {
        let txs = cluster(&raw);
        // The room is used again; nothing may be left over in it.
        let mut linearizer = Linearizer::new();
        linearizer.chunks([(9, 1, 1), (0, 7, 3), (50, 2, 7)].into_iter());
        assert_best(&txs, &linearizer.chunks(txs.iter().copied()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn large_clusters_are_in_order_and_no_worse_than_greedy(raw in raw(40..=MAX_EXACT, 5)) {
        let txs = cluster(&raw);
        let chunks = Linearizer::new().chunks(txs.iter().copied());
        let mut done: Set = 0;
        for chunk in &chunks {
            prop_assert!(*chunk != 0 && chunk & done == 0);
            done |= chunk;
            prop_assert!(members(*chunk).all(|at| txs[at].2 & !done == 0), "ancestors come first");
        }
        prop_assert_eq!(done.count_ones() as usize, txs.len());
        prop_assert!(chunks.windows(2).all(|pair| better(&txs, pair[0], pair[1]).is_ge()));
        // Greedy: always the ancestor package that pays best.
        let (mut greedy, mut taken): (Vec<Set>, Set) = (Vec::new(), 0);
        while taken != done {
            let packages = members(done & !taken).map(|at| txs[at].2 & !taken);
            let best = packages.reduce(|a, b| if better(&txs, b, a).is_gt() { b } else { a }).unwrap();
            taken |= best;
            greedy.push(best);
        }
        let mut size = 0;
        for package in &greedy {
            size += sums(&txs, *package).1;
            let ((ours, a), (theirs, b)) = (fee_at(&txs, &chunks, size), fee_at(&txs, &greedy, size));
            prop_assert!(ours * b >= theirs * a);
        }
    }
}

#[test]
fn what_does_not_fit_in_a_set_is_left_out() {
    assert_eq!(Linearizer::new().chunks(std::iter::empty()), Vec::<u64>::new());
    let many = (0..MAX_EXACT + 3).map(|at| (at as u64, 1, 1u64.checked_shl(at as u32).unwrap_or(0)));
    let chunks = Linearizer::new().chunks(many);
    assert_eq!(chunks, (0..MAX_EXACT).rev().map(|at| 1 << at).collect::<Vec<Set>>());
}

#[test]
fn extreme_amounts_overflow_nothing() {
    let rich = 21_000_000 * 100_000_000;
    // Half of them pay everything, and each needs all of those that pay nothing.
    let needs: Set = u64::MAX >> 32;
    let txs =
        (0..MAX_EXACT).map(|at| if at < 32 { (0, 4_000_000, 1 << at) } else { (rich, 4_000_000, needs | 1 << at) });
    assert_eq!(Linearizer::new().chunks(txs), [u64::MAX]);
}
