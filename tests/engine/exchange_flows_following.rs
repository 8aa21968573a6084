//! Compares the flows of exchanges that an index has with those by hand, while it is followed.

use std::collections::{BTreeMap, BTreeSet};

use cairn_events::EntityName;
use cairn_pipeline::{Engine, NoProgress};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    exchange_flows::{
        ExchangeBalance, ExchangeFlows, FlowBlockRow, FlowBlocks, FlowKey, FlowMode, FlowSum, FlowsHead, FlowsHeadRow,
    },
    sums::Sums as SumsRow,
};
use cairn_testkit::Oracle;
use cairn_writer::{Batch, WriteError, Writer};
use tempfile::TempDir;

use crate::{
    exchange_flows_by_hand::*,
    exchange_flows_chains::TimedChain,
    late::{oracle_at, rows},
    support::Index,
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

/// Compared so far: sums of each kind in rows of mode 0, of mode 1, and of blocks since; scripts that counted by their
/// cluster in mode 1, and those whose clusters had claims of more scripts than count; generations.
#[derive(Default, Debug)]
pub(crate) struct Seen {
    pub(crate) sums: [[usize; 9]; 3],
    pub(crate) inherited: [usize; 2],
    pub(crate) generations: usize,
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
    let read = view.flows().head().unwrap();
    assert_eq!(read, *head, "{what}");
    let names: BTreeSet<EntityName> = exchanges(view).into_keys().collect();
    for (mode, owners) in all_owners(view, oracle) {
        let (found, expected) = (kept.of_mode(mode), Flows::by_day(oracle, &owners).sums());
        for key in found.keys().chain(expected.keys()) {
            assert_eq!(found.get(key), expected.get(key), "{what}: {mode:?}: {key:?} is not what the blocks have");
        }
        assert_balanced(oracle, &owners, &found, &format!("{what}: {mode:?}"));
        let held_now = held(oracle, owners.last().unwrap(), head.height);
        let sats = |held: &ExchangeBalance| match mode {
            FlowMode::Latest => held.latest,
            FlowMode::PointInTime => held.point_in_time,
        };
        let stored = head.held.iter().map(|held| (held.exchange.clone(), i128::from(sats(held))));
        let stored: BTreeMap<EntityName, i128> = stored.filter(|(_, sats)| *sats != 0).collect();
        assert_eq!(stored, held_now, "{what}: {mode:?}");
        assert!(head.held.iter().all(|held| names.contains(&held.exchange)), "{what}");
        for of in names.iter().map(Some).chain([None]) {
            let all = view.flows().of_days(&read, mode, of, 0..=u32::MAX).unwrap();
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
    // Held balances are kept for the last blocks only.
    since.iter_mut().filter(|(height, _)| *height + 12 <= tip).for_each(|(_, row)| row.held.clear());
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
pub(crate) fn members(view: &View<'_>) -> BTreeMap<EntityName, u64> {
    exchanges(view).into_iter().map(|(of, row)| (of, row.members)).collect()
}

/// An index, and what it has had of flows.
pub(crate) struct Following {
    pub(crate) index: Index,
    /// With the members of the generation that it had.
    pub(crate) states: Vec<(Kept, BTreeMap<EntityName, u64>)>,
    pub(crate) seen: Seen,
}

impl Following {
    pub(crate) fn new(index: Index) -> Self {
        Following { index, states: vec![Default::default()], seen: Seen::default() }
    }

    /// Closes and opens it. Rows that were not flushed are lost.
    pub(crate) fn reopened(self, what: &str) -> Self {
        let Following { index, mut states, seen } = self;
        let index = index.reopened();
        let kept = index.view(Kept::of);
        let state = states.iter().rfind(|(state, _)| *state == kept);
        states.push(state.unwrap_or_else(|| panic!("{what}: flows that never were: {kept:#?}")).clone());
        Following { index, states, seen }
    }

    /// Has the flows followed, and compares what is written.
    pub(crate) fn follow(&mut self, chain: &TimedChain, what: &str) {
        let Some(oracle) = oracle_at(&self.index, &chain.forge) else { return };
        let (before, mut of_generation) = self.states.last().unwrap().clone();
        let (is_due, expected, now) = self.index.view(|view| {
            assert_eq!(Kept::of(view), before, "{what}: nobody has written");
            let now = members(view);
            let is_there = |head: &FlowsHeadRow| view.chain().is(head.height, &head.hash);
            let head = before.head.as_ref().filter(|head| is_there(head));
            let is_due = head.is_none_or(|head| view.tip().height >= head.height + 144 || now != of_generation);
            assert_eq!(head.is_none(), matches!(view.flows().head(), Err(ReadError::Unfinished(_))), "{what}");
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
        // Without exchanges nothing distinguishes finished rows from others: they are written again.
        assert!(wrote == (is_due || after != before) || wrote && of_generation.is_empty(), "{what}: {wrote}");
        assert!(!index.engine.follow_flows(&NoProgress, true).unwrap(), "{what}: there is nothing to follow");
        states.push((after, of_generation));
    }

    /// Has a generation made from nothing, and compares it.
    pub(crate) fn made_again(self, chain: &TimedChain, what: &str) -> Self {
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
    let read = view.flows().blocks_after(head.height).unwrap();
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
pub(crate) fn change_rows(dir: &TempDir, change: impl FnOnce(&mut Batch<'_>)) {
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    let commit = writer.commit::<WriteError>(|batch| {
        change(batch);
        Ok(())
    });
    commit.unwrap();
    writer.flush().unwrap();
}
