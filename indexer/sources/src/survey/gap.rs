//! Where the chain breaks off although the files have blocks beyond it.
//!
//! A running node always has a partial record at the end of its last file, and while it syncs, up to 1024 blocks that
//! arrived before their parents. Everything else that keeps blocks from the chain is damage.

use std::{collections::BTreeSet, fmt, fs};

use cairn_model::Height;

use super::Survey;
use crate::{
    bytes::{Cursor, ReadError},
    folder::{BlockFiles, Kind},
    stats::DamagedPlace,
    tree::{BlockLocation, NodeId},
};

/// Bitcoin Core fetches at most this many blocks ahead of its chain.
const FETCHED_AHEAD: u64 = 1024;
/// Number of orphans among whose heights the highest is sought: the time of a header may be before that of the eleven
/// headers that precede it.
const NEWEST: usize = 12;
/// Maximum number of missing files that are looked at.
const LOOKED_AT: usize = 16;
/// Bytes of a block that contain the height in its coinbase, unless the number of transactions is invalid.
const HEIGHT_WITHIN: u32 = 256;
/// Maximum height that a coinbase is believed to claim: some centuries.
const HIGHEST: Height = 50_000_000;

/// The chain breaks off: the files have newer blocks that do not connect to it, or files are missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Height of the chain's last block.
    pub after: Height,
    /// Where that block ends.
    pub end: DamagedPlace,
    /// Blocks whose ancestors are not all in the files.
    pub orphan_blocks: u64,
    /// The probable cause; `None` if nothing is visibly wrong.
    pub cause: Option<GapCause>,
    /// The highest height that the newest orphans state in their coinbases; `None` if they are too old to state one, or
    /// if there is no orphan.
    pub beyond: Option<Height>,
    /// False if it may be the normal state of a node that is syncing.
    pub certain: bool,
}

/// The cause of a gap in the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GapCause {
    /// A block file is missing.
    Missing {
        /// Number of the first one.
        file: u32,
        /// Number of all.
        files: u64,
        /// The bytes found instead.
        instead: Instead,
    },
    /// A block file before the last has no block.
    Empty {
        /// Its number.
        file: u32,
    },
    /// A block file before the last ends within a record.
    Truncated(DamagedPlace),
    /// No record starts where one should.
    Unreadable(DamagedPlace),
}

/// The thing in the place of a block file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instead {
    /// Nothing.
    Nothing,
    /// A link to a file that does not exist.
    DanglingLink,
    /// A folder, or something else that is not a file.
    NoFile,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gap { after, end, orphan_blocks, cause, .. } = self;
        match (cause, orphan_blocks) {
            (Some(cause), 0) => write!(f, "{cause}"),
            (Some(cause), n) => write!(
                f,
                "the block files break off after height {after}: {cause}; {n} later blocks in the files do not connect"
            ),
            (None, n) => write!(
                f,
                "the block files break off after height {after}, whose block ends in blk{:05}.dat at offset {}: {n} later \
                 blocks in the files do not connect",
                end.file, end.offset
            ),
        }
    }
}

impl fmt::Display for GapCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GapCause::Missing { file, files, instead } => {
                match instead {
                    Instead::Nothing => write!(f, "blk{file:05}.dat is missing")?,
                    Instead::DanglingLink => write!(f, "blk{file:05}.dat is a link to a file that does not exist")?,
                    Instead::NoFile => write!(f, "blk{file:05}.dat is not a file")?,
                }
                if *files > 1 { write!(f, " ({files} files are missing)") } else { Ok(()) }
            }
            GapCause::Empty { file } => write!(f, "blk{file:05}.dat is empty"),
            GapCause::Truncated(at) => write!(f, "truncated record in blk{:05}.dat, offset {}", at.file, at.offset),
            GapCause::Unreadable(at) => write!(f, "damaged record in blk{:05}.dat, offset {}", at.file, at.offset),
        }
    }
}

impl Instead {
    fn of(files: &BlockFiles, number: u32) -> Self {
        let path = files.path(Kind::Block, number);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() && fs::metadata(&path).is_err() => Instead::DanglingLink,
            Ok(_) => Instead::NoFile,
            Err(_) => Instead::Nothing,
        }
    }
}

impl Survey {
    /// Where the chain breaks off, if it does.
    #[must_use]
    pub fn gap(&self) -> Option<&Gap> {
        self.gap.as_ref()
    }

