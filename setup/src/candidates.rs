//! Finds the nodes of a machine by their folders.

use std::path::{Path, PathBuf};

/// Finds the folder of a node by its cookie or its block files: the nearest of the two folders above that has a
/// `bitcoin.conf`.
#[must_use]
pub fn folder_around(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).take(2).find(|dir| dir.join("bitcoin.conf").is_file()).map(Path::to_owned)
}
