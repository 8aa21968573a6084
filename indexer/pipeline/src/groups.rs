//! Deltas sorted and cut into groups. Both drivers pass through here.

use cairn_stages::{Delta, Lane, Merge, Prior, Rows, Stage, StageError, Way};

/// Records of key and value, back to back, as spills and batches hold them:
/// key length (1) │ value length (4, little-endian) │ key │ value.
pub(crate) fn put_record(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    out.push(key.len() as u8);
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Reads the record at the start of `bytes`; gives it and what follows it. `None` if cut short.
pub(crate) fn take_record(bytes: &[u8]) -> Option<(Delta<'_>, &[u8])> {
    let (&key_len, rest) = bytes.split_first()?;
    let (value_len, rest) = rest.split_first_chunk::<4>()?;
    let (key, rest) = rest.split_at_checked(usize::from(key_len))?;
    let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value_len) as usize)?;
    Some((Delta { key, value }, rest))
}

/// Where a record lies, and the start of its key as numbers: they decide nearly every comparison without a look at the
/// record. An offset of 32 bits keeps it at 24 bytes; half of the sorting is moving these.
struct Head {
    high: u64,
    low: u64,
    at: u32,
}

/// The heads of the records in `bytes`, in ascending order of the records' keys and values. `None` if a record is cut
/// short, or if there are more bytes than offsets can tell.
fn order(bytes: &[u8]) -> Option<Vec<Head>> {
    u32::try_from(bytes.len()).ok()?;
    let mut heads = Vec::with_capacity(bytes.len() / 24);
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = (bytes.len() - rest.len()) as u32;
        let (delta, after) = take_record(rest)?;
        let mut head = [0u8; 16];
        let n = delta.key.len().min(16);
        head[..n].copy_from_slice(&delta.key[..n]);
        let head = u128::from_be_bytes(head);
        heads.push(Head { high: (head >> 64) as u64, low: head as u64, at });
        rest = after;
    }
    let record = |head: &Head| bytes.get(head.at as usize..).and_then(take_record).map(|(delta, _)| delta);
    heads.sort_unstable_by(|a, b| {
        // Shorter keys are filled up with zeros, so equal heads say nothing yet.
        (a.high, a.low).cmp(&(b.high, b.low)).then_with(|| record(a).cmp(&record(b)))
    });
    Some(heads)
}

/// The records in `bytes` in ascending order of key and value. `None` if the bytes are cut short.
pub(crate) fn sorted(bytes: &[u8]) -> Option<Vec<Delta<'_>>> {
    order(bytes)?.iter().map(|head| Some(take_record(bytes.get(head.at as usize..)?)?.0)).collect()
}

/// Records that are owned and sorted, read one after the other.
pub(crate) struct SortedRecords {
    bytes: Vec<u8>,
    order: std::vec::IntoIter<Head>,
}

impl SortedRecords {
    /// Sorts the records in `bytes`. `None` if the bytes are cut short.
    pub(crate) fn new(bytes: Vec<u8>) -> Option<Self> {
        let order = order(&bytes)?.into_iter();
        Some(SortedRecords { bytes, order })
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Option<Delta<'_>> {
        let at = self.order.next()?.at;
        take_record(&self.bytes[at as usize..]).map(|(delta, _)| delta)
    }
}

/// Folds sorted deltas of one lane, group by group.
///
/// # Errors
/// What the stage or the rows say.
pub(crate) fn fold_sorted(
    stage: &dyn Stage,
    lane_index: usize,
    deltas: &[Delta<'_>],
    way: Way,
    prior: &dyn Prior,
    rows: &mut dyn Rows,
) -> Result<(), StageError> {
    let lane: &Lane = &stage.lanes()[lane_index];
    // Where deltas are rows, each key is a group of its own.
    let group_len = if lane.merge == Merge::Put { usize::MAX } else { lane.group_len };
    let prefix = |key: &[u8]| -> usize { group_len.min(key.len()) };
    for group in deltas.chunk_by(|a, b| a.key[..prefix(a.key)] == b.key[..prefix(b.key)]) {
        match (lane.merge, way) {
            (Merge::Fold, _) => stage.fold(lane_index, group, way, prior, rows)?,
            (Merge::Put, _) if group.len() > 1 => {
                return Err(StageError::Contradiction { stage: stage.name(), what: "a row is put twice" });
            }
            (Merge::Put, Way::Forward) => rows.put(lane.families[0], group[0].key, group[0].value)?,
            (Merge::Put, Way::Back) => rows.delete(lane.families[0], group[0].key)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn records_sort_by_key_then_value() {
        let mut bytes = Vec::new();
        for (k, v) in [(&b"bbbbbbbbz"[..], &b"1"[..]), (b"a", b"2"), (b"bbbbbbbba", b"3"), (b"a", b"1"), (b"a\0", b"0")]
        {
            put_record(&mut bytes, k, v);
        }
        let sorted = sorted(&bytes).unwrap();
        let keys: Vec<_> = sorted.iter().map(|d| (d.key, d.value)).collect();
        let mut expected = keys.clone();
        expected.sort();
        assert_eq!(keys, expected);
        assert!(super::sorted(&bytes[..bytes.len() - 1]).is_none());
    }
}
