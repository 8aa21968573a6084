//! Scripts and txids with equal prefixes stay apart. Prefixes of one or two bytes make them collide all the time.

use bitcoin::ScriptBuf;
use cairn_chaingen::{Chain, Everything};
use cairn_model::{Network, ScriptPrefix};
use cairn_pipeline::{Driver, NoProgress, PipelineError, SyncOptions};
use cairn_reader::Facts;
use cairn_tables::journal::Collisions;
use cairn_testkit::temp_dir;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{compare::assert_equal, forge::*, interrupted::SMALL, support::*};

const PREFIXES: [(usize, usize); 4] = [(1, 1), (2, 8), (8, 1), (2, 2)];

fn short(blocks: &std::path::Path, (script_prefix, txid_prefix): (usize, usize)) -> Facts {
    Facts { script_prefix, txid_prefix, blocks_dir: Some(blocks.to_owned()), ..Facts::of(Network::Regtest) }
}

fn index_of(facts: &Facts, options: &SyncOptions) -> Index {
    let mut index = Index::new(facts);
    index.engine.set_bulk_sizes(SMALL);
    let blocks = facts.blocks_dir.clone().unwrap();
    sync_with(&mut index.engine, &blocks, options, &NoProgress).unwrap();
    index
}

fn straight(facts: &Facts, to: Option<u32>) -> Sums {
    index_of(facts, &SyncOptions { to, ..SyncOptions::default() }).sums()
}

/// A chain, and the same after a fork.
fn before_and_after(seed: u64) -> (Chain, Chain) {
    let mut making = Everything::new(seed, 6, false);
    making.grow(130).unwrap();
    let before = making.chain().clone();
    making.fork(25, 27).unwrap();
    (before, making.into_chain())
}

#[test]
fn colliding_prefixes_change_no_answer() {
    for (seed, prefixes) in (71..).zip(PREFIXES) {
        let (before, after) = before_and_after(seed);
        let blocks = temp_dir();
        write_tidy(blocks.path(), &before);
        let facts = short(blocks.path(), prefixes);
        let what = format!("seed {seed}, prefixes {prefixes:?}");
        let mut bulk = index_of(&facts, &SyncOptions::default());
        bulk.view(|view| assert_equal(view, &oracle_of(&before)));
        bulk.assert_sound();
        let expected = bulk.sums();
        if prefixes.0 == 1 {
            assert!(expected.rows("collisions") > 20, "{what}: nothing collides");
        }
        let ignore_undo = SyncOptions { ignore_undo: true, ..SyncOptions::default() };
        index_of(&facts, &ignore_undo).sums().assert_equal(&expected, &format!("{what}, without undo data"));
        let by_tip = SyncOptions { driver: Driver::Tip, ..SyncOptions::default() };
        let mut tip = index_of(&facts, &by_tip);
        tip.sums().assert_equal(&expected, &format!("{what}, tip"));
        tip.view(|view| assert_equal(view, &oracle_of(&before)));
        for stage in rebuildable() {
            bulk.engine.reindex(&[stage], &NoProgress).unwrap();
        }
        bulk.sums().assert_equal(&expected, &format!("{what}, rebuilt"));

        // A reorganization, by an engine that went on and by one that was opened again.
        write_tidy(blocks.path(), &after);
        let expected = straight(&facts, None);
        tip = tip.reopened();
        for index in [&mut bulk, &mut tip] {
            assert_eq!(index.sync(blocks.path(), Driver::Auto).disconnected, 25);
            index.sums().assert_equal(&expected, &format!("{what}, after a fork"));
            index.view(|view| assert_equal(view, &oracle_of(&after)));
        }

        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut height = after.tip().height;
        while height > 0 {
            height = rng.random_range(0..height);
            bulk.engine.unwind(height, &NoProgress).unwrap();
            bulk.sums().assert_equal(&straight(&facts, Some(height)), &format!("{what}, unwound to {height}"));
        }
        bulk.sync(blocks.path(), Driver::Auto);
        bulk.sums().assert_equal(&expected, &format!("{what}, unwound to genesis and synced"));
    }
}

