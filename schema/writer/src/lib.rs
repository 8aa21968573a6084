//! The only crate that changes the index. A commit is one atomic step: families are written without a write-ahead log
//! and flushed together, the checkpoint among them; a commit has happened when that flush has returned.

mod batch;
mod error;
mod sst;
mod writer;

pub use batch::Batch;
pub use error::WriteError;
pub use sst::SstWriter;
pub use writer::Writer;
