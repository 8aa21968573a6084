//! The tables of the index, one file each: what a key and a value hold, drawn in the file's documentation, with the
//! codec and the tuning beside it; and the identities of the stages that write them. No I/O here: the reader and the
//! writer share these.

#[macro_use]
mod registry;

pub mod codec;
pub mod keys;
pub mod stages;
mod table;

pub use codec::{DecodeError, KeyCodec, ValueCodec};
pub use table::{Compression, Family, Home, Origin, Table, TableInfo, Tuning, encode_key, encode_value};

macro_rules! declare_tables {
    ($($module:ident: $($table:ident),+;)*) => {
        $(pub mod $module;)*

        /// Every table of the index.
        pub const TABLES: [TableInfo; table::COUNT] = [$($(TableInfo::of::<$module::$table>()),+),*];
    };
}

for_each_table!(declare_tables);
