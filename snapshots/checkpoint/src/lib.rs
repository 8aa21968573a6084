//! Checkpoints: copies of the index itself. A checkpoint is made while a writer runs, by hard links, in seconds. It is
//! kept in a folder, or sent to a store in pieces; each piece is sent once. Its manifest, written last, has the SHA-256
//! of every file. Restored, it is an index that goes on from its block.

mod copy;
mod cut;
mod error;
mod files;
mod hashes;
mod make;
mod manifest;
mod pieces;
mod restore;
mod send;
mod sign;
mod source;
mod stored;
mod swap;
mod verify;
mod work;

pub use cairn_store::Difference;
pub use copy::ExtraFile;
pub use error::CheckpointError;
pub use make::make;
pub use manifest::{CHECKPOINT, FORM, FileEntry, Manifest};
pub use restore::{Audit, Restored, Target, restore, restore_audited};
pub use send::{Sending, Sent, send};
pub use sign::{SIGNATURE, Signer, Trust};
pub use source::{Placing, Source};
pub use stored::{Pruned, StoredCheckpoint, prune, prune_as_of, stored_checkpoints};
pub use verify::{Checked, verify};
pub use work::OnProgress;
