//! Flows of exchanges are what follows from blocks and documents, whichever way these came, and they are made anew when it is
//! time.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use cairn_events::{Document, EntityName};
use cairn_pipeline::{Driver, Engine, NoProgress, PipelineError, SyncOptions};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    exchange_flows::{
        ExchangeFlows, FlowBlockRow, FlowBlocks, FlowKey, FlowMode, FlowSum, FlowsHead, FlowsHeadRow, Held,
    },
    sums::Sums as SumsRow,
};
use cairn_testkit::{Oracle, temp_dir};
use cairn_writer::{Batch, WriteError, Writer};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use crate::{
    exchange_flows_by_hand::*,
    exchange_flows_chains::{BEGIN, TimedChain, document, grow},
    late::{oracle_at, rows},
    support::*,
};

/// All that an index has of flows.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Kept {
    pub(crate) head: Option<FlowsHeadRow>,
    pub(crate) rows: BTreeMap<FlowKey, SumsRow>,
    pub(crate) since: BTreeMap<u32, FlowBlockRow>,
}

impl Kept {
    pub(crate) fn of(view: &View<'_>) -> Self {
        let head = rows::<FlowsHead>(view).remove(&());
        Kept { head, rows: rows::<ExchangeFlows>(view), since: rows::<FlowBlocks>(view) }
    }

    /// Those of a mode, without the generation.
    pub(crate) fn of_mode(&self, of: FlowMode) -> BTreeMap<(Option<EntityName>, u32), SumsRow> {
        let of_mode = self.rows.iter().filter(|(key, _)| key.mode == of);
        of_mode.map(|(key, sums)| ((key.exchange.clone(), key.day), sums.clone())).collect()
    }
}

/// What was compared: sums of each kind in rows of mode 0, of mode 1, and of blocks since; scripts that counted by their cluster
/// in mode 1, and those whose clusters had claims of more scripts than count; generations.
#[derive(Default, Debug)]
pub(crate) struct Seen {
    sums: [[usize; 9]; 3],
    inherited: [usize; 2],
    generations: usize,
}

impl Seen {
    fn count<'s>(&mut self, place: usize, rows: impl Iterator<Item = &'s SumsRow>) {
        rows.for_each(|sums| sums.iter().for_each(|(position, _)| self.sums[place][position as usize] += 1));
    }
}

