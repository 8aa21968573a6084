//! A driver over tables in memory.

use std::collections::BTreeMap;

use cairn_model::Block;
use cairn_stages::{
    Delta, FoldDirection, HearContext, Heard, MapContext, Merge, NoPrior, Order, Prior, PriorError, Rows, Stage,
    StageError, all,
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

/// What a fold wrote: rows to put or, without value, to delete.
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

/// The deltas of some blocks that follow each other, in any order; by lane, in the order of emission.
pub(crate) fn deltas<'b>(stage: &dyn Stage, blocks: impl IntoIterator<Item = &'b Block>) -> Vec<Vec<Emitted>> {
    let blocks: Vec<&Block> = blocks.into_iter().collect();
    match stage.hears() {
        None => mapped(stage, &blocks),
        Some(heard) => heard_by(stage, &heard, &blocks),
    }
}

fn mapped(stage: &dyn Stage, blocks: &[&Block]) -> Vec<Vec<Emitted>> {
    let mut lanes = vec![Vec::new(); stage.lanes().len()];
    for block in blocks {
        let context = MapContext { txid_prefix: 8, times: &known_of(block).times };
        stage.map(block, &context, &mut |lane, key, value| lanes[lane].push((key.to_vec(), value.to_vec())));
    }
    lanes
}

fn heard_by(stage: &dyn Stage, heard: &Heard, blocks: &[&Block]) -> Vec<Vec<Emitted>> {
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
    sorted.chunk_by(|a, b| a.key[..len] == b.key[..len]).for_each(|group| listener.hear(group).unwrap());
    listener.finish(&mut |lane, key, value| lanes[lane].push((key.to_vec(), value.to_vec()))).unwrap();
    lanes
}

/// Folds deltas into writes; `prior` is what the tables hold before.
fn folded(
    stage: &dyn Stage,
    deltas: &[Vec<Emitted>],
    direction: FoldDirection,
    prior: &dyn Prior,
    bulk: bool,
) -> Result<Writes, StageError> {
    let mut writes = Writes::new();
    for (at, (lane, emitted)) in stage.lanes().iter().zip(deltas).enumerate() {
        let mut sorted: Vec<Delta<'_>> = emitted.iter().map(|(key, value)| Delta { key, value }).collect();
        sorted.sort();
        let mut rows = Collect { families: lane.families, bulk, last: BTreeMap::new(), writes: Vec::new() };
        let group_of = |delta: &Delta<'_>| delta.key[..lane.group_len.min(delta.key.len())].to_vec();
        let mut rest = &sorted[..];
        while let Some(first) = rest.first() {
            let len = rest.iter().take_while(|delta| group_of(delta) == group_of(first)).count();
            let (group, after) = rest.split_at(len);
            rest = after;
            match (lane.merge, direction) {
                (Merge::Fold | Merge::Coin { .. }, _) => stage.fold(at, group, direction, prior, &mut rows)?,
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
                    assert_eq!(group.len(), 1, "{}: a key comes twice in a lane that only puts", lane.name);
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
    deltas: &[Vec<Emitted>],
    direction: FoldDirection,
    tables: &mut Tables,
) -> Result<(), StageError> {
    for (family, key, value) in folded(stage, deltas, direction, tables, false)? {
        match value {
            Some(value) => tables.0.insert((family, key), value),
            None => tables.0.remove(&(family, key)),
        };
    }
    Ok(())
}

/// Applies blocks as far as can be at once: an order-free stage in one fold, an ordered one block by block.
pub(crate) fn apply(
    stage: &dyn Stage,
    blocks: &[Block],
    direction: FoldDirection,
    tables: &mut Tables,
) -> Result<(), StageError> {
    match stage.order() {
        Order::Free => fold(stage, &deltas(stage, blocks), direction, tables),
        Order::Ordered => step_by_step(stage, blocks, direction, tables),
    }
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

/// The tables as bulk indexing makes them: one fold over everything, without looking at what is there. `None` for an
/// ordered stage, which bulk indexing leaves to the tip's driver.
pub(crate) fn bulk(stage: &dyn Stage, deltas: &[Vec<Emitted>]) -> Option<Result<Tables, StageError>> {
    if stage.order() == Order::Ordered {
        return None;
    }
    let rows = folded(stage, deltas, FoldDirection::Forward, &NoPrior, true);
    Some(rows.map(|rows| {
        Tables(rows.into_iter().map(|(family, key, value)| ((family, key), value.expect("bulk only puts"))).collect())
    }))
}
