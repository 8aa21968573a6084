//! The only crate that changes the index. A commit is atomic: all families, including the checkpoints, are written
//! without a write-ahead log and flushed together. The commit is done when the flush returns.

mod batch;
mod error;
mod merging;
mod salvage;
mod sst;
mod writer;

pub use batch::Batch;
pub use error::WriteError;
pub use sst::SstWriter;
pub use writer::Writer;
