//! Flows of exchanges are what follows from blocks and documents, whichever way these came, and they are made again
//! when it is time.

use std::{collections::BTreeMap, thread::sleep, time::Duration};

use cairn_events::{Document, EntityName};
use cairn_pipeline::{Driver, Engine, NoProgress, PipelineError};
use cairn_reader::ReadError;
use cairn_tables::{
    exchange_flows::{ExchangeFlows, FlowKey, FlowMode, FlowSum},
    sums::Sums as SumsRow,
};
use cairn_testkit::temp_dir;
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::{
    exchange_flows_chains::{BEGIN, TimedChain, document, grow},
    exchange_flows_following::*,
    late::oracle_at,
    support::*,
};

/// Documents, blocks, reorganizations and restarts in random order, flows followed between them.
fn any_order(seed: u64) -> Seen {
    let (rng, blocks) = (&mut ChaCha8Rng::seed_from_u64(seed), temp_dir());
    let groups = [7, 2, 30, 1][seed as usize % 4];
    let mut chain = TimedChain::new();
    let first = rng.random_range(10..60);
    grow(&mut chain, first, groups, rng);
    chain.forge.write(blocks.path());
    let mut following = Following::new(Index::of(blocks.path(), [Driver::Bulk, Driver::Tip][seed as usize % 2]));
    let mut documents: Vec<Document> = Vec::new();
    for step in 0..24 {
        let what = format!("seed {seed}, step {step}");
        match rng.random_range(0..10) {
            0..3 => {
                for _ in 0..rng.random_range(1..4) {
                    documents.push(document(rng, &documents, &chain.forge.blocks));
                    let now = BEGIN + rng.random_range(0..2_000_000);
                    following.index.engine.take_document(documents.last().unwrap(), now).unwrap();
                }
            }
            3 => {
                let most = if rng.random_bool(0.2) { 40 } else { 5 };
                let depth = rng.random_range(1..most).min(chain.forge.blocks.len() as u32 - 2);
                chain = chain.without(depth);
                let more = depth + rng.random_range(1..3);
                grow(&mut chain, more, groups, rng);
                chain.forge.write(blocks.path());
                following.index.sync(blocks.path(), Driver::Auto);
            }
            4 => following = following.reopened(&what),
            5 => {
                let height = following.index.height().unwrap();
                let to = height - rng.random_range(1..6).min(height);
                following.index.engine.unwind(to, &NoProgress).unwrap();
            }
            _ => {
                let more = rng.random_range(1..12);
                grow(&mut chain, more, groups, rng);
                chain.forge.write(blocks.path());
                following.index.sync(blocks.path(), Driver::Auto);
            }
        }
        if rng.random_bool(0.7) {
            following.follow(&chain, &what);
            if rng.random_bool(0.5) {
                following.index.engine.settle().unwrap();
            }
        }
        if rng.random_bool(0.1) {
            following.index.assert_sound();
        }
    }
    following.index.sync(blocks.path(), Driver::Auto);
    following = following.made_again(&chain, &format!("seed {seed}, at the end"));
    following.index.assert_sound();
    following.seen
}

#[test]
fn they_do_not_depend_on_the_order_of_documents_and_blocks() {
    let mut all = Seen::default();
    for seed in 0..if long() { 60 } else { 4 } {
        let seen = any_order(seed);
        let sums = all.sums.iter_mut().flatten().zip(seen.sums.iter().flatten());
        sums.for_each(|(all, of_seed)| *all += of_seed);
        all.inherited.iter_mut().zip(seen.inherited).for_each(|(all, of_seed)| *all += of_seed);
        all.generations += seen.generations;
    }
    // With labels as they are now nothing is reclassified but between generations, and nothing backfilled.
    let never = |(place, at): (usize, usize)| {
        at == FlowSum::Backfilled as usize && place != 1 || at == FlowSum::Reclassified as usize && place == 0
    };
    let places = (0..3).flat_map(|place| (0..9).map(move |at| (place, at)));
    let lacks: Vec<_> = places.filter(|(place, at)| (all.sums[*place][*at] > 5) == never((*place, *at))).collect();
    let is_enough = lacks.is_empty() && all.inherited.iter().all(|scripts| *scripts > 100) && all.generations > 20;
    assert!(is_enough, "{all:?}");
}

/// A chain of `blocks` blocks, and documents about its scripts.
fn chain_and_documents(seed: u64, blocks: u32) -> (TimedChain, Vec<Document>) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let (mut chain, mut documents) = (TimedChain::new(), Vec::new());
    grow(&mut chain, blocks, 5, rng);
    for _ in 0..12 {
        documents.push(document(rng, &documents, &chain.forge.blocks));
    }
    (chain, documents)
}

