//! `label_sources`: how much of the chain each source labels.
//!
//! ```text
//! label_sources  'z' ‖ source, empty for all together → sums by position:
//!   0   scripts that are labelled
//!   1   of these, scripts that a block has
//!   2   satoshis that they received
//!   3   satoshis of their coins that were spent
//! ```
//!
//! A script is labelled if its label is direct, from level 40 on, not contested and without a conflict of votes. Of a
//! source those count that a claim of it from level 40 on says so of. All rows follow from those of `labels` and from
//! the sums of their scripts. A row of zeros does not exist.

use cairn_events::Slug;

use crate::{
    codec::{DecodeError, Input, KeyCodec},
    sums::{Sums, positions},
    table::{Home, Origin, table},
};

table! {
    /// The table.
    pub struct LabelSources("label_sources": LabelSource => Sums) in Home::Shared(b'z'), from Origin::Joined;
}

/// A source; `None`: all together, where a script counts once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LabelSource(pub Option<Slug>);

impl KeyCodec for LabelSource {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_ref().map_or("", Slug::as_str).as_bytes());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let bytes = b.take(b.left())?;
        if bytes.is_empty() {
            return Ok(LabelSource(None));
        }
        Ok(LabelSource(Some(b.parse(bytes, "short name")?)))
    }
}

/// Positions of sums of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum SourceSum {
    /// Scripts that are labelled.
    Scripts = 0,
    /// Of these, scripts that a block has.
    Seen = 1,
    /// Satoshis that they received.
    Funded = 2,
    /// Satoshis of their coins that were spent.
    Spent = 3,
}

positions!(SourceSum);
