//! Deltas sorted and cut into groups. Both drivers pass through here.

use cairn_stages::{Delta, FoldDirection, Group, Lane, Merge, Prior, PriorError, Reading, Rows, Stage, StageError};
use cairn_tables::{
    Family,
    codec::{Input, put_varint},
};

use crate::sums;

/// Records of key and value, back to back, as spills and batches hold them:
/// key length (1) │ value length (LEB128) │ key │ value.
pub(crate) fn put_record(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    out.reserve(key.len() + value.len() + 11);
    out.push(key.len() as u8);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Reads the record at the start of `bytes`; gives it and what follows it. `None` if cut short.
pub(crate) fn take_record(bytes: &[u8]) -> Option<(Delta<'_>, &[u8])> {
    let (&key_len, rest) = bytes.split_first()?;
    let (&short, after) = rest.split_first()?;
    let (value_len, rest) = if short < 0x80 {
        (usize::from(short), after)
    } else {
        let mut input = Input::new("", rest);
        let length = usize::try_from(input.varint().ok()?).ok()?;
        (length, &rest[rest.len() - input.left()..])
    };
    let (key, rest) = rest.split_at_checked(usize::from(key_len))?;
    let (value, rest) = rest.split_at_checked(value_len)?;
    Some((Delta { key, value }, rest))
}

/// Where a record lies, and the start of its key, with its value behind it where that tells more, as numbers: they decide
/// nearly every comparison without a look at the record. An offset of 32 bits keeps it at 24 bytes; half of the sorting is
/// moving these.
#[derive(Clone, Copy, Default)]
struct Head {
    high: u64,
    low: u64,
    at: u32,
}

/// Records in ascending order of key and value.
pub(crate) struct Sorted<'a> {
    bytes: &'a [u8],
    heads: Vec<Head>,
}

/// Bytes of memory that sorting takes for each record beside its own.
pub(crate) const SORT_OVERHEAD: u64 = size_of::<Head>() as u64;

impl<'a> Sorted<'a> {
    /// Sorts the records in `bytes`. `None` if a record is cut short, or if there are more bytes than offsets can tell.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        u32::try_from(bytes.len()).ok()?;
        let (mut seen, mut with_values) = (Seen::default(), true);
        if !each_head(bytes, with_values, |head| seen.add(&head))? {
            (seen, with_values) = (Seen::default(), false);
            each_head(bytes, with_values, |head| seen.add(&head))?;
        }
        let buckets = Buckets::of(&seen);
        let mut ends = vec![0u32; buckets.count];
        each_head(bytes, with_values, |head| ends[buckets.of_head(&head)] += 1)?;
        // Where each bucket begins, and after each was filled where it ends.
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        let mut heads = vec![Head::default(); seen.count];
        each_head(bytes, with_values, |head| {
            let end = &mut ends[buckets.of_head(&head)];
            heads[*end as usize] = head;
            *end += 1;
        })?;
        let mut start = 0;
        for end in ends {
            sort_bucket(bytes, &mut heads[std::mem::replace(&mut start, end as usize)..end as usize]);
        }
        Some(Sorted { bytes, heads })
    }

    /// The records in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Delta<'a>> + '_ {
        InOrder { bytes: self.bytes, heads: self.heads.iter(), read: [NOTHING; READ_AHEAD], at: 0, end: 0 }
    }
}

/// Records that are read at a time. They lie anywhere in memory, and the processor waits for several of them at once.
const READ_AHEAD: usize = 32;

const NOTHING: Delta<'static> = Delta { key: &[], value: &[] };

struct InOrder<'a, 'h> {
    bytes: &'a [u8],
    heads: std::slice::Iter<'h, Head>,
    /// Those of `at..end` are to come.
    read: [Delta<'a>; READ_AHEAD],
    at: usize,
    end: usize,
}

impl<'a> Iterator for InOrder<'a, '_> {
    type Item = Delta<'a>;

    #[inline]
    fn next(&mut self) -> Option<Delta<'a>> {
        if self.at == self.end {
            (self.at, self.end) = (0, 0);
            // In this order: the other way round, the head after the last place would be lost.
            for (read, head) in self.read.iter_mut().zip(self.heads.by_ref()) {
                // Each was read before.
                *read = take_record(self.bytes.get(head.at as usize..)?)?.0;
                self.end += 1;
            }
        }
        let next = self.read[..self.end].get(self.at).copied();
        self.at += usize::from(next.is_some());
        next
    }
}

