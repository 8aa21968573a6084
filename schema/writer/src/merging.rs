//! Which small table files to merge. Rows of the journal come in the order of their keys, so the files of two commits
//! never overlap. RocksDB moves such files down without merging them. Without this, each block would add a file to each
//! of these families for good.

use std::collections::BTreeMap;

/// Number of commits between two looks.
pub(crate) const LOOK_EACH: u32 = 8;
/// Fewer neighbours are not merged.
const LEAST: usize = 8;
/// A file of this many bytes is large: it is not merged with later ones.
const LARGE: u64 = 32 << 20;
/// Most bytes that are merged at a time, so that a commit does not wait for long.
const AT_ONCE: u64 = 256 << 20;

/// A table file of one family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) level: i32,
    pub(crate) bytes: u64,
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
}

/// The range of keys of neighbouring files that are to become one: at least [`LEAST`] small ones of one level, which no
/// file of another level overlaps, since that one would have to be written again as well.
///
/// It begins with the newest, and an older file is added if it is at most twice as large as all newer ones together. So
/// the sizes of the remaining files grow as a geometric series: there are some log₂(bytes) files, and each row is
/// written about as often.
pub(crate) fn range(files: &[Piece]) -> Option<(&[u8], &[u8])> {
    let mut levels: BTreeMap<i32, Vec<&Piece>> = BTreeMap::new();
    files.iter().for_each(|file| levels.entry(file.level).or_default().push(file));
    levels.values_mut().for_each(|level| level.sort_unstable_by(|a, b| a.first.cmp(&b.first)));
    levels.iter().filter(|(level, _)| **level > 0).find_map(|(level, sorted)| {
        let alone = |first: &[u8], last: &[u8]| {
            let mut others = levels.iter().filter(|(other, _)| *other != level);
            !others.any(|(other, files)| overlaps(*other, files, first, last))
        };
        // Stretches of small files; a file between two of them may belong to another level.
        let joins = |a: &Piece, b: &Piece| a.bytes < LARGE && b.bytes < LARGE && alone(&a.first, &b.last);
        let newest_first = sorted.chunk_by(|a, b| joins(a, b)).rev();
        let mut runs = newest_first.filter(|run| run.len() >= LEAST).map(newest).filter(|run| run.len() >= LEAST);
        runs.find_map(|run| Some((&*run.first()?.first, &*run.last()?.last)))
    })
}

/// True if a file of this level has keys in the range. `files` are in the order of their keys; those of level 0
/// overlap.
fn overlaps(level: i32, files: &[&Piece], first: &[u8], last: &[u8]) -> bool {
    let from = if level == 0 { 0 } else { files.partition_point(|file| *file.last < *first) };
    let mut candidates = files.iter().skip(from).take_while(|file| *file.first <= *last);
    candidates.any(|file| *file.last >= *first)
}

/// The files at the end of a stretch that are merged.
fn newest<'r, 'f>(run: &'r [&'f Piece]) -> &'r [&'f Piece] {
    let (mut bytes, mut count) = (0, 0);
    for file in run.iter().rev() {
        let is_small_enough = count < LEAST || file.bytes <= 2 * bytes;
        if !is_small_enough || bytes + file.bytes > AT_ONCE {
            break;
        }
        bytes += file.bytes;
        count += 1;
    }
    &run[run.len() - count..]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn piece(level: i32, bytes: u64, first: u32, last: u32) -> Piece {
        Piece { level, bytes, first: first.to_be_bytes().to_vec(), last: last.to_be_bytes().to_vec() }
    }

    fn numbers(range: Option<(&[u8], &[u8])>) -> Option<(u32, u32)> {
        let number = |key: &[u8]| u32::from_be_bytes(key.try_into().unwrap());
        range.map(|(first, last)| (number(first), number(last)))
    }

    fn numbers_of(file: &Piece) -> (u32, u32) {
        numbers(Some((&*file.first, &*file.last))).unwrap()
    }

    fn small(level: i32, blocks: std::ops::Range<u32>) -> Vec<Piece> {
        blocks.map(|n| piece(level, 1_000, n, n)).collect()
    }

    #[test]
    fn eight_small_neighbours_are_merged_and_seven_are_not() {
        assert_eq!(numbers(range(&small(6, 10..18))), Some((10, 17)));
        assert_eq!(range(&small(6, 10..17)), None);
        assert_eq!(range(&small(0, 10..30)), None, "RocksDB merges level 0, or moves it down");
        let apart = [small(5, 10..14), small(6, 14..18)].concat();
        assert_eq!(range(&apart), None, "they are on two levels");
    }

    #[test]
    fn what_another_level_has_in_between_is_left_alone() {
        let mut files = small(5, 10..40);
        files.push(piece(6, LARGE * 2, 0, 35));
        assert_eq!(range(&files), None, "four are beyond the large file");
        files.extend(small(5, 40..50));
        assert_eq!(numbers(range(&files)), Some((36, 49)));
        files.push(piece(0, 10, 45, 60));
        assert_eq!(numbers(range(&files)), Some((36, 44)));
    }

    #[test]
    fn a_long_backlog_is_merged_in_parts() {
        let mut files: Vec<Piece> = (0..100).map(|n| piece(6, 10 << 20, n, n)).collect();
        let mut merges = 0;
        while let Some((first, last)) = numbers(range(&files)) {
            let (run, rest): (Vec<Piece>, Vec<Piece>) =
                files.into_iter().partition(|file| numbers_of(file).0 >= first && numbers_of(file).1 <= last);
            let bytes: u64 = run.iter().map(|file| file.bytes).sum();
            assert!(bytes <= AT_ONCE);
            files = rest;
            files.push(piece(6, bytes, first, last));
            merges += 1;
        }
        assert!((4..=6).contains(&merges), "{merges}");
        assert!(files.len() < 12, "{}", files.len());
    }

    /// A year of blocks: few files, and no row is written often.
    #[test]
    fn files_stay_few_and_rows_are_seldom_written() {
        for bytes in [150u64, 40_000, 700_000] {
            let (mut files, mut written, mut most) = (Vec::<Piece>::new(), 0, 0);
            let blocks = 52_560;
            for block in 0..blocks {
                files.push(piece(6, bytes, block, block));
                let merge = if block % LOOK_EACH == 0 { numbers(range(&files)) } else { None };
                if let Some((first, _)) = merge {
                    let kept = files.iter().position(|file| file.first == first.to_be_bytes()).unwrap();
                    let merged: u64 = files[kept..].iter().map(|file| file.bytes).sum();
                    files.truncate(kept);
                    // RocksDB ends a file at 64 MiB.
                    files.push(piece(6, merged, first, block));
                    written += merged;
                }
                most = most.max(files.iter().filter(|file| file.bytes < LARGE).count());
            }
            let times = written as f64 / (bytes * u64::from(blocks)) as f64;
            println!("{bytes} bytes a block: {most} files, written {times:.1} times");
            assert!(most < 40, "{most} files of {bytes} bytes");
            assert!(times < 14.0, "rows of {bytes} bytes are written {times:.1} times");
        }
    }
}