/// An index receives some of the documents, each at a time of its own.
fn take(index: &Index, documents: &[Document], which: impl IntoIterator<Item = usize>) {
    for at in which {
        index.engine.take_document(&documents[at], BEGIN + at as u32 * 100_000).unwrap();
    }
}

#[test]
fn they_are_the_same_whichever_way_the_index_got_there() {
    let mut compared = [0; 2];
    for seed in 200..if long() { 220 } else { 203 } {
        let (blocks, (chain, documents)) = (temp_dir(), chain_and_documents(seed, 90));
        chain.forge.write(blocks.path());
        let mut order: Vec<usize> = (0..documents.len()).collect();
        let bulk = Index::of(blocks.path(), Driver::Bulk);
        take(&bulk, &documents, order.iter().copied());
        let mut tip = Index::up_to(blocks.path(), Driver::Tip, 0);
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        take(&tip, &documents, order.iter().copied());
        tip.sync(blocks.path(), Driver::Tip);
        let mut mixed = Index::up_to(blocks.path(), Driver::Bulk, 30);
        for (at, to) in (0..).zip((32..90).step_by(5)) {
            take(&mixed, &documents, order.get(at).copied());
            sync_to(&mut mixed, blocks.path(), to);
            mixed.engine.follow_flows(&NoProgress, true).unwrap();
        }
        let mixed = mixed.reopened();
        // Another generation than the one of the tip.
        let mut following = Following::new(mixed);
        following.index.sync(blocks.path(), Driver::Auto);
        let mixed = following.made_again(&chain, "mixed").index;
        let all = [bulk, tip, mixed].map(|index| {
            index.engine.follow_flows(&NoProgress, true).unwrap();
            let kept = index.view(Kept::of);
            let head = kept.head.as_ref().expect("a generation");
            assert_eq!(head.height, 90);
            (FlowMode::ALL.map(|mode| kept.of_mode(mode)), head.held.clone())
        });
        let counts = all[0].0.each_ref().map(BTreeMap::len);
        compared.iter_mut().zip(counts).for_each(|(all, rows)| *all += rows);
        assert!(all[0] == all[1] && all[1] == all[2], "seed {seed}");
    }
    assert!(compared.iter().all(|rows| *rows > 20), "{compared:?}");
}

/// The height of an index's flows.
fn made_at(index: &Index) -> Option<u32> {
    match index.view(|view| view.flows().head()) {
        Err(ReadError::Unfinished(_)) => None,
        head => Some(head.unwrap().height),
    }
}

/// Fails unless flows are of a block, which is the tip, and are right.
fn assert_flows(index: &Index, chain: &TimedChain, height: u32) {
    assert_eq!(made_at(index), Some(height));
    let oracle = oracle_at(index, &chain.forge).unwrap();
    let what = format!("at {height}");
    index.view(|view| assert_generation(view, &oracle, &Kept::of(view), &mut Seen::default(), &what));
}

#[test]
fn they_are_made_anew_when_it_is_time() {
    let (blocks, (chain, documents)) = (temp_dir(), chain_and_documents(300, 340));
    chain.forge.write(blocks.path());
    let mut following = Following::new(Index::up_to(blocks.path(), Driver::Bulk, 40));
    assert_eq!(made_at(&following.index), None);
    take(&following.index, &documents, 0..6);
    following.follow(&chain, "at first");
    for (to, of) in [(183, 40), (184, 184), (190, 184)] {
        sync_to(&mut following.index, blocks.path(), to);
        following.follow(&chain, &format!("at {to}"));
        assert_eq!(made_at(&following.index), Some(of), "at {to}");
    }
    // Their block is gone: there are none until they are made again.
    following.index.engine.unwind(183, &NoProgress).unwrap();
    assert_eq!(made_at(&following.index), None);
    following.follow(&chain, "below their block");
    assert_eq!(made_at(&following.index), Some(183));
    // Beside new blocks documents wait for some of them, and a generation for the thread that makes it.
    let Following { mut index, .. } = following;
    let before = index.view(members);
    take(&index, &documents, 6..12);
    assert_ne!(index.view(members), before, "documents that change members");
    for to in 184..189 {
        sync_to(&mut index, blocks.path(), to);
        assert!(index.engine.follow_flows(&NoProgress, false).unwrap(), "rows of block {to}");
        assert_eq!(made_at(&index), Some(183), "at {to}");
    }
    sync_to(&mut index, blocks.path(), 189);
    assert!(index.engine.follow_flows(&NoProgress, false).unwrap());
    for tried in 0.. {
        if index.engine.follow_flows(&NoProgress, false).unwrap() {
            break;
        }
        assert!(tried < 60_000, "they were not made");
        sleep(Duration::from_millis(1));
    }
    assert_flows(&index, &chain, 189);
    // Flows that were made meanwhile for a block that is gone are not taken.
    index.engine.unwind(188, &NoProgress).unwrap();
    assert!(!index.engine.follow_flows(&NoProgress, false).unwrap());
    index.engine.unwind(187, &NoProgress).unwrap();
    assert!(index.engine.follow_flows(&NoProgress, true).unwrap());
    assert_flows(&index, &chain, 187);
    // An engine that is closed while they are made waits for nobody.
    index.engine.settle().unwrap();
    let kept = index.view(Kept::of);
    index.engine.unwind(186, &NoProgress).unwrap();
    assert!(!index.engine.follow_flows(&NoProgress, false).unwrap());
    let index = index.reopened();
    assert_eq!(index.view(Kept::of), kept);
    index.assert_sound();
}

