//! Groups of sorted deltas, folded and heard. Both drivers pass through here.

use cairn_stages::{Delta, FoldDirection, Group, Lane, Merge, Prior, PriorError, Reading, Rows, Stage, StageError};
use cairn_tables::Family;

use crate::sums;

/// Folds a complete group, for the tip.
pub(crate) fn fold_group(
    stage: &dyn Stage,
    lane_index: usize,
    group: &Group<'_>,
    direction: FoldDirection,
    prior: &dyn Prior,
    rows: &mut dyn Rows,
) -> Result<(), StageError> {
    let lane = &stage.lanes()[lane_index];
    match (lane.merge, direction) {
        (Merge::Put, FoldDirection::Back) => rows.delete(lane.families[0], put_once(stage, group)?.key),
        (Merge::Put, FoldDirection::Forward) => {
            let row = put_once(stage, group)?;
            rows.put(lane.families[0], row.key, row.value)
        }
        (Merge::Add, _) => {
            let (family, key) = (lane.families[0], group[0].key);
            let old = prior.get(family, key).map_err(StageError::Prior)?;
            match sums::row_of(lane.name, group, direction, old.as_deref())? {
                Some(row) => rows.put(family, key, &row),
                None if old.is_some() => rows.delete(family, key),
                None => Ok(()),
            }
        }
        _ => stage.fold(lane_index, group, direction, prior, rows),
    }
}

fn put_once<'a>(stage: &dyn Stage, group: &[Delta<'a>]) -> Result<Delta<'a>, StageError> {
    match group {
        [row] => Ok(*row),
        _ => Err(StageError::Contradiction { stage: stage.name(), what: "a row is put twice" }),
    }
}

/// Where deltas are rows, each key is a group of its own.
pub(crate) fn same_group(lane: &Lane, a: &[u8], b: &[u8]) -> bool {
    let length = if matches!(lane.merge, Merge::Put | Merge::Add) { usize::MAX } else { lane.group_len };
    a[..length.min(a.len())] == b[..length.min(b.len())]
}

/// A listener of the groups of a lane, besides the fold.
pub(crate) trait Ear {
    /// A group, or a part of one.
    fn hear(&mut self, group: &Group<'_>) -> Result<(), StageError>;
}

/// Nothing hears them.
pub(crate) enum Deaf {}

impl Ear for Deaf {
    fn hear(&mut self, _: &Group<'_>) -> Result<(), StageError> {
        match *self {}
    }
}

/// Folds deltas that come in order into empty tables, and passes them to listeners. Groups that are too long come in
/// parts.
pub(crate) struct Folding<'f, R, E = Deaf> {
    stage: &'f dyn Stage,
    lane_index: usize,
    /// Deltas after which a group is cut, at the next key.
    part: usize,
    /// Whether there are rows to be made, or only listeners.
    folds: bool,
    ears: Vec<E>,
    rows: BufferedRows<R>,
    memory: Reading,
    /// A key of the group whose first parts were folded.
    open: Option<Vec<u8>>,
}

impl<'f, R: Rows> Folding<'f, R, Deaf> {
    pub(crate) fn new(stage: &'f dyn Stage, lane_index: usize, part: usize, rows: R) -> Self {
        let rows = BufferedRows { rows, held: Vec::new(), holding: false };
        Folding { stage, lane_index, part, folds: true, ears: Vec::new(), rows, memory: Reading::default(), open: None }
    }

    /// Adds listeners of the groups; `folds` is true if rows are made, too.
    pub(crate) fn heard_by<E: Ear>(self, ears: Vec<E>, folds: bool) -> Folding<'f, R, E> {
        let Folding { stage, lane_index, part, rows, memory, open, .. } = self;
        Folding { stage, lane_index, part, folds, ears, rows, memory, open }
    }
}