    /// Looks for a gap. `listed` are the numbers of the block files in the folder, ascending.
    pub(super) fn look_for_gap(&mut self, files: &BlockFiles, listed: &[u32]) {
        let Some(tip) = self.tip() else { return };
        // Older orphans are left from a branch that the node gave up.
        let mut newest = self.tree.newest_detached(NEWEST);
        newest.retain(|id| self.tree.node(*id).time() >= tip.mono_time);
        self.files.retain(|number, file| listed.binary_search(number).is_ok() || !file.is_blank());
        let removed = listed.last().and_then(|last| removed_after(files, *last));
        let (missing, missing_files) = self.missing(listed, removed);
        self.missing_files = missing_files;
        // A file that is gone now or has left its undo file, or files after it of which the chain uses none.
        let lost = removed.is_some()
            || missing.iter().any(|file| self.files.contains_key(file))
            || missing.first().is_some_and(|first| self.has_bytes_after(*first) && !self.chain_is_after(*first));
        self.gap = if !newest.is_empty() || lost {
            let orphan_blocks = if newest.is_empty() { 0 } else { self.tree.detached() as u64 };
            let end = DamagedPlace { file: tip.file, offset: tip.offset + u64::from(tip.size) };
            let first = missing.first().map(|file| (*file, Instead::of(files, *file)));
            let (cause, near) = self.cause(end, first.map(|(file, instead)| (file, missing_files, instead)));
            let certain = near || orphan_blocks > FETCHED_AHEAD;
            let beyond = self.claim(files, newest).filter(|height| *height > tip.height);
            Some(Gap { after: tip.height, end, orphan_blocks, cause, beyond, certain })
        } else {
            None
        };
    }

    fn has_bytes_after(&self, file: u32) -> bool {
        self.files.range(file..).any(|(_, state)| !state.is_blank())
    }

    fn chain_is_after(&self, file: u32) -> bool {
        self.tree.chain().iter().any(|id| self.tree.node(*id).location.file > file)
    }

    /// The first numbers without a file, and how many there are.
    fn missing(&self, listed: &[u32], removed: Option<u32>) -> (Vec<u32>, u64) {
        let last = listed.last().copied().max(self.files.keys().next_back().copied()).max(removed);
        let Some(last) = last else { return (Vec::new(), 0) };
        let (mut first, mut next) = (Vec::new(), 0);
        for number in listed.iter().copied().chain((last < u32::MAX).then_some(last + 1)) {
            first.extend((next..number).take(LOOKED_AT - first.len()));
            next = number.saturating_add(1);
        }
        // Listed numbers are distinct and at most `last`.
        (first, u64::from(last) + 1 - listed.len() as u64)
    }

    /// Returns the probable cause of the end of the chain at `end`, and true if it is at or after the end, or a missing
    /// file.
    fn cause(&self, end: DamagedPlace, missing: Option<(u32, u64, Instead)>) -> (Option<GapCause>, bool) {
        let last = self.files.keys().next_back().copied();
        let mut causes: Vec<(DamagedPlace, GapCause)> = Vec::new();
        for (file, state) in &self.files {
            let at = |offset| DamagedPlace { file: *file, offset };
            let is_last = Some(*file) == last;
            if !is_last && state.is_blank() {
                causes.push((at(0), GapCause::Empty { file: *file }));
            } else if !is_last && state.tail.unfinished > 0 {
                causes.push((at(state.resume), GapCause::Truncated(at(state.resume))));
            }
            let places: BTreeSet<u64> = state.damaged_at.iter().chain(&state.skipped_at).copied().collect();
            causes.extend(places.into_iter().map(|offset| (at(offset), GapCause::Unreadable(at(offset)))));
        }
        if let Some((file, files, instead)) = missing {
            causes.push((DamagedPlace { file, offset: 0 }, GapCause::Missing { file, files, instead }));
        }
        causes.sort_by_key(|(at, _)| (at.file, at.offset));
        let after = causes.iter().find(|(at, _)| (at.file, at.offset) >= (end.file, end.offset));
        let near = after.is_some() || missing.is_some();
        (after.or(causes.last()).map(|(_, cause)| *cause), near)
    }

    /// The highest height in the coinbases of these blocks.
    fn claim(&mut self, files: &BlockFiles, ids: Vec<NodeId>) -> Option<Height> {
        match &self.claimed {
            Some((of, height)) if *of == ids => *height,
            _ => {
                let heights = ids.iter().filter_map(|id| read_height(files, &self.tree.node(*id).location));
                let highest = heights.max();
                self.claimed = Some((ids, highest));
                highest
            }
        }
    }
}

/// The number after the last block file if that file was removed: its undo file is still there. A node makes the undo
/// file later, and removes both when it prunes.
fn removed_after(files: &BlockFiles, last: u32) -> Option<u32> {
    let number = last.checked_add(1)?;
    let undo = fs::metadata(files.path(Kind::Undo, number)).is_ok_and(|meta| meta.is_file() && meta.len() > 0);
    // Looked for after the undo file, since a node may have made both just now.
    (undo && fs::metadata(files.path(Kind::Block, number)).is_err()).then_some(number)
}

