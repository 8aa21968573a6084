//! Claims: who or what scripts are said to be, by whom.
//!
//! ```text
//! claims       SHA-256 of the script (32) ‖ source ‖ 0 ‖ list ‖ 0 ‖ retrieved at (4) ‖ first bytes of the document's hash (8)
//!                ‖ row (4) → claim, with the row as distance from 0
//! claim_lists  'y' ‖ source ‖ 0 ‖ list ‖ 0 ‖ complete (1) ‖ retrieved at (4) ‖ first bytes of the document's hash (8) →
//!                claims │ newest time of assertion, if a claim has one
//! ```
//!
//! A row of `claims` is what one document says of one script. Of a list of a source, the document that was retrieved
//! last holds, then the one with the greater hash. Claims that a complete document does not repeat no longer hold: a
//! reader of a claim looks for the next document of the list in `claim_lists`. So both tables are functions of the
//! documents, in whatever order they came, and a document that comes changes no rows but its own.

use cairn_events::{
    Claim, Slug,
    claim::{Shared, put_claim},
};

use crate::{
    codec::{DecodeError, Input, KeyCodec, ValueCodec, key_of_fields, put_varint},
    events::whole,
    table::{Home, Origin, Tuning, table},
};

table! {
    /// Claims of each document about each script, unless it is withdrawn.
    // Texts that repeat from row to row: longer blocks compress better. Most scripts have no claim, which the filter
    // shows.
    pub struct Claims("claims": ClaimKey => Claim)
        in Home::Own(Tuning { block_size: 8 << 10, filter_bits: 10, filter_prefix: 32, ..Tuning::SHORT }), from Origin::FoldedEvents;
}

/// A list of a source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListKey {
    /// The source.
    pub source: Slug,
    /// The list.
    pub list: Slug,
}

/// A document of a list. They are in the order of this type: the last one holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListVersion {
    /// When it was retrieved.
    pub retrieved_at: u32,
    /// First bytes of its hash.
    pub document: [u8; 8],
}

/// Claims of one document about one script.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClaimKey {
    /// SHA-256 of the script.
    pub script: [u8; 32],
    /// The list.
    pub list: ListKey,
    /// The document.
    pub version: ListVersion,
    /// The row of the document.
    pub row: u32,
}

/// Ends with a zero, so that keys with shorter names come first.
impl KeyCodec for Slug {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_str().as_bytes());
        out.push(0);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let name = b.ended()?;
        b.parse(name, "short name")
    }
}

key_of_fields! {
    ListKey { source, list }
    ListVersion { retrieved_at, document }
    ClaimKey { script, list, version, row }
}

impl ValueCodec for Claim {
    fn encode(&self, out: &mut Vec<u8>) {
        put_claim(out, &mut Shared::default(), self);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        whole(b, |b| b.claim(&mut Shared::default()))
    }
}

table! {
    /// The documents of each list, unless they are withdrawn.
    pub struct ClaimLists("claim_lists": ListDocument => ListSize) in Home::Shared(b'y'), from Origin::FoldedEvents;
}

/// A document of a list. The complete ones stand together, so that the next one is found by one read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListDocument {
    /// The list.
    pub list: ListKey,
    /// True if it is the whole list as of then.
    pub is_complete: bool,
    /// The document.
    pub version: ListVersion,
}

impl KeyCodec for ListDocument {
    fn encode(&self, out: &mut Vec<u8>) {
        self.list.encode(out);
        out.push(self.is_complete.into());
        self.version.encode(out);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (list, is_complete) = (ListKey::decode(b)?, b.flag_of("complete")?);
        Ok(ListDocument { list, is_complete, version: ListVersion::decode(b)? })
    }
}

/// Counts of a document of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListSize {
    /// Its claims.
    pub claims: u32,
    /// The newest time at which one of them was asserted, in seconds since 1970; `None` if no claim has one.
    pub newest: Option<u32>,
}

impl ValueCodec for ListSize {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.claims.into());
        self.newest.into_iter().for_each(|time| put_varint(out, time.into()));
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let claims = b.varint32()?;
        let newest = if b.left() == 0 { None } else { Some(b.varint32()?) };
        Ok(ListSize { claims, newest })
    }
}
