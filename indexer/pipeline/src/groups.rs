//! Deltas sorted and cut into groups. Both drivers pass through here.

use cairn_stages::{Delta, FoldDirection, Group, Lane, Merge, Prior, PriorError, Rows, Stage, StageError};
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
/// nearly every comparison without a look at the record. An offset of 32 bits keeps it at 24 bytes; half of the sorting is moving these.
#[derive(Clone, Copy)]
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
        let mut heads = Vec::with_capacity(bytes.len() / 24);
        if !read_heads(bytes, true, &mut heads)? {
            heads.clear();
            read_heads(bytes, false, &mut heads)?;
        }
        let record = |head: &Head| bytes.get(head.at as usize..).and_then(take_record).map(|(delta, _)| delta);
        let compare = |a: &Head, b: &Head| {
            // What is shorter is filled up with zeros, so equal heads say nothing yet.
            (a.high, a.low).cmp(&(b.high, b.low)).then_with(|| record(a).cmp(&record(b)))
        };
        for bucket in bucketed(&mut heads) {
            heads[bucket].sort_unstable_by(compare);
        }
        Some(Sorted { bytes, heads })
    }

    /// The records in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Delta<'a>> + '_ {
        let records = self.heads.iter().map(|head| self.bytes.get(head.at as usize..).and_then(take_record));
        // Each was read before.
        records.filter_map(|record| record.map(|(delta, _)| delta))
    }
}

/// Reads the heads of records, with values or without. False if keys have several lengths: then a value may not stand
/// behind its key. `None` if a record is cut short.
fn read_heads(bytes: &[u8], with_values: bool, heads: &mut Vec<Head>) -> Option<bool> {
    let (mut rest, mut key_len) = (bytes, None);
    while !rest.is_empty() {
        let at = (bytes.len() - rest.len()) as u32;
        let (delta, after) = take_record(rest)?;
        let mut head = [0u8; 16];
        let n = delta.key.len().min(16);
        head[..n].copy_from_slice(&delta.key[..n]);
        if with_values {
            if *key_len.get_or_insert(delta.key.len()) != delta.key.len() {
                return Some(false);
            }
            let more = delta.value.len().min(16 - n);
            head[n..n + more].copy_from_slice(&delta.value[..more]);
        }
        let head = u128::from_be_bytes(head);
        heads.push(Head { high: (head >> 64) as u64, low: head as u64, at });
        rest = after;
    }
    Some(true)
}

/// Puts heads into buckets by their leading bits, in place; gives the buckets in order. Keys are spread evenly mostly,
/// and then what is left to sort fits in the processor's nearest cache.
fn bucketed(heads: &mut [Head]) -> Vec<std::ops::Range<usize>> {
    let (Some(min), Some(max)) = (heads.iter().map(|h| h.high).min(), heads.iter().map(|h| h.high).max()) else {
        return Vec::new();
    };
    if heads.len() < 256 {
        return std::iter::once(0..heads.len()).collect();
    }
    let bits = (heads.len() / 64).ilog2().min(12);
    let shift = (64 - (max - min).leading_zeros()).saturating_sub(bits);
    let bucket = |head: &Head| ((head.high - min) >> shift) as usize;
    let mut ends = vec![0usize; (((max - min) >> shift) + 1) as usize];
    heads.iter().for_each(|head| ends[bucket(head)] += 1);
    let mut starts = Vec::with_capacity(ends.len());
    let mut sum = 0;
    for end in &mut ends {
        starts.push(sum);
        sum += *end;
        *end = sum;
    }
    let mut next = starts.clone();
    for this in 0..ends.len() {
        while next[this] < ends[this] {
            let at = next[this];
            let right = bucket(&heads[at]);
            if right != this {
                heads.swap(at, next[right]);
            }
            next[right] += 1;
        }
    }
    starts.into_iter().zip(ends).map(|(start, end)| start..end).collect()
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
    /// A key of the group whose first parts were folded.
    open: Option<Vec<u8>>,
}

impl<'f, R: Rows> Folding<'f, R, Deaf> {
    pub(crate) fn new(stage: &'f dyn Stage, lane_index: usize, part: usize, rows: R) -> Self {
        let rows = Held { rows, held: Vec::new(), holding: false };
        Folding { stage, lane_index, part, folds: true, ears: Vec::new(), rows, open: None }
    }

    /// With others that hear the groups; `folds` tells whether rows are made, too.
    pub(crate) fn heard_by<E: Ear>(self, ears: Vec<E>, folds: bool) -> Folding<'f, R, E> {
        let Folding { stage, lane_index, part, rows, open, .. } = self;
        Folding { stage, lane_index, part, folds, ears, rows, open }
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