impl<R: Rows, E: Ear> Folding<'_, R, E> {
    /// Folds deltas in order. `more`: the last group may go on with the next call, though not its last key.
    pub(crate) fn take<'a>(&mut self, deltas: impl Iterator<Item = Delta<'a>>, more: bool) -> Result<(), StageError> {
        let lane = &self.stage.lanes()[self.lane_index];
        let mut group: Vec<Delta<'a>> = Vec::new();
        for delta in deltas {
            if let Some(last) = group.last() {
                let same = same_group(lane, last.key, delta.key);
                if !same || (group.len() >= self.part && last.key != delta.key) {
                    self.fold(&group, same)?;
                    group.clear();
                }
            }
            group.push(delta);
        }
        if group.is_empty() && more { Ok(()) } else { self.fold(&group, more) }
    }

    fn fold(&mut self, group: &[Delta<'_>], more: bool) -> Result<(), StageError> {
        let lane = &self.stage.lanes()[self.lane_index];
        let Some(first) = group.first() else { return self.rows.release() };
        let group = &Group::new(group, &self.memory);
        self.ears.iter_mut().try_for_each(|ear| ear.hear(group))?;
        if !self.folds {
            return Ok(());
        }
        if let Some(open) = self.open.take()
            && !same_group(lane, &open, first.key)
        {
            self.rows.release()?;
        }
        if lane.merge == Merge::Put {
            let row = put_once(self.stage, group)?;
            return self.rows.put(lane.families[0], row.key, row.value);
        }
        if lane.merge == Merge::Add {
            return match sums::row_of(lane.name, group, FoldDirection::Forward, None)? {
                Some(row) => self.rows.put(lane.families[0], first.key, &row),
                None => Ok(()),
            };
        }
        self.rows.holding |= more;
        if self.rows.holding {
            let prior = HeldRows(self.rows.held.clone());
            self.stage.fold(self.lane_index, group, FoldDirection::Forward, &prior, &mut self.rows)?;
        } else {
            self.stage.fold(
                self.lane_index,
                group,
                FoldDirection::Forward,
                &cairn_stages::NoPrior,
                &mut self.rows.rows,
            )?;
        }
        if more {
            self.open = Some(first.key.to_vec());
            return Ok(());
        }
        self.rows.release()
    }

    /// Ends the fold, and returns the taker of rows and the listeners.
    pub(crate) fn finish(mut self) -> Result<(R, Vec<E>), StageError> {
        self.rows.release()?;
        Ok((self.rows.rows, self.ears))
    }
}

/// Keeps the last row of each family back while its group is not complete: a later part may read and change it.
struct BufferedRows<R> {
    rows: R,
    held: Vec<(Family, Vec<u8>, Vec<u8>)>,
    holding: bool,
}

impl<R: Rows> BufferedRows<R> {
    fn release(&mut self) -> Result<(), StageError> {
        self.holding = false;
        let rows = &mut self.rows;
        self.held.drain(..).try_for_each(|(family, key, value)| rows.put(family, &key, &value))
    }
}

impl<R: Rows> Rows for BufferedRows<R> {
    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        if !self.holding {
            return self.rows.put(family, key, value);
        }
        match self.held.iter_mut().find(|(f, ..)| *f == family) {
            None => self.held.push((family, key.to_vec(), value.to_vec())),
            Some((_, last, kept)) => {
                if last[..] != *key {
                    self.rows.put(family, last, kept)?;
                    *last = key.to_vec();
                }
                *kept = value.to_vec();
            }
        }
        Ok(())
    }

    fn delete(&mut self, family: Family, key: &[u8]) -> Result<(), StageError> {
        self.rows.delete(family, key)
    }
}

/// The rows kept back, read as if the tables had them.
struct HeldRows(Vec<(Family, Vec<u8>, Vec<u8>)>);

impl Prior for HeldRows {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, PriorError> {
        match self.0.iter().find(|(f, ..)| *f == family) {
            Some((_, kept, value)) if kept[..] == *key => Ok(Some(value.clone())),
            // Rows before it are written already.
            Some((_, kept, _)) if key < &kept[..] => Err("a fold reads behind the last row of its group".into()),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
