//! Walks the records of one block file without reading the blocks.
//!
//! A record is magic, size, block. Nodes that crashed leave records that are truncated, partly overwritten, or followed
//! by the rest of an older one; preallocation leaves zeros. A record is accepted if its header has its proof of work
//! and another magic or the end of the file follows it; otherwise the whole block is read and must decode.

use crate::{
    bytes::Cursor,
    decode::{MAX_BLOCK_SIZE, MIN_BLOCK_SIZE, decode_block},
    error::SourceError,
    hash::Hash32,
    pow::{PowCheck, bits_of},
    raw_file::RawFile,
};

/// Magic and size before a block.
const PREFIX: u64 = 8;
/// The part of a record that is read: magic, size, header, transaction count.
const HEAD: usize = 8 + 80 + 9;
/// Maximum number of damaged offsets stored per scan; all are counted.
const MAX_PLACES: usize = 16;
/// Maximum number of records of one walk: a file of the smallest possible blocks has too many for a small memory limit.
pub(crate) const MAX_RECORDS: usize = 1 << 16;

/// A record that holds a block header with proof of work.
pub(crate) struct Record {
    pub(crate) hash: Hash32,
    /// Hash of the block before.
    pub(crate) previous: Hash32,
    /// The header's time.
    pub(crate) time: u32,
    pub(crate) bits: u32,
    /// Offset of the block's first byte.
    pub(crate) offset: u64,
    pub(crate) size: u32,
    pub(crate) tx_count: u32,
}

/// Result of one walk through a file.
#[derive(Default)]
pub(crate) struct Scan {
    pub(crate) records: Vec<Record>,
    /// Offset at which the next walk resumes.
    pub(crate) resume: u64,
    /// True if the walk ended at its limit, and the file has more.
    pub(crate) more: bool,
    /// True if the file ends in zeros or in an unfinished record: the node may still write to it.
    pub(crate) open: bool,
    /// Counts before `resume`.
    pub(crate) counts: ScanCounts,
    /// Counts after it; the next walk counts them again.
    pub(crate) tail: ScanCounts,
    /// The walk began at the start of the file.
    pub(crate) whole: bool,
    /// Offsets of damaged records, the first few.
    pub(crate) damaged_at: Vec<u64>,
    /// Offsets at which no whole record starts although records follow, the first few.
    pub(crate) skipped_at: Vec<u64>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanCounts {
    pub(crate) half_written: u64,
    pub(crate) unfinished: u64,
    pub(crate) damaged: u64,
    pub(crate) resyncs: u64,
    pub(crate) zero_bytes: u64,
    pub(crate) garbage_bytes: u64,
}

impl ScanCounts {
    /// Each count of `self` joined with that of `other`.
    pub(crate) fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        ScanCounts {
            half_written: f(self.half_written, other.half_written),
            unfinished: f(self.unfinished, other.unfinished),
            damaged: f(self.damaged, other.damaged),
            resyncs: f(self.resyncs, other.resyncs),
            zero_bytes: f(self.zero_bytes, other.zero_bytes),
            garbage_bytes: f(self.garbage_bytes, other.garbage_bytes),
        }
    }
}

/// The content at a position.
enum At {
    Record(Record),
    /// A magic without a block after it; with the position of the next record if its size is right.
    Damaged(Option<u64>),
    /// The file ends inside magic, size or header.
    Cut,
    Unwritten,
    Garbage,
    End,
}

pub(crate) struct Scanner<'a> {
    file: &'a mut RawFile,
    magic: [u8; 4],
    pow: &'a PowCheck,
    out: Scan,
    buf: Vec<u8>,
}

/// Walks a file from `from`. With `check_last`, or where the node may still be writing, the last record must decode.
pub(crate) fn scan_blocks(
    file: &mut RawFile,
    magic: [u8; 4],
    pow: &PowCheck,
    from: u64,
    check_last: bool,
) -> Result<Scan, SourceError> {
    let mut scanner = Scanner { file, magic, pow, out: Scan::default(), buf: Vec::new() };
    scanner.walk(from, u64::MAX)?;
    if scanner.out.more {
        return Ok(scanner.out);
    }
    if scanner.out.open || check_last {
        scanner.drop_unfinished(from)?;
    }
    Ok(scanner.out)
}

