//! `pool_tags`: the texts by which lists know the coinbases of mining pools.
//!
//! ```text
//! 'g' ‖ source ‖ 0 ‖ list ‖ 0 ‖ retrieved at (4) ‖ first bytes of the document's hash (8) ‖ row (4) → tag, with the row as
//!                                                                                         distance from 0
//! ```
//!
//! Of a list of a source, the document that was retrieved last holds, as a whole. So the table is a function of the
//! documents, in whatever order they came, and a document that comes changes no rows but its own.

use cairn_events::{PoolTag, put_pool_tag};

use crate::{
    claims::{ListKey, ListVersion},
    codec::{DecodeError, Input, KeyCodec, ValueCodec},
    events::whole,
    table::{Home, Origin, Table},
};

/// The tags of each document, unless it is withdrawn.
pub struct PoolTags;

impl Table for PoolTags {
    const NAME: &'static str = "pool_tags";
    const HOME: Home = Home::Shared(b'g');
    const ORIGIN: Origin = Origin::FoldedEvents;
    type Key = PoolTagKey;
    type Value = PoolTag;
}

/// A tag of a document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PoolTagKey {
    /// The list.
    pub list: ListKey,
    /// The document.
    pub version: ListVersion,
    /// The row of the document.
    pub row: u32,
}

impl KeyCodec for PoolTagKey {
    fn encode(&self, out: &mut Vec<u8>) {
        self.list.encode(out);
        self.version.encode(out);
        out.extend_from_slice(&self.row.to_be_bytes());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (list, version) = (ListKey::decode(b)?, ListVersion::decode(b)?);
        Ok(PoolTagKey { list, version, row: u32::from_be_bytes(b.array()?) })
    }
}

impl ValueCodec for PoolTag {
    fn encode(&self, out: &mut Vec<u8>) {
        put_pool_tag(out, 0, self);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        whole(b, |b| b.pool_tag(0))
    }
}