/// Shows the heads of records, with values or without. False if keys have several lengths: then a value may not stand
/// behind its key. `None` if a record is cut short.
fn each_head(bytes: &[u8], with_values: bool, mut show: impl FnMut(Head)) -> Option<bool> {
    let (mut at, mut key_len) = (0, None);
    while at < bytes.len() {
        let (Delta { key, value }, after) = take_record(&bytes[at..])?;
        let end = bytes.len() - after.len();
        let start = end - value.len() - key.len();
        let length = if with_values { key.len() + value.len() } else { key.len() };
        if with_values && *key_len.get_or_insert(key.len()) != key.len() {
            return Some(false);
        }
        // Key and value lie one behind the other.
        let said = match bytes[start..].first_chunk::<16>() {
            Some(head) => u128::from_be_bytes(*head) & !u128::MAX.checked_shr(length as u32 * 8).unwrap_or(0),
            None => {
                let mut head = [0; 16];
                head[..length].copy_from_slice(&bytes[start..start + length]);
                u128::from_be_bytes(head)
            }
        };
        show(Head { high: (said >> 64) as u64, low: said as u64, at: at as u32 });
        at = end;
    }
    Some(true)
}

/// How many heads there are, and of what range.
struct Seen {
    count: usize,
    least: u64,
    most: u64,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { count: 0, least: u64::MAX, most: 0 }
    }
}

impl Seen {
    fn add(&mut self, head: &Head) {
        self.count += 1;
        (self.least, self.most) = (self.least.min(head.high), self.most.max(head.high));
    }
}

/// Heads are put into buckets by their leading bits first, a few in each: keys are spread evenly mostly.
struct Buckets {
    least: u64,
    shift: u32,
    count: usize,
}

impl Buckets {
    fn of(seen: &Seen) -> Self {
        let spread = seen.most.saturating_sub(seen.least);
        // More would not fit in the processor's near caches; none would be a shift by all bits.
        let bits = (seen.count / 4).max(2).ilog2().min(16);
        let shift = (u64::BITS - spread.leading_zeros()).saturating_sub(bits);
        Buckets { least: seen.least, shift, count: (spread >> shift) as usize + 1 }
    }

    fn of_head(&self, head: &Head) -> usize {
        ((head.high - self.least) >> self.shift) as usize
    }
}

/// Sorts heads by what they say, which needs no branch, and then by their records those that say the same: what is shorter
/// than a head is filled up with zeros.
fn sort_bucket(bytes: &[u8], heads: &mut [Head]) {
    let said = |head: &Head| u128::from(head.high) << 64 | u128::from(head.low);
    heads.sort_unstable_by_key(said);
    let record = |head: &Head| bytes.get(head.at as usize..).and_then(take_record).map(|(delta, _)| delta);
    for same in heads.chunk_by_mut(|a, b| said(a) == said(b)).filter(|same| same.len() > 1) {
        same.sort_unstable_by(|a, b| record(a).cmp(&record(b)));
    }
}

/// Folds a group; all of it is there. For the tip.
///
/// # Errors
/// What the stage or the rows say.
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

/// What hears the groups of a lane beside the fold.
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

/// Folds deltas that come in order, from empty tables, and lets others hear them. Groups that are too long come in parts.
pub(crate) struct Folding<'f, R, E = Deaf> {
    stage: &'f dyn Stage,
    lane_index: usize,
    /// Deltas after which a group is cut, at the next key.
    part: usize,
    /// Whether there are rows to be made, or only listeners.
    folds: bool,
    ears: Vec<E>,
    rows: Held<R>,
    memory: Reading,
    /// A key of the group whose first parts were folded.
    open: Option<Vec<u8>>,
}

impl<'f, R: Rows> Folding<'f, R, Deaf> {
    pub(crate) fn new(stage: &'f dyn Stage, lane_index: usize, part: usize, rows: R) -> Self {
        let rows = Held { rows, held: Vec::new(), holding: false };
        Folding { stage, lane_index, part, folds: true, ears: Vec::new(), rows, memory: Reading::default(), open: None }
    }

    /// With others that hear the groups; `folds` tells whether rows are made, too.
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

    /// Ends it, and gives the rows' taker and what heard the groups back.
    pub(crate) fn finish(mut self) -> Result<(R, Vec<E>), StageError> {
        self.rows.release()?;
        Ok((self.rows.rows, self.ears))
    }
}

/// Keeps the last row of each family back while its group is not complete: a later part may read and change it.
struct Held<R> {
    rows: R,
    held: Vec<(Family, Vec<u8>, Vec<u8>)>,
    holding: bool,
}

impl<R: Rows> Held<R> {
    fn release(&mut self) -> Result<(), StageError> {
        self.holding = false;
        let rows = &mut self.rows;
        self.held.drain(..).try_for_each(|(family, key, value)| rows.put(family, &key, &value))
    }
}

impl<R: Rows> Rows for Held<R> {
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

/// The rows kept back, as what the tables hold.
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
