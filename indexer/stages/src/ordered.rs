//! Lanes whose groups depend on those before them: they are folded one after the other, in the order of their keys.

use std::io::{Read, Write};

use crate::deltas::{Delta, StageError};

/// The groups of a lane in ascending order of their keys. They can be read several times.
pub trait Sequence {
    /// Shows the groups whose keys are `from` or greater, until `show` returns false.
    ///
    /// # Errors
    /// Passes on the error of `show`.
    fn groups(
        &self,
        from: &[u8],
        show: &mut dyn FnMut(&[Delta<'_>]) -> Result<bool, StageError>,
    ) -> Result<(), StageError>;
}

/// Files for data that does not fit in memory. There is none at the start, and the driver removes them in the end.
pub trait Scratch {
    /// A new file, to be written front to back and flushed. Writing is buffered.
    fn create(&self, name: &str) -> Result<Box<dyn Write>, StageError>;

    /// A file that was written, to be read front to back. Reading is buffered.
    fn open(&self, name: &str) -> Result<Box<dyn Read>, StageError>;

    /// Removes a file that is done with.
    fn remove(&self, name: &str) -> Result<(), StageError>;
}

/// Resources of an ordered fold.
#[derive(Clone, Copy)]
pub struct Workspace<'w> {
    /// Bytes of memory. Larger work is done in windows, with files in between.
    pub memory: u64,
    /// Files.
    pub scratch: &'w dyn Scratch,
}
