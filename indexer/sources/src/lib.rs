//! Reads Bitcoin Core's block files without a node.
//!
//! [`BlockFiles`] opens a `blocks` folder. [`BlockFiles::survey`] finds the best chain in it by accumulated work.
//! [`BlockFiles::read_decoded`] and [`BlockFiles::read_undo`] return a block and the coins that it spent. Files may be
//! damaged or hostile: every error is typed, nothing panics, and no count in a file leads to an allocation before its
//! bytes are read.

mod block_ref;
mod bytes;
mod decode;
mod error;
mod evidence;
mod folder;
mod hash;
mod ids;
mod match_undo;
mod notes;
mod pow;
mod raw_file;
mod scan;
mod segments;
mod sighash;
mod sizes;
mod stats;
mod survey;
mod tree;
mod undo;

pub use block_ref::{BlockRef, UndoRef};
pub use bytes::ReadError;
pub use decode::{DecodeError, DecodeErrorKind, Decoded, MAX_BLOCK_SIZE, Prevout, decode_block};
pub use error::SourceError;
pub use folder::BlockFiles;
pub use notes::IdNotes;
pub use pow::work_of;
pub use sizes::FolderSizes;
pub use stats::{DamagedPlace, SurveyPhase, SurveyProgress, SurveyStats};
pub use survey::{Gap, GapCause, Instead, Refreshed, Survey};
pub use undo::{Undo, UndoCoin, UndoError, decode_undo};