/// Fails unless a generation of the tip is what follows from blocks and documents.
pub(crate) fn assert_generation(view: &View<'_>, oracle: &Oracle, kept: &Kept, seen: &mut Seen, what: &str) {
    let head = kept.head.as_ref().expect("a generation");
    let tip = view.tip();
    assert_eq!((head.height, head.hash, head.seq), (tip.height, tip.hash, tip.seq), "{what}");
    assert!(kept.rows.keys().all(|key| key.generation == head.generation), "{what}: rows of two generations");
    assert_eq!(kept.since, BTreeMap::new(), "{what}: rows of blocks that the generation has");
    let read = view.flows_head().unwrap();
    assert_eq!(read, *head, "{what}");
    let names: BTreeSet<EntityName> = exchanges(view).into_keys().collect();
    for (mode, owners) in all_owners(view, oracle) {
        let (found, expected) = (kept.of_mode(mode), Flows::by_day(oracle, &owners).sums());
        for key in found.keys().chain(expected.keys()) {
            assert_eq!(found.get(key), expected.get(key), "{what}: {mode:?}: {key:?} is not what the blocks have");
        }
        assert_balanced(oracle, &owners, &found, &format!("{what}: {mode:?}"));
        let held_now = held(oracle, owners.last().unwrap(), head.height);
        let sats = |held: &Held| match mode {
            FlowMode::Latest => held.latest,
            FlowMode::PointInTime => held.point_in_time,
        };
        let stored = head.held.iter().map(|held| (held.exchange.clone(), i128::from(sats(held))));
        let stored: BTreeMap<EntityName, i128> = stored.filter(|(_, sats)| *sats != 0).collect();
        assert_eq!(stored, held_now, "{what}: {mode:?}");
        assert!(head.held.iter().all(|held| names.contains(&held.exchange)), "{what}");
        for of in names.iter().map(Some).chain([None]) {
            let all = view.flows_of(&read, mode, of, 0..=u32::MAX).unwrap();
            let expected = expected.iter().filter(|((name, _), _)| name.as_ref() == of);
            assert!(
                all.iter().map(|(day, sums)| (day, sums)).eq(expected.map(|((_, day), sums)| (day, sums))),
                "{what}"
            );
        }
        seen.count(mode as usize, found.values());
        if mode == FlowMode::PointInTime {
            let heirs = owners.iter().flat_map(BTreeMap::values).map(|whose| whose.heirs);
            let counts =
                heirs.fold([0; 2], |[all, many], heirs| [all + usize::from(heirs > 0), many + usize::from(heirs > 16)]);
            seen.inherited.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
    }
    seen.generations += 1;
}

/// The rows of blocks after those that are there, by hand: of scripts that are whose they are now.
fn expected_since(view: &View<'_>, oracle: &Oracle, kept: &Kept) -> BTreeMap<u32, FlowBlockRow> {
    let head = kept.head.as_ref().unwrap();
    let tip = view.tip().height;
    let is_there = |(height, row): &(u32, &FlowBlockRow)| view.chain().is(*height, &row.hash);
    let followed = (head.height + 1..).map_while(|height| Some((height, kept.since.get(&height)?)));
    let noted: Vec<_> = followed.take_while(is_there).filter(|(_, row)| !row.held.is_empty()).collect();
    let of_head = || head.held.iter().map(|held| (held.exchange.clone(), i128::from(held.latest))).collect();
    let of_row = |row: &FlowBlockRow| row.held.iter().map(|(of, sats)| (of.clone(), i128::from(*sats))).collect();
    let (base, mut was): (u32, BTreeMap<EntityName, i128>) =
        noted.last().map_or_else(|| (head.height, of_head()), |(height, row)| (*height, of_row(row)));
    if base == tip {
        return kept.since.clone();
    }
    let mut flows = Flows::by_block(oracle, &latest(view, oracle), base);
    for ((of, _), sums) in flows.sums().iter().filter(|((of, _), _)| of.is_some()) {
        *was.entry(of.clone().unwrap()).or_default() += change(sums);
    }
    let now: BTreeMap<EntityName, u64> = exchanges(view).into_iter().map(|(of, row)| (of, row.balance())).collect();
    for of in was.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
        let is = i128::from(now.get(of).copied().unwrap_or_default());
        flows.add_both(of, tip, FlowSum::Reclassified, is - was.get(of).copied().unwrap_or_default());
    }
    let (sums, mut since) = (flows.sums(), kept.since.clone());
    since.retain(|height, _| *height <= base);
    for height in base + 1..=tip {
        let of_block = sums.iter().filter(|((_, of), _)| *of == height);
        let flows = of_block.map(|((of, _), sums)| (of.clone(), sums.clone())).collect();
        let held = if height == tip { now.clone().into_iter().collect() } else { Vec::new() };
        let hash = view.journal_block(height).unwrap().unwrap().hash;
        since.insert(height, FlowBlockRow { hash, flows, held });
    }
    since
}

/// How many scripts are direct members of each exchange.
fn members(view: &View<'_>) -> BTreeMap<EntityName, u64> {
    exchanges(view).into_iter().map(|(of, row)| (of, row.members)).collect()
}

/// An index, and what it has had of flows.
struct Following {
    index: Index,
    /// With the members of the generation that it had.
    states: Vec<(Kept, BTreeMap<EntityName, u64>)>,
    seen: Seen,
}

impl Following {
    fn new(index: Index) -> Self {
        Following { index, states: vec![Default::default()], seen: Seen::default() }
    }

    /// Closes and opens it. What was not flushed is lost.
    fn reopened(self, what: &str) -> Self {
        let Following { index, mut states, seen } = self;
        let index = index.reopened();
        let kept = index.view(Kept::of);
        let state = states.iter().rfind(|(state, _)| *state == kept);
        states.push(state.unwrap_or_else(|| panic!("{what}: flows that never were: {kept:#?}")).clone());
        Following { index, states, seen }
    }

