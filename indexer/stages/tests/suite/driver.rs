//! A driver over tables in memory.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::{self, Read, Write},
    ops::{Deref, DerefMut},
    rc::Rc,
};

use cairn_model::Block;
use cairn_stages::{
    ChainTimes, Delta, FoldDirection, Group, HearContext, HeardLane, MapContext, Merge, NoPrior, Prior, PriorError,
    Reading, Rows, Scratch, Sequence, Stage, StageError, Workspace, all,
};
use cairn_tables::{Family, ValueCodec, codec::Input, sums::Sums};

use crate::chains::{NaivePast, known_of};

/// The stage of that name.
pub(crate) fn stage(name: &str) -> Box<dyn Stage> {
    all().into_iter().find(|stage| stage.name() == name).expect("a stage of that name")
}

/// All rows, by family and key.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tables(pub(crate) BTreeMap<(Family, Vec<u8>), Vec<u8>>);

impl Prior for Tables {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, PriorError> {
        Ok(self.0.get(&(family, key.to_vec())).cloned())
    }
}

impl Tables {
    /// Panics with the first difference: whole tables would be unreadable.
    #[track_caller]
    pub(crate) fn assert_equal(&self, other: &Tables, what: &str) {
        for (row, value) in &self.0 {
            assert_eq!(Some(value), other.0.get(row), "{what}: row {row:02x?}");
        }
        for row in other.0.keys() {
            assert!(self.0.contains_key(row), "{what}: row {row:02x?} should not be there");
        }
    }
}

/// The writes of a fold: rows to put or, without value, to delete.
type Writes = Vec<(Family, Vec<u8>, Option<Vec<u8>>)>;

struct Collect<'s> {
    families: &'s [Family],
    /// As in bulk: rows rise within a family, nothing is deleted.
    bulk: bool,
    last: BTreeMap<Family, Vec<u8>>,
    writes: Writes,
}

impl Rows for Collect<'_> {
    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        assert!(self.families.contains(&family), "a lane writes a family that it does not declare");
        if self.bulk {
            let last = self.last.insert(family, key.to_vec());
            assert!(last.is_none_or(|last| &last[..] < key), "rows of {} do not rise", family.name());
        }
        self.writes.push((family, key.to_vec(), Some(value.to_vec())));
        Ok(())
    }

    fn delete(&mut self, family: Family, key: &[u8]) -> Result<(), StageError> {
        assert!(self.families.contains(&family), "a lane writes a family that it does not declare");
        if self.bulk {
            return Err(StageError::Contradiction { stage: "bulk", what: "a row is deleted that was never put" });
        }
        self.writes.push((family, key.to_vec(), None));
        Ok(())
    }
}

/// A key and what was emitted with it.
pub(crate) type Emitted = (Vec<u8>, Vec<u8>);

/// The deltas of some blocks, by lane, and the times of their chain.
#[derive(Clone, Default)]
pub(crate) struct Deltas {
    lanes: Vec<Vec<Emitted>>,
    times: ChainTimes,
}

impl Deref for Deltas {
    type Target = Vec<Vec<Emitted>>;

    fn deref(&self) -> &Self::Target {
        &self.lanes
    }
}

impl DerefMut for Deltas {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.lanes
    }
}

/// The deltas of some blocks that follow each other, in any order; by lane, in the order of emission.
pub(crate) fn deltas<'b>(stage: &dyn Stage, blocks: impl IntoIterator<Item = &'b Block>) -> Deltas {
    let blocks: Vec<&Block> = blocks.into_iter().collect();
    let lanes = match stage.hears() {
        None => mapped(stage, &blocks),
        Some(heard) => heard_by(stage, &heard, &blocks),
    };
    let last = blocks.iter().max_by_key(|block| block.height);
    Deltas { lanes, times: last.map_or_else(ChainTimes::default, |last| known_of(last).times.clone()) }
}

fn mapped(stage: &dyn Stage, blocks: &[&Block]) -> Vec<Vec<Emitted>> {
    let mut lanes = vec![Vec::new(); stage.lanes().len()];
    for block in blocks {
        let context = MapContext { txid_prefix: 8, times: &known_of(block).times };
        stage.map(block, &context, &mut |lane, key, value| lanes[lane].push((key.to_vec(), value.to_vec())));
    }
    lanes
}

