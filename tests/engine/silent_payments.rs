//! Tweaks of silent payments are those that another implementation computes from the whole blocks, whatever happened
//! to the chain meanwhile.

use std::{collections::HashMap, path::Path, sync::Arc};

use bdk_sp::receive::compute_tweak_data;
use bitcoin::{Block, OutPoint, TxOut, hashes::Hash};
use cairn_model::{BlockHash, Height};
use cairn_pipeline::{
    Driver, Engine, NoProgress, Repaired, WholeBlocks,
    verify::{RawCheck, Repair, audit_folder},
};
use cairn_tables::tweaks::{StoredTweak, TweakHead, Tweaks};
use cairn_testkit::temp_dir;
use cairn_writer::{WriteError, Writer};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    damaged::{copy, mend},
    late_hoards::Hoards,
    support::*,
};

/// A chain in which everything occurs, without its genesis block.
fn everything(seed: u64) -> Vec<Block> {
    small_chain(seed).active().into_iter().skip(1).map(|mined| mined.block.clone()).collect()
}

/// The tweaks of each block, by the crate `bdk_sp`.
fn expected(blocks: &[Block]) -> Vec<Vec<StoredTweak>> {
    let mut coins: HashMap<OutPoint, TxOut> = HashMap::new();
    let mut of_block = |block: &Block| {
        let mut tweaks = Vec::new();
        for (index, tx) in (0..).zip(&block.txdata) {
            let spent = tx.input.iter().filter_map(|input| coins.remove(&input.previous_output));
            let spent: Vec<TxOut> = spent.collect();
            let txid = tx.compute_txid();
            coins.extend((0..).zip(&tx.output).map(|(vout, output)| (OutPoint { txid, vout }, output.clone())));
            let taproot: Vec<&TxOut> = tx.output.iter().filter(|output| output.script_pubkey.is_p2tr()).collect();
            // The crate leaves these rules to its callers.
            let version = |output: &TxOut| output.script_pubkey.witness_version().map_or(0, |version| version.to_num());
            if tx.is_coinbase() || taproot.is_empty() || spent.iter().any(|output| version(output) > 1) {
                continue;
            }
            let Ok(tweak) = compute_tweak_data(tx, &spent) else { continue };
            let prefix = |output: &&TxOut| output.script_pubkey.as_bytes()[2..10].try_into().unwrap();
            tweaks.push(StoredTweak {
                index,
                tweak: tweak.serialize(),
                largest: taproot.iter().map(|output| output.value.to_sat()).max().unwrap(),
                outputs: taproot.iter().map(prefix).collect(),
            });
        }
        tweaks
    };
    blocks.iter().map(&mut of_block).collect()
}

fn follow(index: &mut Index) -> bool {
    index.engine.set_silent_payments(true);
    index.engine.follow_silent_payments(&NoProgress, true).unwrap()
}

/// Fails unless the index has the tweaks of the first of these blocks, as many as it has. Gives their number.
fn assert_tweaks(index: &Index, blocks: &[Block], what: &str) -> usize {
    index.view(|view| {
        let silent = view.silent_payments();
        let tip = view.tip();
        let span = silent.span().unwrap().expect("tweaks");
        assert_eq!((span.first, span.height, span.hash), (0, tip.height, tip.hash), "{what}");
        assert_eq!(silent.stored_head().unwrap(), Some(span), "{what}");
        let expected = expected(&blocks[..=tip.height as usize]);
        for (height, expected) in (0..).zip(&expected) {
            let found = silent.block(height).unwrap().unwrap_or_else(|| panic!("{what}: no row of block {height}"));
            assert_eq!(&found.tweaks, expected, "{what}, block {height}");
        }
        let rows = view.scan::<Tweaks>(None).unwrap().count();
        assert_eq!(rows, expected.len(), "{what}: rows of blocks that are gone");
        expected.iter().map(Vec::len).sum()
    })
}

#[test]
fn tweaks_are_those_of_another_implementation() {
    let mut count = 0;
    for seed in 0..if long() { 30 } else { 3 } {
        let (making, blocks) = (Hoards::of(&everything(seed)), temp_dir());
        making.forge.write(blocks.path());
        let mut index = Index::of(blocks.path(), Driver::Bulk);
        index.view(|view| assert_eq!(view.silent_payments().span().unwrap(), None));
        index.engine.follow_up(&NoProgress, true).unwrap();
        index.view(|view| assert_eq!(view.silent_payments().span().unwrap(), None, "nobody asked for them"));
        assert!(follow(&mut index));
        assert!(!follow(&mut index), "there is nothing to follow");
        count += assert_tweaks(&index, &making.forge.blocks, &format!("seed {seed}"));
        index.assert_sound();
    }
    println!("{count} tweaks");
    assert!(count > 100, "{count} tweaks are too few");
}

/// The first blocks of a chain, and others after them.
fn branch(base: &[Block], common: usize, more: u32, tag: u32) -> Hoards {
    let mut branch = Hoards::of(&base[..common]);
    branch.hoard(more, tag, 0);
    branch
}