    /// Has the flows followed, and compares what is written.
    fn follow(&mut self, chain: &TimedChain, what: &str) {
        let Some(oracle) = oracle_at(&self.index, &chain.forge) else { return };
        let (before, mut of_generation) = self.states.last().unwrap().clone();
        let (is_due, expected, now) = self.index.view(|view| {
            assert_eq!(Kept::of(view), before, "{what}: nobody has written");
            let now = members(view);
            let is_there = |head: &FlowsHeadRow| view.chain().is(head.height, &head.hash);
            let head = before.head.as_ref().filter(|head| is_there(head));
            let is_due = head.is_none_or(|head| view.tip().height >= head.height + 144 || now != of_generation);
            assert_eq!(head.is_none(), matches!(view.flows_head(), Err(ReadError::Unfinished(_))), "{what}");
            (is_due, (!is_due).then(|| expected_since(view, &oracle, &before)), now)
        });

        let wrote = self.index.engine.follow_flows(&NoProgress, true).unwrap();
        let Following { index, states, seen } = self;
        let after = index.view(|view| {
            let after = Kept::of(view);
            let generation = |kept: &Kept| kept.head.as_ref().map(|head| head.generation);
            match expected {
                None => {
                    assert_eq!(generation(&after), Some(generation(&before).map_or(0, |old| 1 - old)), "{what}");
                    assert_generation(view, &oracle, &after, seen, what);
                    of_generation = now;
                }
                Some(since) => {
                    assert_eq!((&after.head, &after.rows), (&before.head, &before.rows), "{what}: the same generation");
                    assert_eq!(after.since, since, "{what}");
                    assert_since(view, &oracle, &before, &after, seen, what);
                }
            }
            after
        });
        // Without exchanges nothing tells rows that are done from others: they are written again.
        assert!(wrote == (is_due || after != before) || wrote && of_generation.is_empty(), "{what}: {wrote}");
        assert!(!index.engine.follow_flows(&NoProgress, true).unwrap(), "{what}: there is nothing to follow");
        states.push((after, of_generation));
    }

    /// Has a generation made from nothing, and compares it.
    fn made_again(self, chain: &TimedChain, what: &str) -> Self {
        self.index.engine.settle().unwrap();
        let Following { index: Index { engine, dir }, mut states, seen } = self;
        drop(engine);
        change_rows(&dir, |batch| {
            batch.delete_row::<FlowsHead>(&());
            (0..2).for_each(|generation| batch.delete_beginning::<ExchangeFlows>(&[generation]));
            batch.delete_range::<FlowBlocks>(&0, &u32::MAX);
        });
        let index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
        states.push(Default::default());
        let mut following = Following { index, states, seen };
        following.follow(chain, what);
        following
    }
}

/// With the rows of blocks since a generation, exchanges hold what the blocks say.
fn assert_since(view: &View<'_>, oracle: &Oracle, before: &Kept, kept: &Kept, seen: &mut Seen, what: &str) {
    let head = kept.head.as_ref().unwrap();
    let tip = view.tip().height;
    let read = view.flow_blocks_after(head.height).unwrap();
    assert_eq!(read.len() as u32, tip - head.height, "{what}");
    assert!(read.iter().all(|(height, row)| kept.since.get(height) == Some(row)), "{what}");
    let Some((_, last)) = read.last() else { return };
    let mut sums: BTreeMap<EntityName, i128> = BTreeMap::new();
    sums.extend(head.held.iter().map(|held| (held.exchange.clone(), held.latest.into())));
    for (of, of_block) in read.iter().flat_map(|(_, row)| &row.flows) {
        of.iter().for_each(|of| *sums.entry(of.clone()).or_default() += change(of_block));
    }
    sums.retain(|_, sats| *sats != 0);
    let noted = last.held.iter().map(|(of, sats)| (of.clone(), i128::from(*sats)));
    let noted: BTreeMap<EntityName, i128> = noted.filter(|(_, sats)| *sats != 0).collect();
    assert_eq!(sums, noted, "{what}");
    if before.since.get(&tip) != Some(last) {
        assert_eq!(noted, held(oracle, &latest(view, oracle), tip), "{what}");
        seen.count(2, read.iter().flat_map(|(_, row)| row.flows.iter().map(|(_, sums)| sums)));
    }
}

/// Writes into an index that nobody has open.
fn change_rows(dir: &TempDir, change: impl FnOnce(&mut Batch<'_>)) {
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    let commit = writer.commit::<WriteError>(|batch| {
        change(batch);
        Ok(())
    });
    commit.unwrap();
    writer.flush().unwrap();
}

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
    if let Ok(path) = std::env::var("EFOUT") {
        std::fs::write(path, format!("{all:?}")).unwrap();
    }
}

/// A chain of so many blocks, and documents about its scripts.
fn chain_and_documents(seed: u64, blocks: u32) -> (TimedChain, Vec<Document>) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let (mut chain, mut documents) = (TimedChain::new(), Vec::new());
    grow(&mut chain, blocks, 5, rng);
    for _ in 0..12 {
        documents.push(document(rng, &documents, &chain.forge.blocks));
    }
    (chain, documents)
}