fn heard_by(stage: &dyn Stage, heard: &HeardLane, blocks: &[&Block]) -> Vec<Vec<Emitted>> {
    let mut lanes = vec![Vec::new(); stage.lanes().len()];
    let first = blocks.iter().min_by_key(|block| block.height);
    let last = blocks.iter().max_by_key(|block| block.height);
    let (Some(first), Some(last)) = (first, last) else { return lanes };
    // The chain of the last: those before it may belong to several.
    let known = known_of(last);
    let past = NaivePast { known: &known, before: first.first_tx };
    let mut listener = stage.listener(HearContext { times: &known.times, past: &past }).expect("a listener");
    let emitted = mapped(heard.stage, blocks).swap_remove(heard.lane);
    let mut sorted: Vec<Delta<'_>> = emitted.iter().map(|(key, value)| Delta { key, value }).collect();
    sorted.sort();
    let len = heard.stage.lanes()[heard.lane].group_len;
    let mut emit = |lane: usize, key: &[u8], value: &[u8]| lanes[lane].push((key.to_vec(), value.to_vec()));
    let memory = Reading::default();
    for group in sorted.chunk_by(|a, b| a.key[..len] == b.key[..len]) {
        listener.hear(&Group::new(group, &memory), &mut emit).unwrap();
    }
    listener.finish(&mut emit).unwrap();
    lanes
}

/// Files in memory, by name.
#[derive(Default)]
struct Files(Rc<RefCell<BTreeMap<String, Vec<u8>>>>);

struct Writing(Rc<RefCell<BTreeMap<String, Vec<u8>>>>, String);

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().get_mut(&self.1).expect("a file").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Scratch for Files {
    fn create(&self, name: &str) -> Result<Box<dyn Write>, StageError> {
        assert_eq!(self.0.borrow_mut().insert(name.to_owned(), Vec::new()), None, "a file is there already");
        Ok(Box::new(Writing(Rc::clone(&self.0), name.to_owned())))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read>, StageError> {
        Ok(Box::new(io::Cursor::new(self.0.borrow()[name].clone())))
    }

    fn remove(&self, name: &str) -> Result<(), StageError> {
        self.0.borrow_mut().remove(name).expect("a file to remove");
        Ok(())
    }
}

/// Deltas that are sorted, as a sequence.
struct SortedDeltas<'d>(Vec<Delta<'d>>);