fn any_order(seed: u64, blocks: &Path) -> usize {
    let (rng, base) = (&mut ChaCha8Rng::seed_from_u64(seed), everything(seed));
    let (mut making, mut found) = (Hoards::of(&base[..90]), 0);
    making.forge.write(blocks);
    let mut index = Index::of(blocks, [Driver::Bulk, Driver::Tip][seed as usize % 2]);
    for step in 0..16u32 {
        let length = making.forge.blocks.len() - 1;
        match rng.random_range(0..5) {
            // Along the chain, or back to it.
            0 | 1 => making = Hoards::of(&base[..(length + rng.random_range(1..12)).min(base.len())]),
            2 => {
                let common = length.min(base.len()) - rng.random_range(1..9);
                let more = (length - common) as u32 + rng.random_range(1..3);
                making = branch(&base, common, more, step);
            }
            3 => {
                let to = index.height().unwrap() - rng.random_range(1..20);
                index.engine.unwind(to, &NoProgress).unwrap();
            }
            _ => {
                // Written, and lost: nothing was flushed.
                follow(&mut index);
                index = index.reopened();
            }
        }
        making.forge.write(blocks);
        if rng.random_bool(0.7) {
            index.sync(blocks, Driver::Auto);
        }
        let is_on_it = index.engine.tip().unwrap().is_some_and(|(height, hash)| {
            making.forge.blocks.get(height as usize).is_some_and(|of| of.block_hash().to_byte_array() == hash.0)
        });
        if is_on_it && rng.random_bool(0.7) {
            follow(&mut index);
            found += assert_tweaks(&index, &making.forge.blocks, &format!("seed {seed}, step {step}"));
            if rng.random_bool(0.7) {
                index.engine.settle().unwrap();
            }
        }
    }
    index.sync(blocks, Driver::Auto);
    follow(&mut index);
    index.assert_sound();
    found + assert_tweaks(&index, &making.forge.blocks, &format!("seed {seed}, at the end"))
}

#[test]
fn reorganizations_and_kills_change_nothing() {
    let count: usize = (0..if long() { 40 } else { 4 }).map(|seed| any_order(seed, temp_dir().path())).sum();
    println!("{count} tweaks");
    assert!(count > 100, "{count} tweaks are too few");
}

#[test]
fn cut_short_they_are_finished_later() {
    let (making, blocks) = (Hoards::of(&everything(7)), temp_dir());
    making.forge.write(blocks.path());
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    index.engine.set_silent_payments(true);
    assert!(is_cut(|| index.engine.follow_silent_payments(&Cut::stop(0), true)));
    follow(&mut index);
    assert_tweaks(&index, &making.forge.blocks, "after a cut");
}

/// Blocks by their hashes.
struct Given(HashMap<BlockHash, Vec<u8>>);

impl WholeBlocks for Given {
    fn block(&self, hash: &BlockHash) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(hash).cloned())
    }
}

#[test]
fn blocks_that_no_file_has_come_from_elsewhere() {
    let (making, blocks) = (Hoards::of(&everything(8)), temp_dir());
    making.forge.write(blocks.path());
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    std::fs::remove_dir_all(blocks.path()).unwrap();
    assert!(!follow(&mut index), "no block can be had");
    index.view(|view| assert_eq!(view.silent_payments().span().unwrap(), None));
    // An engine rests for some blocks after it could not go on.
    let mut index = index.reopened();
    let bytes = |block: &Block| (BlockHash(block.block_hash().to_byte_array()), bitcoin::consensus::serialize(block));
    let mut given: HashMap<_, _> = making.forge.blocks.iter().map(bytes).collect();
    let hole = 100;
    let hash = BlockHash(making.forge.blocks[hole].block_hash().to_byte_array());
    let missing = given.insert(hash, b"something else".to_vec()).unwrap();
    index.engine.set_whole_blocks(Arc::new(Given(given.clone())));
    assert!(follow(&mut index));
    let height = index.view(|view| view.silent_payments().span().unwrap().expect("tweaks").height);
    assert_eq!(height, hole as Height - 1, "as far as blocks can be had");
    let mut index = index.reopened();
    given.insert(hash, missing);
    index.engine.set_whole_blocks(Arc::new(Given(given)));
    assert!(follow(&mut index));
    assert_tweaks(&index, &making.forge.blocks, "from elsewhere");
}

#[test]
fn changed_rows_are_found_and_removed() {
    let (making, blocks) = (Hoards::of(&everything(9)), temp_dir());
    making.forge.write(blocks.path());
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    index.engine.follow_late(&NoProgress).unwrap();
    follow(&mut index);
    index.engine.settle().unwrap();
    let rows: Vec<_> = index.view(|view| view.scan::<Tweaks>(None).unwrap().map(Result::unwrap).collect());
    let (height, row) = rows.into_iter().rev().find(|(_, row)| !row.tweaks.is_empty()).expect("a block with tweaks");
    let Index { engine, dir: original } = index;
    drop(engine);
    let (mut other, mut lacks) = (row.clone(), row.clone());
    other.tweaks[0].largest += 1;
    lacks.tweaks.pop();
    for changed in [Some(other), Some(lacks), None] {
        let dir = copy(original.path());
        let writer = Writer::open(&dir.path().join("index")).unwrap();
        writer
            .commit::<WriteError>(|batch| {
                match &changed {
                    Some(row) => batch.put_row::<Tweaks>(&height, row),
                    None => batch.delete_row::<Tweaks>(&height),
                }
                Ok(())
            })
            .unwrap();
        writer.flush().unwrap();
        drop(writer);
        let (_, audit) = audit_folder(&dir.path().join("index"), RawCheck::All, &NoProgress).unwrap();
        let found: Vec<_> = audit.damages.iter().map(|damage| (damage.place.as_str(), damage.repair)).collect();
        assert_eq!(found, [("tweaks", Repair::Tweaks)], "{audit:#?}");
        // The sample that a repair looks at has the tip only.
        if changed.is_some() {
            continue;
        }
        assert!(matches!(mend(dir.path(), blocks.path()), Repaired::Whole(done) if done.len() == 1));
        let mut index = Index { engine: Engine::open(dir.path(), &facts(blocks.path())).unwrap(), dir };
        index.view(|view| assert_eq!(view.get::<TweakHead>(&()).unwrap(), None, "removed"));
        follow(&mut index);
        assert_tweaks(&index, &making.forge.blocks, "made again");
    }
}
