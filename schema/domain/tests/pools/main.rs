//! Which pool a block is from, against naive searches and real blocks.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod blocks;
mod claims;
mod properties;

use cairn_events::PoolTag;

/// A tag of a pool.
pub(crate) fn tag(row: u32, tag: &str, pool: &str) -> PoolTag {
    PoolTag { row, tag: tag.into(), pool: pool.parse().unwrap(), name: pool.into(), link: "".into() }
}