impl Scanner<'_> {
    /// Walks from one place to another, or to the end.
    fn walk(&mut self, from: u64, until: u64) -> Result<(), SourceError> {
        let len = self.file.len();
        let mut at = from;
        let mut unfinished = false;
        // Counts up to the place where the next walk goes on: here, or at the first unfinished record.
        let mut settled = ScanCounts::default();
        loop {
            if !unfinished {
                settled = self.out.counts;
                self.out.resume = at;
                if at >= until {
                    break;
                }
                if self.out.records.len() >= MAX_RECORDS {
                    self.out.more = true;
                    break;
                }
            }
            let go_on = match self.look(at)? {
                At::Record(record) => {
                    let next = at + PREFIX + u64::from(record.size);
                    if next > len {
                        // Still being written; or cut short by records that follow, which are then inside.
                        unfinished = true;
                        let next = self.find_record(at + PREFIX)?;
                        self.skipped(at, next)
                    } else if next == len || self.is_magic(next)? || self.decodes(&record)? {
                        self.out.records.push(record);
                        Some(next)
                    } else {
                        self.out.counts.half_written += 1;
                        self.place(at);
                        self.find_record(at + PREFIX)?
                    }
                }
                At::Damaged(next) => {
                    self.out.counts.damaged += 1;
                    self.place(at);
                    match next {
                        Some(next) if next < len && self.is_magic(next)? => Some(next),
                        _ => self.find_record(at + 1)?,
                    }
                }
                At::Cut => {
                    unfinished = true;
                    None
                }
                At::Unwritten => match self.file.skip_zeros(at)? {
                    Some(written) => {
                        self.out.counts.resyncs += 1;
                        self.out.counts.zero_bytes += written - at;
                        // Under a key, the magic itself may begin with zeros.
                        let next = self.find_record((at + 1).max(written.saturating_sub(3)))?;
                        self.skipped(at, next)
                    }
                    None => {
                        self.out.counts.zero_bytes += len - at;
                        self.out.open = true;
                        None
                    }
                },
                At::Garbage => {
                    let next = self.find_record(at + 1)?;
                    self.out.counts.resyncs += 1;
                    self.out.counts.garbage_bytes += next.unwrap_or(len) - at;
                    self.skipped(at, next)
                }
                At::End => None,
            };
            match go_on {
                Some(next) => at = next,
                None => break,
            }
        }
        self.out.tail = self.out.counts.zip(settled, |all, before| all - before);
        self.out.tail.unfinished = u64::from(unfinished);
        self.out.counts = settled;
        self.out.open |= unfinished;
        Ok(())
    }

    /// Drops records at the end that do not decode: their last pages were not written yet. The next walk reads them
    /// again. `from` is where this walk began.
    fn drop_unfinished(&mut self, from: u64) -> Result<(), SourceError> {
        let end = self.out.resume;
        while let Some(last) = self.out.records.pop() {
            if self.decodes(&last)? {
                self.out.records.push(last);
                break;
            }
            self.out.tail.half_written += 1;
            self.place(last.offset - PREFIX);
            self.out.resume = self.out.resume.min(last.offset - PREFIX);
            self.out.open = true;
        }
        if self.out.resume < end && self.out.counts != ScanCounts::default() {
            self.recount(from)?;
        }
        Ok(())
    }

    /// Counts again up to the place where the next walk goes on, after that place moved back: what lies behind it
    /// belongs to the tail, or the next walk would add it once more.
    fn recount(&mut self, from: u64) -> Result<(), SourceError> {
        let mut again = Scanner {
            file: &mut *self.file,
            magic: self.magic,
            pow: self.pow,
            out: Scan::default(),
            buf: std::mem::take(&mut self.buf),
        };
        again.walk(from, self.out.resume)?;
        let before = again.out.counts;
        let behind = self.out.counts.zip(before, |all, before| all.saturating_sub(before));
        self.out.tail = self.out.tail.zip(behind, |tail, more| tail + more);
        self.out.counts = before;
        Ok(())
    }

    fn place(&mut self, at: u64) {
        if self.out.damaged_at.len() < MAX_PLACES {
            self.out.damaged_at.push(at);
        }
    }

    /// Notes a place from which the walk goes on at `next`.
    fn skipped(&mut self, at: u64, next: Option<u64>) -> Option<u64> {
        if next.is_some() && self.out.skipped_at.len() < MAX_PLACES {
            self.out.skipped_at.push(at);
        }
        next
    }

    fn look(&mut self, at: u64) -> Result<At, SourceError> {
        let (head, n) = self.file.head::<HEAD>(at)?;
        if n > 0 && !head[..n].starts_with(&self.magic) && self.file.is_unwritten(at)? {
            return Ok(At::Unwritten);
        }
        Ok(self.judge(&head[..n], at))
    }

    fn judge(&self, head: &[u8], at: u64) -> At {
        let n = head.len();
        if n == 0 {
            return At::End;
        }
        if head[..n.min(4)] != self.magic[..n.min(4)] {
            return At::Garbage;
        }
        let (Some(size), Some(header)) = (le_u32(head, 4), head.get(8..88)) else { return At::Cut };
        if !(MIN_BLOCK_SIZE..=MAX_BLOCK_SIZE).contains(&size) {
            return At::Damaged(None);
        }
        let next = Some(at + PREFIX + u64::from(size));
        let mut array = [0u8; 80];
        array.copy_from_slice(header);
        let Some(hash) = self.pow.check(&array) else { return At::Damaged(next) };
        match Cursor::new(&head[88..]).compact_size() {
            Ok(0) => At::Damaged(next),
            Ok(count) => {
                let mut previous = [0u8; 32];
                previous.copy_from_slice(&array[4..36]);
                let (time, bits) = (time_of(&array), bits_of(&array));
                At::Record(Record { hash, previous, time, bits, offset: at + PREFIX, size, tx_count: count as u32 })
            }
            Err(crate::ReadError::Truncated) => At::Cut,
            Err(_) => At::Damaged(next),
        }
    }

    fn is_magic(&mut self, at: u64) -> Result<bool, SourceError> {
        let (head, n) = self.file.head::<4>(at)?;
        Ok(head[..n] == self.magic[..n])
    }

    fn decodes(&mut self, record: &Record) -> Result<bool, SourceError> {
        self.file.read(record.offset, record.size as usize, &mut self.buf)?;
        Ok(self.buf.len() == record.size as usize && decode_block(&self.buf, 0).is_ok())
    }

    /// The next position from `from` on with a magic and a header with proof of work.
    fn find_record(&mut self, from: u64) -> Result<Option<u64>, SourceError> {
        let mut head = Vec::new();
        let mut search = self.file.find_magic(self.magic, from, u64::MAX);
        while let Some(at) = search.next()? {
            self.file.read(at, HEAD, &mut head)?;
            if matches!(self.judge(&head, at), At::Record(_)) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}

fn time_of(header: &[u8; 80]) -> u32 {
    u32::from_le_bytes([header[68], header[69], header[70], header[71]])
}

fn le_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let b = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// An undo record, not yet checked.
#[derive(Clone, Copy)]
pub(crate) struct UndoRecord {
    /// Offset of the undo data's first byte.
    pub(crate) offset: u64,
    pub(crate) size: u32,
    /// Number of transactions for which it has coins.
    pub(crate) txs: u32,
}

/// Walks at most `most` records of an undo file: magic, size, undo data, checksum (not part of the size). The second
/// value is true if they were contiguous to the end.
pub(crate) fn scan_undo(
    file: &mut RawFile,
    magic: [u8; 4],
    most: usize,
) -> Result<(Vec<UndoRecord>, bool), SourceError> {
    let len = file.len();
    let mut records = Vec::new();
    let mut back_to_back = true;
    let mut at = 0;
    loop {
        if records.len() >= most {
            return Ok((records, false));
        }
        let (head, n) = file.head::<17>(at)?;
        let mut go_on = None;
        if n < 9 {
            // The end, or a record that is just being written.
            return Ok((records, back_to_back));
        } else if head.starts_with(&magic) {
            let size = le_u32(&head, 4).unwrap_or_default();
            let next = at + PREFIX + u64::from(size) + 32;
            if size > 0
                && next <= len
                && let Ok(txs) = Cursor::new(&head[8..n]).compact_size()
            {
                // A truncated record is kept as well: the checksum decides.
                records.push(UndoRecord { offset: at + PREFIX, size, txs: txs as u32 });
                let (after, n) = file.head::<4>(next)?;
                if after[..n] == magic[..n] {
                    go_on = Some(next);
                } else if file.is_unwritten(next)? && file.skip_zeros(next)?.is_none() {
                    return Ok((records, back_to_back));
                }
            }
        } else if file.is_unwritten(at)? {
            match file.skip_zeros(at)? {
                None => return Ok((records, back_to_back)),
                Some(written) => at = written.saturating_sub(4).max(at),
            }
        }
        at = match go_on {
            Some(next) => next,
            None => match file.find_magic(magic, at + 1, u64::MAX).next()? {
                Some(next) => {
                    back_to_back = false;
                    next
                }
                None => return Ok((records, false)),
            },
        };
    }
}
