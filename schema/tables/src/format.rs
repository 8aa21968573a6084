//! The version of the index's format: of everything that stages share, such as the encoding of checkpoints and facts.
//! The tables of each stage have their own version.
//!
//! ```text
//! format  'v' → version (4, big-endian)
//! ```
//!
//! This row is read before any other, so its key and encoding must never change. An index without it is older than the
//! row and has format 1; the next writer adds it.

use crate::{
    codec::{DecodeError, Input, ValueCodec},
    table::{Home, Origin, table},
};

/// The newest format, which this program writes. It reads all earlier ones.
pub const FORMAT: FormatVersion = FormatVersion(1);

table! {
    /// The table, with one row.
    pub struct Format("format": () => FormatVersion) in Home::Shared(b'v'), from Origin::Index;
}

/// A version of the format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FormatVersion(pub u32);

impl FormatVersion {
    /// The format of an index without the row.
    pub const FIRST: FormatVersion = FormatVersion(1);
}

impl ValueCodec for FormatVersion {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_be_bytes());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        match u32::from_be_bytes(b.array()?) {
            0 => Err(b.error("format 0")),
            version => Ok(FormatVersion(version)),
        }
    }
}
