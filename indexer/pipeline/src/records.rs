//! Records of deltas, as spills and batches hold them, and how they are sorted.

use cairn_stages::Delta;
use cairn_tables::codec::{Input, put_varint};

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

/// The offset of a record, and the first 16 bytes of its key as numbers, followed by those of its value if all keys
/// have the same length. These numbers decide nearly every comparison without a look at the record. An offset of 32
/// bits keeps it at 24 bytes; half of the sorting is moving these.
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

/// Extra bytes of memory per record while sorting.
pub(crate) const SORT_OVERHEAD: u64 = size_of::<Head>() as u64;

impl<'a> Sorted<'a> {
    /// Sorts the records in `bytes`. `None` if a record is cut short, or if there are more bytes than offsets of 32
    /// bits reach.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        u32::try_from(bytes.len()).ok()?;
        let (mut range, mut with_values) = (HeadRange::default(), true);
        if !each_head(bytes, with_values, |head| range.add(&head))? {
            (range, with_values) = (HeadRange::default(), false);
            each_head(bytes, with_values, |head| range.add(&head))?;
        }
        let buckets = Buckets::of(&range);
        let mut ends = vec![0u32; buckets.count];
        each_head(bytes, with_values, |head| ends[buckets.of_head(&head)] += 1)?;
        // Where each bucket begins, and after each was filled where it ends.
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        let mut heads = vec![Head::default(); range.count];
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
struct HeadRange {
    count: usize,
    least: u64,
    most: u64,
}

impl Default for HeadRange {
    fn default() -> Self {
        HeadRange { count: 0, least: u64::MAX, most: 0 }
    }
}

impl HeadRange {
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
    fn of(range: &HeadRange) -> Self {
        let spread = range.most.saturating_sub(range.least);
        // More would not fit in the processor's near caches; none would be a shift by all bits.
        let bits = (range.count / 4).max(2).ilog2().min(16);
        let shift = (u64::BITS - spread.leading_zeros()).saturating_sub(bits);
        Buckets { least: range.least, shift, count: (spread >> shift) as usize + 1 }
    }

    fn of_head(&self, head: &Head) -> usize {
        ((head.high - self.least) >> self.shift) as usize
    }
}

/// Sorts heads by what they say, which needs no branch, and then by their records those that say the same: what is
/// shorter than a head is filled up with zeros.
fn sort_bucket(bytes: &[u8], heads: &mut [Head]) {
    let said = |head: &Head| u128::from(head.high) << 64 | u128::from(head.low);
    heads.sort_unstable_by_key(said);
    let record = |head: &Head| bytes.get(head.at as usize..).and_then(take_record).map(|(delta, _)| delta);
    for same in heads.chunk_by_mut(|a, b| said(a) == said(b)).filter(|same| same.len() > 1) {
        same.sort_unstable_by(|a, b| record(a).cmp(&record(b)));
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn records_sort_by_key_then_value() {
        let mut bytes = Vec::new();
        let long = [7; 300];
        for (k, v) in
            [(&b"bbbbbbbbz"[..], &b"1"[..]), (b"a", b"2"), (b"bbbbbbbba", b"3"), (b"a", &long), (b"a\0", b"0")]
        {
            put_record(&mut bytes, k, v);
        }
        for n in 0..5_000u32 {
            let key = n.wrapping_mul(2_654_435_761).to_be_bytes();
            put_record(&mut bytes, &[&key[..], b"0123456789abcdef"].concat(), &[n as u8]);
            put_record(&mut bytes, &[&[9; 20], &key[..1]].concat(), &key);
        }
        let sorted = Sorted::new(&bytes).unwrap();
        let keys: Vec<_> = sorted.iter().map(|d| (d.key, d.value)).collect();
        let mut expected = keys.clone();
        expected.sort();
        assert_eq!(keys.len(), 10_005);
        assert_eq!(keys, expected);
        assert!(Sorted::new(&bytes[..bytes.len() - 1]).is_none());
    }

    /// Every record comes out, once, and in the order that a plain sort gives: keys that are all alike, spread evenly,
    /// or far from one that is alone; empty, short, and longer than a head; with values that decide.
    #[test]
    fn whatever_the_records_they_sort_as_a_plain_sort_does() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(15);
        for round in 0..400 {
            let count = [0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 65, 700][round % 12];
            let (alike, key_len, value_len) =
                (rng.random_range(0..20), rng.random_range(0..24), rng.random_range(0..40));
            let mixed = round % 3 == 0;
            let mut expected: Vec<(Vec<u8>, Vec<u8>)> = (0..count)
                .map(|n| {
                    let len = if mixed { rng.random_range(0..=key_len) } else { key_len };
                    let outlier = n == 0 && round % 5 == 0;
                    let byte = |at: usize, rng: &mut rand_chacha::ChaCha8Rng| match at {
                        _ if outlier => 0xff,
                        at if at < alike => 7,
                        _ => rng.random_range(0..3),
                    };
                    let key = (0..len).map(|at| byte(at, &mut rng)).collect();
                    let len = if round % 7 == 0 { 130 } else { rng.random_range(0..=value_len) };
                    (key, (0..len).map(|_| rng.random_range(0..2)).collect())
                })
                .collect();
            let mut bytes = Vec::new();
            expected.iter().for_each(|(key, value)| put_record(&mut bytes, key, value));
            expected.sort();
            let sorted = Sorted::new(&bytes).unwrap();
            let found: Vec<_> = sorted.iter().map(|delta| (delta.key.to_vec(), delta.value.to_vec())).collect();
            assert!(found == expected, "round {round}: {count} records");
            if !bytes.is_empty() {
                assert!(Sorted::new(&bytes[..bytes.len() - 1]).is_none(), "round {round}: cut short");
            }
        }
    }
}
