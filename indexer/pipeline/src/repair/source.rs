//! Where a repair takes blocks from.

use cairn_model::{BlockHash, FilePos, Height};
use cairn_sources::{BlockFiles, Decoded, Survey};

use crate::PipelineError;

/// A block as it came from its source, and its place if that is a block file.
pub type FoundBlock = (Decoded, Option<FilePos>);

/// Gives blocks of the active chain.
pub trait BlockSource {
    /// The block at a height, with this hash if one is given. `None` if the source has no such block.
    fn block(&self, height: Height, hash: Option<BlockHash>) -> Result<Option<FoundBlock>, PipelineError>;
}

/// Blocks of a folder of block files.
pub struct FileBlocks<'f> {
    files: &'f BlockFiles,
    survey: &'f Survey,
    script_prefix: usize,
}

impl<'f> FileBlocks<'f> {
    /// `script_prefix` as in the index's facts.
    #[must_use]
    pub fn new(files: &'f BlockFiles, survey: &'f Survey, script_prefix: usize) -> Self {
        FileBlocks { files, survey, script_prefix }
    }
}

impl BlockSource for FileBlocks<'_> {
    fn block(&self, height: Height, hash: Option<BlockHash>) -> Result<Option<FoundBlock>, PipelineError> {
        let Some(at) = self.survey.block(height).filter(|at| hash.is_none_or(|hash| at.hash == hash)) else {
            return Ok(None);
        };
        let decoded = self.files.read_decoded(&at, self.script_prefix, &mut Vec::new())?;
        Ok(Some((decoded, Some(at.position()))))
    }
}
