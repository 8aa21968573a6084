//! The laws themselves, for any stage.

use std::collections::BTreeSet;

use cairn_stages::{FoldDirection, Merge, Stage};
use cairn_tables::{Family, Table, journal};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::{
    chains::{Named, chains, long_history},
    driver::{Emitted, Tables, apply, bulk, bulk_within, deltas, step_by_step, tip},
    toy::{Toy, ToyOptions},
};

/// Heights at which a chain is cut: the ends, and some between.
fn cuts(chain: &Named, n: usize) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(chain.blocks.len() as u64);
    let between = (0..n).map(|_| rng.random_range(1..chain.blocks.len()));
    let cuts: BTreeSet<usize> = between.chain([0, 1, chain.blocks.len() - 1, chain.blocks.len()]).collect();
    cuts.into_iter().collect()
}

fn all_chains() -> impl Iterator<Item = &'static Named> {
    chains().iter().chain([long_history()])
}

pub(crate) fn nothing_comes_from_nothing(stage: &dyn Stage) {
    let none = deltas(stage, []);
    assert!(none.iter().all(Vec::is_empty));
    let mut tables = Tables::default();
    apply(stage, &[], FoldDirection::Forward, &mut tables).unwrap();
    apply(stage, &[], FoldDirection::Back, &mut tables).unwrap();
    assert_eq!(tables, Tables::default());
    assert_eq!(bulk(stage, &none).unwrap(), Tables::default());
    // And something from something, or the laws below would hold of a stage that does nothing.
    assert!(chains().iter().any(|chain| !tip(stage, &chain.blocks).0.is_empty()));
}

/// a..b and then b..c is a..c.
pub(crate) fn ranges_add_up(stage: &dyn Stage) {
    for chain in all_chains() {
        let cuts = cuts(chain, 6);
        let mut before = Tables::default();
        let mut from = 0;
        for pair in cuts.windows(2) {
            let [b, c] = pair else { continue };
            let mut in_two = before.clone();
            apply(stage, &chain.blocks[from..*b], FoldDirection::Forward, &mut in_two).unwrap();
            let start = in_two.clone();
            apply(stage, &chain.blocks[*b..*c], FoldDirection::Forward, &mut in_two).unwrap();
            let mut at_once = before;
            apply(stage, &chain.blocks[from..*c], FoldDirection::Forward, &mut at_once).unwrap();
            at_once.assert_equal(&in_two, &format!("{}: {from}..{b}..{c}", chain.name));
            (before, from) = (start, *b);
        }
    }
}

pub(crate) fn back_undoes_forward(stage: &dyn Stage) {
    for chain in all_chains() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut before = Tables::default();
        let mut at = 0;
        for cut in cuts(chain, 8) {
            apply(stage, &chain.blocks[at..cut], FoldDirection::Forward, &mut before).unwrap();
            at = cut;
            for depth in [1, 2, 7, 40, 300] {
                let blocks = &chain.blocks[at..(at + depth).min(chain.blocks.len())];
                let mut tables = before.clone();
                // Every way there, every way back.
                if rng.random() {
                    apply(stage, blocks, FoldDirection::Forward, &mut tables).unwrap();
                } else {
                    step_by_step(stage, blocks, FoldDirection::Forward, &mut tables).unwrap();
                }
                if rng.random() {
                    apply(stage, blocks, FoldDirection::Back, &mut tables).unwrap();
                } else {
                    step_by_step(stage, blocks, FoldDirection::Back, &mut tables).unwrap();
                }
                before.assert_equal(&tables, &format!("{}: {depth} blocks on {at} and back", chain.name));
            }
        }
    }
}

pub(crate) fn back_to_nothing(stage: &dyn Stage) {
    for chain in all_chains() {
        let full = tip(stage, &chain.blocks);
        let mut tables = full.clone();
        step_by_step(stage, &chain.blocks, FoldDirection::Back, &mut tables).unwrap();
        tables.assert_equal(&Tables::default(), chain.name);
        let mut tables = full;
        apply(stage, &chain.blocks, FoldDirection::Back, &mut tables).unwrap();
        tables.assert_equal(&Tables::default(), chain.name);
    }
}