fn read_height(files: &BlockFiles, at: &BlockLocation) -> Option<Height> {
    let mut raw = Vec::new();
    let file = files.open_raw(Kind::Block, at.file).ok()?;
    file.read(at.offset, at.size.min(HEIGHT_WITHIN) as usize, &mut raw).ok()?;
    height_of(&raw).ok().flatten()
}

/// The height that a block states (BIP 34), from its first bytes; `None` if it states none.
fn height_of(raw: &[u8]) -> Result<Option<Height>, ReadError> {
    let mut block = Cursor::new(raw);
    let header = block.take(80)?;
    let version = i32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    block.compact_size()?;
    block.take(4)?;
    if block.peek() == Some(0) {
        block.take(2)?;
    }
    let inputs = block.compact_size()?;
    block.take(36)?;
    let len = block.compact_size()?;
    // Longer scripts are cut: the height is at the start.
    let script = block.take(len.min(6))?;
    if version < 2 || inputs != 1 {
        return Ok(None);
    }
    let height = match script {
        [op @ 0x51..=0x60, ..] => Some(u32::from(op - 0x50)),
        [n @ 1..=4, rest @ ..] => rest.get(..usize::from(*n)).map(|bytes| {
            let mut number = [0; 4];
            number[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(number)
        }),
        _ => None,
    };
    Ok(height.filter(|height| *height <= HIGHEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_height_of_a_block_is_in_its_coinbase() {
        let block = |version: i32, segwit: bool, script: &[u8]| {
            let mut raw = version.to_le_bytes().to_vec();
            raw.extend([0; 76]);
            raw.extend([1, 2, 0, 0, 0]);
            raw.extend(if segwit { vec![0, 1] } else { vec![] });
            raw.push(1);
            raw.extend([0; 32]);
            raw.extend([0xff; 4]);
            raw.push(script.len() as u8);
            raw.extend(script);
            raw
        };
        let of = |raw: &[u8]| height_of(raw).unwrap();
        for segwit in [false, true] {
            assert_eq!(of(&block(2, segwit, &[3, 0x40, 0xd1, 0x0c, 9, 9])), Some(840_000));
            assert_eq!(of(&block(0x2000_0000, segwit, &[0x51, 0])), Some(1));
            assert_eq!(of(&block(2, segwit, &[2, 0x10, 0x27])), Some(10_000));
        }
        // Blocks before BIP 34 state none, whatever their script begins with.
        assert_eq!(of(&block(1, false, &[3, 0x40, 0xd1, 0x0c])), None);
        assert_eq!(of(&block(2, false, &[4, 0xff, 0xff, 0x00, 0x1d])), None);
        assert_eq!(of(&block(2, false, &[])), None);
        assert_eq!(of(&block(2, false, &[3, 1])), None);
        let whole = block(2, true, &[3, 0x40, 0xd1, 0x0c]);
        assert!((0..whole.len()).all(|cut| height_of(&whole[..cut]).is_err()));
    }

    #[test]
    fn a_gap_is_said_in_words() {
        let end = DamagedPlace { file: 1, offset: 500 };
        let gap =
            |cause, orphan_blocks| Gap { after: 7, end, orphan_blocks, cause, beyond: None, certain: true }.to_string();
        let missing = |files, instead| Some(GapCause::Missing { file: 2, files, instead });
        let (after, lost) =
            ("the block files break off after height 7: ", "; 9 later blocks in the files do not connect");
        assert_eq!(gap(missing(1, Instead::Nothing), 9), format!("{after}blk00002.dat is missing{lost}"));
        assert_eq!(gap(missing(3, Instead::NoFile), 0), "blk00002.dat is not a file (3 files are missing)");
        assert_eq!(gap(missing(1, Instead::DanglingLink), 0), "blk00002.dat is a link to a file that does not exist");
        assert_eq!(gap(Some(GapCause::Empty { file: 1 }), 0), "blk00001.dat is empty");
        let at = DamagedPlace { file: 1, offset: 8 };
        assert_eq!(gap(Some(GapCause::Truncated(at)), 0), "truncated record in blk00001.dat, offset 8");
        let damaged = "damaged record in blk00001.dat, offset 8";
        assert_eq!(gap(Some(GapCause::Unreadable(at)), 9), format!("{after}{damaged}{lost}"));
        assert_eq!(
            gap(None, 9),
            "the block files break off after height 7, whose block ends in blk00001.dat at offset 500: 9 later blocks in the \
             files do not connect"
        );
    }
}
