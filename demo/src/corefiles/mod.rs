//! Writes block and undo files as Bitcoin Core lays them out: `blk?????.dat`, `rev?????.dat`, `xor.dat`.
//!
//! [`Writer`] streams records and holds only its buffers. [`write_chain`] lays a whole generated tree out, with the
//! irregularities that real folders have: blocks out of order, stale branches, duplicates, half-written records.

mod codec;
mod layout;
mod writer;

pub use codec::{compress_amount, write_coin, write_compact_size, write_script, write_undo, write_varint};
pub use layout::{Layout, WrittenFiles, append_block, write_chain};
pub use writer::{FileOptions, Location, MAX_FILE_SIZE, Writer};