/// Blocks are mapped in any order, and on any thread: what comes out does not depend on it.
pub(crate) fn the_order_of_emission_does_not_matter(stage: &dyn Stage) {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for chain in chains() {
        let straight = deltas(stage, &chain.blocks);
        let expected = bulk(stage, &straight).unwrap();
        for _ in 0..4 {
            let mut blocks: Vec<_> = chain.blocks.iter().collect();
            blocks.shuffle(&mut rng);
            let mut shuffled = deltas(stage, blocks);
            let sorted = |lanes: &[Vec<Emitted>]| {
                let mut lanes = lanes.to_vec();
                lanes.iter_mut().for_each(|lane| lane.sort());
                lanes
            };
            assert_eq!(sorted(&shuffled), sorted(&straight), "{}: map remembers other blocks", chain.name);
            shuffled.iter_mut().for_each(|lane| lane.shuffle(&mut rng));
            expected.assert_equal(&bulk(stage, &shuffled).unwrap(), chain.name);
        }
    }
}

pub(crate) fn bulk_equals_tip(stage: &dyn Stage) {
    for chain in all_chains() {
        let deltas = deltas(stage, &chain.blocks);
        let bulk = bulk(stage, &deltas);
        let tip = tip(stage, &chain.blocks);
        bulk.unwrap().assert_equal(&tip, chain.name);
        // Work that does not fit in memory is done in windows, of a transaction each at worst.
        if stage.lanes().iter().any(|lane| lane.merge == Merge::Ordered) {
            for memory in [0, 300, 1_000, 3_000, 10_000] {
                let bulk = bulk_within(stage, &deltas, memory);
                bulk.unwrap().assert_equal(&tip, &format!("{} within {memory} bytes", chain.name));
            }
        }
    }
}

/// Two branches from one block: along the first, back, and along the second ends like the second alone.
pub(crate) fn a_reorg_ends_like_the_straight_way(stage: &dyn Stage) {
    for depth in [1, 3, 30] {
        let options = ToyOptions { scripts: 6, overwrites: true, rich: true, ..ToyOptions::default() };
        let (ours, theirs) = Toy::branches(60, depth, &options);
        let fork = ours.len() - depth;
        assert_eq!(ours[..fork], theirs[..fork]);
        assert_ne!(ours[fork], theirs[fork]);
        let mut tables = tip(stage, &ours);
        step_by_step(stage, &ours[fork..], FoldDirection::Back, &mut tables).unwrap();
        step_by_step(stage, &theirs[fork..], FoldDirection::Forward, &mut tables).unwrap();
        tables.assert_equal(&tip(stage, &theirs), &format!("depth {depth}"));
    }
}

macro_rules! is_row {
    ($($file:ident: $($table:ident),+;)*) => {
        /// Whether a row is one of the table of that name.
        fn is_row(table: &str, key: &[u8], value: &[u8]) -> bool {
            fn is_row_of<T: Table>(key: &[u8], value: &[u8]) -> bool {
                T::decode_key(key).is_ok() && T::decode_value(value).is_ok()
            }
            match table {
                $($(name if name == cairn_tables::$file::$table::NAME => {
                    is_row_of::<cairn_tables::$file::$table>(key, value)
                })+)*
                other => panic!("table {other} is not known here"),
            }
        }
    };
}

cairn_tables::for_each_table!(is_row);

pub(crate) fn rows_are_of_its_own_tables(stage: &dyn Stage) {
    let mut seen = BTreeSet::new();
    for chain in all_chains() {
        for ((family, key), value) in &tip(stage, &chain.blocks).0 {
            let of_family = stage.tables().iter().filter(|t| t.family == *family);
            let mut tables = of_family.filter(|t| t.tag.is_none_or(|tag| key.first() == Some(&tag)));
            let table = tables.next().unwrap_or_else(|| panic!("a row of {} in no table of the stage", family.name()));
            assert!(tables.next().is_none());
            assert!(is_row(table.name, key, value), "{}: {}: {key:02x?} {value:02x?}", chain.name, table.name);
            seen.insert(table.name);
        }
    }
    // Every table gets rows from some chain. The resolver writes `collisions`, no stage does.
    let unseen = stage.tables().iter().filter(|t| !seen.contains(t.name)).map(|t| t.name);
    assert_eq!(unseen.filter(|name| *name != journal::Collisions::NAME).collect::<Vec<_>>(), Vec::<&str>::new());
    let declared: BTreeSet<Family> = stage.lanes().iter().flat_map(|lane| lane.families).copied().collect();
    let owned: BTreeSet<Family> = stage.tables().iter().map(|t| t.family).collect();
    assert_eq!(declared, owned);
}
