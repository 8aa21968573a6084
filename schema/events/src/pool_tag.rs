//! Tags of mining pools: texts that a pool writes into the coinbases of its blocks.
//!
//! ```text
//! rows after the one before │ tag │ pool │ name │ link
//! ```

use std::sync::Arc;

use crate::{
    EntityName,
    claim::{MAX_NAME, MAX_NOTE, is_plain},
    codec::{Bytes, Malformed, put_text, put_varint},
    listed::{Listed, row_after},
};

/// Longest tag in bytes: no scriptSig of a coinbase is longer.
pub const MAX_TAG: usize = 100;
/// Most tags of a document.
pub const MAX_POOL_TAGS: usize = 10_000;

/// A tag, and the pool that it is said to belong to. Texts are the source's own: they are untrusted, and without
/// control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PoolTag {
    /// Entry of the document, from 1. With the document it identifies the tag.
    pub row: u32,
    /// The tag, 1 to 100 bytes: it is looked for as it stands, white space included.
    pub tag: Arc<str>,
    /// The pool.
    pub pool: EntityName,
    /// The pool's name as people write it, 1 to 200 bytes.
    pub name: Arc<str>,
    /// The pool's page; may be empty. At most 1,000 bytes.
    pub link: Arc<str>,
}

impl Listed for PoolTag {
    const NOUN: &'static str = "tag";
    const MAX: usize = MAX_POOL_TAGS;
    const PER_ROW: usize = 128;

    fn row(&self) -> u32 {
        self.row
    }

    fn at_row(&self, row: u32) -> Self {
        PoolTag { row, ..self.clone() }
    }

    fn check(&self) -> Result<(), &'static str> {
        match self {
            PoolTag { tag, .. } if tag.is_empty() || tag.len() > MAX_TAG => Err("no text of 1 to 100 bytes"),
            PoolTag { tag, .. } if !is_plain(tag) => Err("control characters"),
            PoolTag { name, .. } if name.is_empty() || name.len() > MAX_NAME || !is_plain(name) => {
                Err("a name of the pool that is empty, too long or has control characters")
            }
            PoolTag { link, .. } if link.len() > MAX_NOTE || !is_plain(link) => {
                Err("a link that is too long or has control characters")
            }
            _ => Ok(()),
        }
    }

    fn put(&self, out: &mut Vec<u8>, before: u32) {
        put_varint(out, u128::from(self.row.wrapping_sub(before)));
        [&*self.tag, self.pool.as_str(), &*self.name, &*self.link].into_iter().for_each(|text| put_text(out, text));
    }

    fn read(bytes: &mut Bytes<'_>, before: u32) -> Result<Self, Malformed> {
        let row = row_after(before, bytes.number()?)?;
        let tag = bytes.text()?.into();
        let pool = bytes.text()?.parse().map_err(|_| Malformed("name of a pool"))?;
        let tag = PoolTag { row, tag, pool, name: bytes.text()?.into(), link: bytes.text()?.into() };
        tag.check().map_err(Malformed)?;
        Ok(tag)
    }
}
