//! The tables of the index, one file each: what a key and a value hold, drawn in the file's documentation, with the
//! codec and the tuning beside it. No I/O here: the reader and the writer share these.

pub mod block_log;
pub mod codec;
pub mod coins;
pub mod headers;
pub mod history;
pub mod journal;
pub mod lookups;
pub mod mempool;
pub mod prevouts;
mod registry;
pub mod spenders;
mod table;
pub mod totals;

pub use codec::DecodeError;
pub use registry::TABLES;
pub use table::{Compression, Family, KeyCodec, Table, TableInfo, Tuning, ValueCodec, encode_key, encode_value};