impl Sequence for SortedDeltas<'_> {
    fn groups(
        &self,
        from: &[u8],
        show: &mut dyn FnMut(&[Delta<'_>]) -> Result<bool, StageError>,
    ) -> Result<(), StageError> {
        let at = self.0.partition_point(|delta| delta.key < from);
        for group in self.0[at..].chunk_by(|a, b| a.key == b.key) {
            if !show(group)? {
                break;
            }
        }
        Ok(())
    }
}

/// Folds deltas into writes; `prior` is what the tables hold before, `memory` what an ordered fold may take if it is in
/// bulk.
fn folded(
    stage: &dyn Stage,
    deltas: &Deltas,
    direction: FoldDirection,
    prior: &dyn Prior,
    memory: Option<u64>,
) -> Result<Writes, StageError> {
    let (bulk, mut writes) = (memory.is_some(), Writes::new());
    let mut lanes = deltas.lanes.clone();
    for (at, lane) in stage.lanes().iter().enumerate() {
        let emitted = std::mem::take(&mut lanes[at]);
        let mut sorted: Vec<Delta<'_>> = emitted.iter().map(|(key, value)| Delta { key, value }).collect();
        sorted.sort();
        let mut rows = Collect { families: lane.families, bulk, last: BTreeMap::new(), writes: Vec::new() };
        if lane.merge == Merge::Ordered {
            let mut emit = |lane: usize, key: &[u8], value: &[u8]| {
                assert!(lane > at, "an ordered fold emits into a lane that is not behind it");
                lanes[lane].push((key.to_vec(), value.to_vec()));
            };
            match memory {
                Some(memory) => {
                    let scratch = Files::default();
                    let work = Workspace { memory, scratch: &scratch };
                    stage.fold_sequence(at, &SortedDeltas(sorted), &work, &deltas.times, &mut emit)?;
                }
                None => {
                    stage.fold_ordered(at, &sorted, direction, &deltas.times, prior, &mut rows, &mut emit)?;
                }
            }
            writes.append(&mut rows.writes);
            continue;
        }
        let group_of = |delta: &Delta<'_>| delta.key[..lane.group_len.min(delta.key.len())].to_vec();
        let mut rest = &sorted[..];
        while let Some(first) = rest.first() {
            let len = rest.iter().take_while(|delta| group_of(delta) == group_of(first)).count();
            let (group, after) = rest.split_at(len);
            rest = after;
            match (lane.merge, direction) {
                (Merge::Ordered, _) => unreachable!("it is folded above"),
                (Merge::Fold | Merge::Coin { .. }, _) => {
                    stage.fold(at, &Group::new(group, &Reading::default()), direction, prior, &mut rows)?
                }
                (Merge::Add, _) => {
                    let family = lane.families[0];
                    let old = prior.get(family, first.key).map_err(StageError::Prior)?;
                    let mut sum: BTreeMap<u32, i128> = BTreeMap::new();
                    let mut add = |bytes: &[u8], sign: i128| -> Result<(), StageError> {
                        let sums = Sums::decode(&mut Input::new(lane.name, bytes))?;
                        sums.iter().for_each(|(position, number)| *sum.entry(position).or_default() += sign * number);
                        Ok(())
                    };
                    old.iter().try_for_each(|old| add(old, 1))?;
                    let sign = if direction == FoldDirection::Forward { 1 } else { -1 };
                    group.iter().try_for_each(|delta| add(delta.value, sign))?;
                    let mut value = Vec::new();
                    Sums::of(sum)?.encode(&mut value);
                    match (value.is_empty(), old) {
                        (false, _) => rows.put(family, first.key, &value)?,
                        (true, Some(_)) => rows.delete(family, first.key)?,
                        (true, None) => {}
                    }
                }
                (Merge::Put, _) => {
                    if group.len() > 1 {
                        return Err(StageError::Contradiction { stage: lane.name, what: "a row is put twice" });
                    }
                    match direction {
                        FoldDirection::Forward => rows.put(lane.families[0], first.key, first.value)?,
                        FoldDirection::Back => rows.delete(lane.families[0], first.key)?,
                    }
                }
            }
        }
        writes.append(&mut rows.writes);
    }
    Ok(writes)
}

/// Applies deltas in one fold. At an error the tables stay as they are.
pub(crate) fn fold(
    stage: &dyn Stage,
    deltas: &Deltas,
    direction: FoldDirection,
    tables: &mut Tables,
) -> Result<(), StageError> {
    for (family, key, value) in folded(stage, deltas, direction, tables, None)? {
        match value {
            Some(value) => tables.0.insert((family, key), value),
            None => tables.0.remove(&(family, key)),
        };
    }
    Ok(())
}

/// Applies blocks as far as can be at once: all in one fold.
pub(crate) fn apply(
    stage: &dyn Stage,
    blocks: &[Block],
    direction: FoldDirection,
    tables: &mut Tables,
) -> Result<(), StageError> {
    fold(stage, &deltas(stage, blocks), direction, tables)
}

/// Applies blocks one by one, as at the tip: backwards the newest first.
pub(crate) fn step_by_step(
    stage: &dyn Stage,
    blocks: &[Block],
    direction: FoldDirection,
    tables: &mut Tables,
) -> Result<(), StageError> {
    let mut step = |block: &Block| fold(stage, &deltas(stage, [block]), direction, tables);
    match direction {
        FoldDirection::Forward => blocks.iter().try_for_each(&mut step),
        FoldDirection::Back => blocks.iter().rev().try_for_each(&mut step),
    }
}

/// The tables after blocks from genesis on, one by one.
pub(crate) fn tip(stage: &dyn Stage, blocks: &[Block]) -> Tables {
    let mut tables = Tables::default();
    step_by_step(stage, blocks, FoldDirection::Forward, &mut tables).unwrap();
    tables
}

/// The tables as bulk indexing makes them: one fold over everything, without looking at what is there.
pub(crate) fn bulk(stage: &dyn Stage, deltas: &Deltas) -> Result<Tables, StageError> {
    bulk_within(stage, deltas, u64::MAX)
}

/// The same with `memory` bytes of memory.
pub(crate) fn bulk_within(stage: &dyn Stage, deltas: &Deltas, memory: u64) -> Result<Tables, StageError> {
    let rows = folded(stage, deltas, FoldDirection::Forward, &NoPrior, Some(memory));
    rows.map(|rows| {
        Tables(rows.into_iter().map(|(family, key, value)| ((family, key), value.expect("bulk only puts"))).collect())
    })
}
