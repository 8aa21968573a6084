//! The chain before a transaction, as a listener reads it from tables, matches the blocks; also while the tables have
//! later blocks already.

use cairn_model::TxNum;
use cairn_stages::{Past, PastBefore, ScriptBefore};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    chains::{NaivePast, chains, known_of, long_history},
    driver::{Tables, stage, step_by_step},
};

#[test]
fn the_past_in_the_tables_is_that_of_the_blocks() {
    let scripts = stage("scripts");
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut held, mut since_then) = (0, 0);
    for chain in chains().iter().chain([long_history()]) {
        let known = known_of(&chain.blocks[0]);
        let mut tables = Tables::default();
        let mut at = 0;
        while at < chain.blocks.len() {
            let next = (at + rng.random_range(1..20)).min(chain.blocks.len());
            step_by_step(&*scripts, &chain.blocks[at..next], cairn_stages::FoldDirection::Forward, &mut tables)
                .unwrap();
            at = next;
            let end = chain.blocks.get(at).map_or(u64::MAX, |block| block.first_tx.0);
            for (id, entries) in known.scripts() {
                for _ in 0..4 {
                    // At the ends of its entries mostly, where it matters.
                    let near = |rng: &mut ChaCha8Rng| {
                        let entry = entries[rng.random_range(0..entries.len())].tx_num.0;
                        TxNum((entry + rng.random_range(0..2)).min(end))
                    };
                    let (before, since) = (near(&mut rng), near(&mut rng));
                    let expected = NaivePast { known: &known, before }.script(*id, since).unwrap();
                    let found = PastBefore { prior: &tables, before }.script(*id, since).unwrap();
                    assert_eq!(found, expected, "{}: {id:?} before {before:?} since {since:?}", chain.name);
                    let (quiet, expected) = (
                        PastBefore { prior: &tables, before }.quiet_since(*id).unwrap(),
                        NaivePast { known: &known, before }.quiet_since(*id).unwrap(),
                    );
                    assert_eq!(quiet, expected, "{}: {id:?} before {before:?}", chain.name);
                    held += u32::from(found.balance > 0);
                    since_then += u32::from(found.since.any());
                }
            }
        }
        let nobody = cairn_model::ScriptId { prefix: cairn_model::ScriptPrefix([0xfe; 8]), ordinal: 0 };
        let none = PastBefore { prior: &tables, before: TxNum(u64::MAX) }.script(nobody, TxNum(0)).unwrap();
        assert_eq!(none, ScriptBefore::default());
    }
    assert!(held > 1_000 && since_then > 1_000, "{held}, {since_then}");
}

#[test]
fn a_damaged_history_is_an_error() {
    let scripts = stage("scripts");
    let blocks = &long_history().blocks;
    let mut tables = Tables::default();
    step_by_step(&*scripts, blocks, cairn_stages::FoldDirection::Forward, &mut tables).unwrap();
    let known = known_of(&blocks[0]);
    let (id, entries) = known.scripts().max_by_key(|(_, entries)| entries.len()).unwrap();
    // Well before the end, so that older rows are read.
    let (before, since) = (entries[entries.len() / 2].tx_num, entries[0].tx_num);
    assert!(PastBefore { prior: &tables, before }.script(*id, since).is_ok());
    let rows: Vec<_> = tables.0.keys().cloned().collect();
    let mut errors = 0;
    for row in rows {
        let mut damaged = tables.clone();
        damaged.0.remove(&row);
        let found = PastBefore { prior: &damaged, before }.script(*id, since);
        errors += u32::from(found.is_err());
    }
    // The index and the rows that it leads to; a script without totals has no past.
    assert!(errors > 10, "{errors}");
}