/// Scripts with a hash that begins with this byte.
fn colliding(byte: u8, count: usize) -> Vec<ScriptBuf> {
    (0u32..).map(script).filter(|s| ScriptPrefix::of(s.as_bytes(), 1).0[0] == byte).take(count).collect()
}

fn forge_of(scripts: &[ScriptBuf]) -> Forge {
    let mut forge = Forge::new();
    for (tag, scripts) in (1..).zip(scripts.chunks(100)) {
        forge.block(vec![coinbase(tag, scripts.iter().map(|s| pay(1, s.clone())).collect())]);
    }
    forge
}

#[test]
fn ordinals_count_in_the_order_of_appearance() {
    let scripts = colliding(0x42, 256);
    let forge = forge_of(&scripts);
    let blocks = temp_dir();
    forge.write(blocks.path());
    let facts = short(blocks.path(), (1, 8));
    for driver in [Driver::Bulk, Driver::Tip] {
        let index = index_of(&facts, &SyncOptions { driver, ..SyncOptions::default() });
        index.view(|view| {
            for (i, script) in scripts.iter().enumerate() {
                let found = view.scripts().find(script.as_bytes()).unwrap().unwrap();
                assert_eq!(usize::from(found.id.ordinal), i, "{driver:?}");
            }
            let row = view.get::<Collisions>(&ScriptPrefix::of(scripts[0].as_bytes(), 1)).unwrap().unwrap();
            assert_eq!(
                row.0.iter().map(|(_, s)| &s[..]).collect::<Vec<_>>(),
                scripts.iter().map(|s| s.as_bytes()).collect::<Vec<_>>()
            );
            assert_equal(view, &forge.oracle());
        });
    }
}

#[test]
fn more_scripts_than_ordinals_are_refused() {
    let forge = forge_of(&colliding(0x42, 257));
    let blocks = temp_dir();
    forge.write(blocks.path());
    let facts = short(blocks.path(), (1, 8));
    for driver in [Driver::Bulk, Driver::Tip] {
        let mut index = Index::new(&facts);
        let options = SyncOptions { driver, ..SyncOptions::default() };
        let refused = sync_with(&mut index.engine, blocks.path(), &options, &NoProgress);
        assert!(matches!(refused, Err(PipelineError::TooManyCollisions(_))), "{driver:?}: {refused:?}");
        let index = index.reopened();
        assert_eq!(index.height(), (driver == Driver::Tip).then_some(2), "{driver:?}");
    }
}

#[test]
fn the_last_colliding_script_may_come_and_go() {
    // A prefix collides in one branch only; in the other, the scripts come in another order.
    let scripts = colliding(0x77, 3);
    let block = |tag: u32, of: &[usize]| vec![coinbase(tag, of.iter().map(|i| pay(1, scripts[*i].clone())).collect())];
    let mut trunk = Forge::new();
    trunk.block(block(1, &[0]));
    let (mut first, mut second, mut third) = (trunk.clone(), trunk.clone(), trunk.clone());
    first.block(block(2, &[1, 2]));
    second.block(block(3, &[2]));
    second.block(block(4, &[1, 0]));
    third.block(block(5, &[0]));
    third.empty(2);
    let blocks = temp_dir();
    let facts = short(blocks.path(), (1, 1));
    first.write(blocks.path());
    let mut index = index_of(&facts, &SyncOptions { driver: Driver::Tip, ..SyncOptions::default() });
    for (branch, others) in [(&second, vec![&second]), (&third, vec![&second, &third])] {
        first.write_with(blocks.path(), &others, file_options());
        index.sync(blocks.path(), Driver::Auto);
        index.view(|view| assert_equal(view, &branch.oracle()));
        index.sums().assert_equal(&straight(&facts, None), "another branch");
        index = index.reopened();
    }
    assert_eq!(
        index.view(|view| view
            .scan::<Collisions>(None)
            .unwrap()
            .filter(|row| row.as_ref().unwrap().0.0[0] == 0x77)
            .count()),
        0
    );
}
