//! `pool_tags` and `profiles`: lists that a publisher replaces as a whole. The texts by which coinbases of mining pools
//! are known, and what sources say of entities themselves.
//!
//! ```text
//! pool_tags  'g' ‖ source ‖ 0 ‖ list ‖ 0 ‖ retrieved at (4) ‖ first bytes of the document's hash (8) ‖ row (4) → tag
//! profiles   'P' ‖ the same → profile
//! ```
//!
//! The row of a value stands as its distance from 0. Of a list of a source, the document that was retrieved last holds,
//! as a whole. So a table is a function of the documents, in whatever order they came, and a document that comes
//! changes no rows but its own.

use cairn_events::{Listed, PoolTag, Profile};

use crate::{
    claims::{ListKey, ListVersion},
    codec::{DecodeError, Input, ValueCodec, key_of_fields},
    events::whole,
    table::{Home, Origin, Table, table},
};

/// A table of lists that documents replace as a whole.
pub trait ListingTable: Table<Key = ListingKey, Value: Listed> {}

impl<T: Table<Key = ListingKey, Value: Listed>> ListingTable for T {}

table! {
    /// The tags of mining pools of each document, unless it is withdrawn.
    pub struct PoolTags("pool_tags": ListingKey => PoolTag) in Home::Shared(b'g'), from Origin::FoldedEvents;
}

table! {
    /// The profiles of entities of each document, unless it is withdrawn.
    pub struct Profiles("profiles": ListingKey => Profile) in Home::Shared(b'P'), from Origin::FoldedEvents;
}

/// A row of a document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListingKey {
    /// The list.
    pub list: ListKey,
    /// The document.
    pub version: ListVersion,
    /// The row of the document.
    pub row: u32,
}

key_of_fields! { ListingKey { list, version, row } }

/// Values of these tables are rows as events have them.
macro_rules! value_codec {
    ($($row:ty),*) => {
        $(impl ValueCodec for $row {
            fn encode(&self, out: &mut Vec<u8>) {
                self.put(out, 0);
            }

            fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
                whole(b, |b| <$row>::read(b, 0))
            }
        })*
    };
}

value_codec!(PoolTag, Profile);