#[test]
fn nothing_is_left_of_a_generation_that_was_not_finished() {
    let (blocks, (chain, documents)) = (temp_dir(), chain_and_documents(400, 80));
    chain.forge.write(blocks.path());
    let mut index = Index::up_to(blocks.path(), Driver::Bulk, 60);
    take(&index, &documents, 0..6);
    // One that is stopped writes nothing.
    let stopped = |index: &Index| {
        let before = index.view(Kept::of);
        let stopped = index.engine.follow_flows(&Cut::stop(0), true);
        assert!(matches!(stopped, Err(PipelineError::Stopped)), "{stopped:?}");
        assert_eq!(index.view(Kept::of), before);
    };
    stopped(&index);
    assert!(index.engine.follow_flows(&NoProgress, true).unwrap());
    sync_to(&mut index, blocks.path(), 62);
    stopped(&index);
    assert!(index.engine.follow_flows(&NoProgress, true).unwrap());
    take(&index, &documents, 6..12);
    stopped(&index);
    index.engine.settle().unwrap();
    let (kept, Index { engine, dir }) = (index.view(Kept::of), index);
    drop(engine);
    // Rows and files of a process that was killed while it wrote the next generation.
    let generation = 1 - kept.head.as_ref().unwrap().generation;
    let forged = SumsRow::of([(FlowSum::Inflow.position(), 7)]).unwrap();
    let names: [Option<EntityName>; 3] = [Some("alpha".parse().unwrap()), Some("nobody".parse().unwrap()), None];
    let places = names.iter().flat_map(|of| FlowMode::ALL.map(|mode| (of.clone(), mode)));
    let keys = places.map(|(exchange, mode)| FlowKey { generation, mode, exchange, day: 15_010 });
    change_rows(&dir, |batch| keys.for_each(|key| batch.put_row::<ExchangeFlows>(&key, &forged)));
    let files = dir.path().join("exchange-flows");
    std::fs::create_dir_all(&files).unwrap();
    std::fs::write(files.join("0"), b"of a process that was killed").unwrap();
    let index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
    assert_eq!(index.view(Kept::of).rows.len(), kept.rows.len() + 6);
    index.assert_sound();
    let mut following = Following::new(index);
    // Nobody reads that.
    following.index.view(|view| {
        let head = view.flows().head().unwrap();
        let days = names
            .iter()
            .flat_map(|of| view.flows().of_days(&head, FlowMode::Latest, of.as_ref(), 15_010..=15_010).unwrap());
        assert!(days.into_iter().all(|(_, sums)| sums != forged));
    });
    // The documents since have changed members.
    following.states.push((following.index.view(Kept::of), BTreeMap::new()));
    following.follow(&chain, "after a kill");
    assert_eq!(following.index.view(|view| view.flows().head().unwrap().generation), generation);
    let left = std::fs::read_dir(&files).map_or(0, Iterator::count);
    assert_eq!(left, 0, "files are left");
    following.index.assert_sound();
}

#[test]
fn what_was_dropped_is_made_again() {
    let (blocks, (chain, documents)) = (temp_dir(), chain_and_documents(300, 340));
    chain.forge.write(blocks.path());
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    take(&index, &documents, 0..12);
    assert!(!index.engine.follow_flows(&NoProgress, false).unwrap());
    index.engine.unwind(339, &NoProgress).unwrap();
    // While the thread is at work, nothing is begun; what it makes is of a block that is gone.
    assert!(!index.engine.follow_flows(&NoProgress, false).unwrap());
    sleep(Duration::from_secs(1));
    assert!(index.engine.follow_flows(&NoProgress, true).unwrap());
    assert_eq!(made_at(&index), Some(339));
}
