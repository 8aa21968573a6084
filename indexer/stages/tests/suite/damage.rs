//! Tables and blocks that contradict each other or are damaged: errors, never a panic, never silence about coins.

use cairn_model::{Block, TxNum};
use cairn_stages::{FoldDirection, Merge, Stage, StageError};
use cairn_tables::Family;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    chains::chains,
    driver::{Tables, apply, bulk, deltas, fold, step_by_step, tip},
};

fn folds(stage: &dyn Stage) -> bool {
    stage.lanes().iter().any(|lane| matches!(lane.merge, Merge::Fold | Merge::Coin { .. }))
}

/// The last block that spends something, and those before it.
fn last_spending(blocks: &[Block]) -> (&[Block], &Block) {
    last(blocks, |block| !block.inputs.is_empty())
}

fn last(blocks: &[Block], wanted: impl Fn(&Block) -> bool) -> (&[Block], &Block) {
    let at = blocks.iter().rposition(wanted).expect("a block of that kind");
    (&blocks[..at], &blocks[at])
}

/// A block taken back that is not the newest, or not there. The coins stage reads nothing at the tip (the resolver has
/// looked up every coin), so it sees only what contradicts itself within one fold.
pub(crate) fn contradictions_are_errors(stage: &dyn Stage) {
    if !folds(stage) {
        return;
    }
    for chain in chains() {
        let (before, block) = match stage.name() {
            // A block that only moves balances can be taken back twice, if there is enough.
            "clusters" => last(&chain.blocks, |block| !deltas(stage, [block])[0].is_empty()),
            _ => last_spending(&chain.blocks),
        };
        let one = std::slice::from_ref(block);
        let mut tables = tip(stage, before);
        apply(stage, one, FoldDirection::Forward, &mut tables).unwrap();
        let after = tables.clone();
        let refused = |result: Result<(), StageError>, tables: &Tables, what: &str| {
            assert!(result.is_err(), "{}: {what}", chain.name);
            tables.assert_equal(&after, what);
        };
        let mut twice = deltas(stage, one);
        twice.iter_mut().for_each(|lane| lane.extend_from_within(..));
        let result = fold(stage, &twice, FoldDirection::Back, &mut tables);
        refused(result, &tables, "taken back twice at once");
        if stage.name() == "coins" {
            continue;
        }
        apply(stage, one, FoldDirection::Back, &mut tables).unwrap();
        let result = apply(stage, one, FoldDirection::Back, &mut tables.clone());
        assert!(result.is_err(), "{}: taken back twice", chain.name);
        let result = apply(stage, one, FoldDirection::Back, &mut Tables::default());
        assert!(result.is_err(), "{}: taken back from nothing", chain.name);
    }
}

/// Blocks that spend what is spent already, or what was never made.
pub(crate) fn wrong_blocks_are_errors(stage: &dyn Stage) {
    // The others know nothing of outpoints.
    if !["spends", "coins"].contains(&stage.name()) {
        return;
    }
    let is_error = |before: &[Block], last: &[&Block]| {
        let deltas = deltas(stage, before.iter().chain(last.iter().copied()));
        bulk(stage, &deltas).is_err()
    };
    for chain in chains() {
        let (before, block) = last_spending(&chain.blocks);
        assert!(!is_error(before, &[block]));
        assert!(is_error(before, &[block, block]), "{}: spent twice", chain.name);
        // A coin that is made later than it is spent, as damaged rows of the journal could say.
        let mut later = block.clone();
        later.inputs[0].outpoint.tx_num = TxNum(block.first_tx.0 + 1_000);
        assert!(is_error(before, &[&later]), "{}: spent before it was made", chain.name);
        // A coin that is spent as another than it was made; only the coins stage knows what it is.
        let mut other = block.clone();
        other.inputs[0].value += 1;
        assert_eq!(is_error(before, &[&other]), stage.name() == "coins", "{}: spent as another", chain.name);
    }
}

/// Changes a value: other bytes, fewer, more, or another row's.
fn damage(rng: &mut ChaCha8Rng, tables: &mut Tables, row: &(Family, Vec<u8>), donor: Vec<u8>) {
    let value = tables.0.get_mut(row).unwrap();
    match rng.random_range(0..5) {
        0 => value.truncate(rng.random_range(0..=value.len())),
        1 => value.push(rng.random()),
        2 => *value = donor,
        3 if !value.is_empty() => {
            let at = rng.random_range(0..value.len());
            value[at] = [0, 1, 0x7f, 0x80, 0xff][rng.random_range(0..5)];
        }
        _ => {
            tables.0.remove(row);
        }
    }
}

/// Whatever the rows say, a fold ends with an error or with rows: no panic.
pub(crate) fn damaged_rows_are_errors(stage: &dyn Stage) {
    let mut errors = 0;
    for chain in chains() {
        let cut = chain.blocks.len() - 3;
        let full = tip(stage, &chain.blocks[..cut]);
        let rows: Vec<_> = full.0.keys().collect();
        if rows.is_empty() {
            continue;
        }
        // Only rows that the blocks around touch matter; among many scripts that is one in some dozens.
        for seed in 0..1_500u64 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let row = rows[rng.random_range(0..rows.len())];
            let others: Vec<_> = rows.iter().filter(|other| other.0 == row.0).collect();
            let donor = full.0[*others[rng.random_range(0..others.len())]].clone();
            let mut tables = full.clone();
            damage(&mut rng, &mut tables, row, donor);
            let result = match rng.random_range(0..3) {
                0 => apply(stage, &chain.blocks[cut..], FoldDirection::Forward, &mut tables),
                1 => apply(stage, &chain.blocks[cut - 5..cut], FoldDirection::Back, &mut tables),
                _ => step_by_step(stage, &chain.blocks[cut - 5..cut], FoldDirection::Back, &mut tables),
            };
            errors += u32::from(result.is_err());
        }
    }
    // Stages that look at what is there find some of it.
    let reads = ["spends", "scripts", "clusters"].contains(&stage.name());
    assert!(!reads || errors > 20, "{errors} damaged rows were found");
}