/// When an index receives a document, in each order of documents.
fn take(index: &Index, documents: &[Document], which: impl IntoIterator<Item = usize>) {
    for at in which {
        index.engine.take_document(&documents[at], BEGIN + at as u32 * 100_000).unwrap();
    }
}

/// Connects blocks up to a height.
fn sync_to(index: &mut Index, blocks: &Path, to: u32) {
    let options = SyncOptions { to: Some(to), ..SyncOptions::default() };
    sync_with(&mut index.engine, blocks, &options, &NoProgress).unwrap();
}

#[test]
fn they_are_the_same_whichever_way_the_index_got_there() {
    for seed in 200..if long() { 215 } else { 202 } {
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
        assert!(counts.iter().all(|rows| *rows > 20) && !all[0].1.is_empty(), "{counts:?}");
        assert!(all[0] == all[1] && all[1] == all[2], "seed {seed}");
    }
}

/// The head of an index's flows.
fn head(index: &Index) -> FlowsHeadRow {
    index.view(|view| view.flows_head().unwrap())
}

#[test]
fn they_are_made_anew_when_it_is_time() {
    let (blocks, (chain, documents)) = (temp_dir(), chain_and_documents(300, 340));
    chain.forge.write(blocks.path());
    let mut following = Following::new(Index::up_to(blocks.path(), Driver::Bulk, 40));
    assert!(matches!(following.index.view(|view| view.flows_head()), Err(ReadError::Unfinished(_))));
    take(&following.index, &documents, 0..6);
    following.follow(&chain, "at first");
    for (to, of) in [(183, 40), (184, 184), (190, 184)] {
        sync_to(&mut following.index, blocks.path(), to);
        following.follow(&chain, &format!("at {to}"));
        assert_eq!(head(&following.index).height, of, "at {to}");
    }
    // Their block is gone: there are none, until they are made anew.
    following.index.engine.unwind(183, &NoProgress).unwrap();
    assert!(matches!(following.index.view(|view| view.flows_head()), Err(ReadError::Unfinished(_))));
    following.follow(&chain, "below their block");
    assert_eq!(head(&following.index).height, 183);
    // Beside new blocks documents wait for some of them, and a generation for the thread that makes it.
    let Following { mut index, .. } = following;
    let before = index.view(members);
    take(&index, &documents, 6..12);
    assert_ne!(index.view(members), before, "documents that change members");
    for to in 184..189 {
        sync_to(&mut index, blocks.path(), to);
        assert!(index.engine.follow_flows(&NoProgress, false).unwrap(), "rows of block {to}");
        assert_eq!(head(&index).height, 183, "at {to}");
    }
    sync_to(&mut index, blocks.path(), 189);
    assert!(index.engine.follow_flows(&NoProgress, false).unwrap());
    for tried in 0.. {
        if index.engine.follow_flows(&NoProgress, false).unwrap() {
            break;
        }
        assert!(tried < 60_000, "they were not made");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(head(&index).height, 189);
    let oracle = oracle_at(&index, &chain.forge).unwrap();
    index.view(|view| assert_generation(view, &oracle, &Kept::of(view), &mut Seen::default(), "in a thread"));
    // An engine that is closed while they are made waits for nobody.
    index.engine.settle().unwrap();
    let kept = index.view(Kept::of);
    index.engine.unwind(188, &NoProgress).unwrap();
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
    // What a process leaves that is killed while it writes the next one, and its files.
    let generation = 1 - kept.head.as_ref().unwrap().generation;
    let forged = SumsRow::of([(FlowSum::Inflow.position(), 7)]).unwrap();
    let names = ["alpha", "nobody"].map(|name| Some(name.parse().unwrap()));
    let places = names.into_iter().chain([None]).flat_map(|of| FlowMode::ALL.map(|mode| (of.clone(), mode)));
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
        let head = view.flows_head().unwrap();
        let read = |of: Option<&EntityName>| view.flows_of(&head, FlowMode::Latest, of, 15_010..=15_010).unwrap();
        let alpha: EntityName = "alpha".parse().unwrap();
        for of in [None, Some(&alpha)] {
            assert!(read(of).iter().all(|(_, sums)| *sums != forged));
        }
    });
    // The documents since have changed members.
    following.states.push((following.index.view(Kept::of), BTreeMap::new()));
    following.follow(&chain, "after a kill");
    assert_eq!(head(&following.index).generation, generation);
    let left = std::fs::read_dir(&files).map_or(0, Iterator::count);
    assert_eq!(left, 0, "files are left");
    following.index.assert_sound();
}
