//! The tables of the index, one file each: the layout of keys and values in the file's documentation, the codec and the
//! tuning. Also the identities of the stages that write them. No I/O: reader and writer share this crate.

#[macro_use]
mod registry;

pub mod codec;
mod family;
pub mod keys;
pub mod stages;
mod table;

pub use codec::DecodeError;
pub use family::{Compression, Family, Home, Tuning};
pub use table::{KeyCodec, Origin, Table, TableInfo, ValueCodec, encode_key, encode_value};

macro_rules! declare_tables {
    ($($module:ident: $($table:ident),+;)*) => {
        $(pub mod $module;)*

        /// Every table of the index.
        pub const TABLES: [TableInfo; DECLARED.len()] = [$($(TableInfo::of::<$module::$table>()),+),*];

        /// Name and home of every table, from which the families follow.
        pub(crate) const DECLARED: &[(&str, Home)] =
            &[$($((<$module::$table as Table>::NAME, <$module::$table as Table>::HOME)),+),*];
    };
}

for_each_table!(declare_tables);
