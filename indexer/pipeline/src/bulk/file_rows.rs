//! Rows that come in order, into table files.

use std::path::{Path, PathBuf};

use cairn_stages::{Rows, StageError};
use cairn_tables::Family;
use cairn_writer::SstWriter;

use crate::{PipelineError, error::as_stage_write};

/// Rows of one partition, a file for each family that gets some.
pub(crate) struct FileRows {
    dir: PathBuf,
    lane: &'static str,
    partition: usize,
    open: Vec<(Family, SstWriter, String)>,
}

impl FileRows {
    pub(crate) fn new(dir: &Path, lane: &'static str, partition: usize) -> Self {
        FileRows { dir: dir.to_owned(), lane, partition, open: Vec::new() }
    }

    pub(crate) fn finish(self) -> Result<Vec<(Family, String)>, PipelineError> {
        let complete = |(family, file, name): (Family, SstWriter, String)| {
            file.finish()?;
            Ok((family, name))
        };
        self.open.into_iter().map(complete).collect()
    }
}

impl Rows for FileRows {
    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        let index = match self.open.iter().position(|(f, _, _)| *f == family) {
            Some(index) => index,
            None => {
                let name = format!("lane-{}-{}.{:03}.sst", self.lane, family.name(), self.partition);
                let file = SstWriter::create(family, self.dir.join(&name)).map_err(as_stage_write)?;
                self.open.push((family, file, name));
                self.open.len() - 1
            }
        };
        self.open[index].1.put(key, value).map_err(as_stage_write)
    }

    fn delete(&mut self, _: Family, _: &[u8]) -> Result<(), StageError> {
        // In bulk a fold sees everything that ever happened to its group.
        Err(StageError::Contradiction { stage: self.lane, what: "a row is deleted that was never put" })
    }
}
