//! The tables of the index, one file each: the layout of keys and values in the file's documentation, the codec and the
//! tuning. Also the identities of the stages that write them. No I/O: reader and writer share this crate.

#[macro_use]
mod registry;

pub mod codec;
pub mod keys;
pub mod periods;
pub mod stages;
pub mod sums;
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
