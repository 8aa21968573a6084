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
};

/// Longest tag in bytes: no scriptSig of a coinbase is longer.
pub const MAX_TAG: usize = 100;
/// Most tags of a document.
pub const MAX_POOL_TAGS: usize = 10_000;

/// A tag, and whose it is said to be. Texts are what the source says: they are untrusted, and without control characters.
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

impl PoolTag {
    /// Checks what the type does not say.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn check(&self) -> Result<(), &'static str> {
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
}

/// Appends a tag; its row must be above `before`, that of the tag before or 0.
pub fn put_pool_tag(out: &mut Vec<u8>, before: u32, tag: &PoolTag) {
    put_varint(out, u128::from(tag.row.wrapping_sub(before)));
    [&*tag.tag, tag.pool.as_str(), &*tag.name, &*tag.link].into_iter().for_each(|text| put_text(out, text));
}

impl Bytes<'_> {
    /// A tag, after the one with the row `before`; 0 for the first.
    ///
    /// # Errors
    /// The bytes are none.
    pub fn pool_tag(&mut self, before: u32) -> Result<PoolTag, Malformed> {
        let rows: u32 = self.number()?;
        let row = before.checked_add(rows).filter(|_| rows > 0).ok_or(Malformed("row of a tag"))?;
        let tag = self.text()?.into();
        let pool = self.text()?.parse().map_err(|_| Malformed("name of a pool"))?;
        let tag = PoolTag { row, tag, pool, name: self.text()?.into(), link: self.text()?.into() };
        tag.check().map_err(Malformed)?;
        Ok(tag)
    }
}
