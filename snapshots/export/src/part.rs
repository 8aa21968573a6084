//! The files of one part of the chain.

use std::path::PathBuf;

use cairn_reader::View;

use crate::{
    Dataset, Destination, ExportError, FileEntry, Format, Part,
    dataset::{BlockRows, Scope, Source},
    sink::{Shape, Sink},
};

pub(crate) struct PlannedFile {
    pub(crate) dataset: &'static Dataset,
    /// Its path from the folder of the export.
    pub(crate) path: String,
}

/// Destination of files, and the memory that each may take.
pub(crate) struct Target<'t> {
    pub(crate) place: Destination<'t>,
    /// Folder in which files that go to a store are written.
    pub(crate) staging: PathBuf,
    pub(crate) format: Format,
    pub(crate) budget: usize,
}

impl Target<'_> {
    fn begin(&self, wanted: &PlannedFile) -> Result<Sink, ExportError> {
        let Dataset { columns, sorted_by, .. } = *wanted.dataset;
        Sink::begin(
            &Shape { columns, sorted_by },
            &self.place.path_of(&wanted.path, &self.staging),
            self.format,
            self.budget,
        )
    }

    /// Writes the files of a part. One walk over its blocks serves all datasets that need one.
    pub(crate) fn write_part(
        &self,
        scope: &mut Scope<'_>,
        view: &View<'_>,
        part: &Part,
        wanted: &[PlannedFile],
    ) -> Result<Vec<FileEntry>, ExportError> {
        let mut walked: Vec<(BlockRows, Sink, &str)> = Vec::new();
        let mut done = Vec::new();
        for file in wanted {
            match file.dataset.source {
                Source::Blocks(rows) | Source::FirstOutputs(rows) => {
                    walked.push((rows, self.begin(file)?, &file.path));
                }
                Source::Made(rows) => {
                    let mut sink = self.begin(file)?;
                    rows(scope, view, part, &mut sink)?;
                    done.push(sink.finish(file.path.clone())?);
                }
                Source::Whole(_) => return Err(ExportError::Defect("a dataset without parts")),
            }
        }
        if walked.is_empty() {
            return Ok(done);
        }
        scope.spent.begin(part);
        let mut next = part.from;
        for block in view.journal(part.from, part.to)? {
            scope.check()?;
            let block = block?;
            for (rows, sink, _) in &mut walked {
                rows(scope, &block, &mut sink.rows)?;
                sink.settle()?;
            }
            next = block.height + 1;
        }
        if next != part.to + 1 {
            return Err(ExportError::Contradiction(format!("block {next} is missing")));
        }
        if wanted.iter().any(|file| matches!(file.dataset.source, Source::FirstOutputs(_))) {
            scope.first_seen.check_end(part.tx_end)?;
        }
        for (_, sink, path) in walked {
            done.push(sink.finish(path.to_owned())?);
        }
        Ok(done)
    }

    /// Writes the file of a dataset that has no parts.
    pub(crate) fn write_whole(
        &self,
        scope: &Scope<'_>,
        view: &View<'_>,
        wanted: &PlannedFile,
    ) -> Result<FileEntry, ExportError> {
        let Source::Whole(rows) = wanted.dataset.source else {
            return Err(ExportError::Defect("a dataset with parts"));
        };
        let mut sink = self.begin(wanted)?;
        rows(scope, view, &mut sink)?;
        sink.finish(wanted.path.clone())
    }
}
