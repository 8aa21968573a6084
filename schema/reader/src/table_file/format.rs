//! The format of RocksDB's block-based table files, as far as their checksums need it.
//!
//! ```text
//! file    blocks │ footer
//! block   content │ compression (1) │ checksum (4)
//! footer  kind of checksum (1) │ handle of the meta index │ handle of the index │ zeros │ version (4) │ magic (8)
//! handle  offset and size of a block's content, as varints
//! ```

use twox_hash::XxHash3_64;

use super::lz4;

/// Bytes of the footer.
pub(super) const FOOTER: usize = 53;
/// Bytes behind the content of a block.
pub(super) const TRAILER: usize = 5;
/// The last bytes of a table file.
const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
/// Versions whose footer and blocks look like this.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=5;
/// The kind of checksum that RocksDB writes.
const XXH3: u8 = 4;

/// Position of the content of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Handle {
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl Handle {
    /// One past the block with its trailer.
    pub(super) fn end(self) -> u64 {
        self.offset.saturating_add(self.size).saturating_add(TRAILER as u64)
    }
}

/// A cursor over bytes.
pub(super) struct Bytes<'b>(pub(super) &'b [u8]);

impl<'b> Bytes<'b> {
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn sized(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok()
    }

    fn handle(&mut self) -> Option<Handle> {
        Some(Handle { offset: self.varint()?, size: self.varint()? })
    }
}

/// The handles of meta index and index.
pub(super) fn footer(bytes: &[u8]) -> Result<(Handle, Handle), String> {
    let number = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    if u64::from(number(FOOTER - 4)) << 32 | u64::from(number(FOOTER - 8)) != MAGIC {
        return Err("it does not end like a table file".to_owned());
    }
    let (version, kind) = (number(FOOTER - 12), bytes[0]);
    if !VERSIONS.contains(&version) || kind != XXH3 {
        return Err(format!(
            "its footer names version {version} and checksum {kind}, which no version of Cairn writes"
        ));
    }
    let mut handles = Bytes(&bytes[1..]);
    handles.handle().zip(handles.handle()).ok_or_else(|| "its footer is damaged".to_owned())
}

/// True if the checksum of a block with its trailer holds.
pub(super) fn holds(block: &[u8]) -> bool {
    let Some((content, [compression, stored @ ..])) = block.split_last_chunk::<TRAILER>() else { return false };
    // RocksDB adds the last byte in its own way.
    let sum = XxHash3_64::oneshot(content) as u32 ^ u32::from(*compression).wrapping_mul(0x6b90_83d9);
    sum == u32::from_le_bytes(*stored)
}

/// The content of a block whose checksum holds.
pub(super) fn content(block: &[u8]) -> Option<Vec<u8>> {
    let (content, trailer) = block.split_last_chunk::<TRAILER>()?;
    match trailer[0] {
        0 => Some(content.to_vec()),
        4 => {
            let mut bytes = Bytes(content);
            let size = bytes.sized()?;
            lz4::decompress(bytes.0, size)
        }
        _ => None,
    }
}

/// The part of a block with entries, without the list of where to begin.
fn entries(content: &[u8]) -> Option<&[u8]> {
    let (rest, count) = content.split_last_chunk::<4>()?;
    // The upper bits are marks.
    let count = (u32::from_le_bytes(*count) & 0x0fff_ffff) as usize;
    rest.get(..rest.len().checked_sub(count.checked_mul(4)?)?)
}

/// Keys and values of a block of keys and values.
pub(super) fn pairs(content: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let (mut bytes, mut found) = (Bytes(entries(content)?), Vec::<(Vec<u8>, Vec<u8>)>::new());
    while !bytes.0.is_empty() {
        let (shared, rest, size) = (bytes.sized()?, bytes.sized()?, bytes.sized()?);
        let mut key = found.last().map_or(&[][..], |(key, _)| key).get(..shared)?.to_vec();
        key.extend_from_slice(bytes.take(rest)?);
        found.push((key, bytes.take(size)?.to_vec()));
    }
    Some(found)
}

/// The first key of a data block, without its sequence number.
pub(super) fn first_key(content: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Bytes(entries(content)?);
    let (_, size, _) = (bytes.sized()?, bytes.sized()?, bytes.sized()?);
    bytes.take(size)?.split_last_chunk::<8>().map(|(key, _)| key.to_vec())
}

pub(super) fn handle(value: &[u8]) -> Option<Handle> {
    Bytes(value).handle()
}

/// The handles in a block of an index. With `delta`, an entry that shares bytes of its key with the one before says
/// only how much larger its block is.
pub(super) fn handles(content: &[u8], delta: bool) -> Option<Vec<Handle>> {
    let (mut bytes, mut found) = (Bytes(entries(content)?), Vec::<Handle>::new());
    while !bytes.0.is_empty() {
        let (shared, rest) = (bytes.sized()?, bytes.sized()?);
        if !delta {
            bytes.varint()?;
        }
        bytes.take(rest)?;
        found.push(match found.last().filter(|_| delta && shared > 0) {
            None => bytes.handle()?,
            Some(before) => {
                let zigzag = bytes.varint()?;
                let more = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
                Handle { offset: before.end(), size: before.size.checked_add_signed(more)? }
            }
        });
    }
    Some(found)
}
