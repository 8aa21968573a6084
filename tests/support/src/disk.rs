//! Space that files take on the disk.

use std::{collections::HashSet, fs, os::unix::fs::MetadataExt, path::Path};

/// Bytes that the files under a folder take on the disk: holes count nothing, a file with two names counts once.
pub fn disk_bytes(folder: &Path) -> u64 {
    let (mut bytes, mut seen, mut folders) = (0, HashSet::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        // Files may vanish meanwhile.
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                folders.push(entry.path());
            } else if seen.insert(meta.ino()) {
                bytes += meta.blocks() * 512;
            }
        }
    }
    bytes
}
