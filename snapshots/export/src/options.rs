//! Options of an export.

use crate::{Dataset, Grid, forms::Format};

/// Options of an export.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The datasets.
    pub datasets: Vec<&'static Dataset>,
    /// How rows that belong to blocks are divided into files.
    pub grid: Grid,
    /// How values are written.
    pub format: Format,
    /// Files that are written at a time. At least 1.
    pub workers: usize,
    /// Bytes of memory for rows that are not in files yet.
    pub memory: u64,
    /// True if files of the manifest that is there are kept where nothing has changed.
    pub is_incremental: bool,
}

impl Default for ExportOptions {
    /// All datasets, a file for each 1,000 blocks.
    fn default() -> Self {
        ExportOptions {
            datasets: Dataset::all().iter().collect(),
            grid: Grid::Blocks(1_000),
            format: Format::default(),
            workers: 1,
            memory: 1 << 30,
            is_incremental: false,
        }
    }
}
