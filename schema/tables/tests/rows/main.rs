//! Tests that every table passes, made for each by one macro. Written rows read back; keys sort as they should. No
//! bytes make a decoder panic or take much memory. A row has one form, which does not change unseen.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod checks;
mod golden;
mod golden_ages;
mod golden_claims;
mod golden_clusters;
mod golden_contests;
mod golden_dust;
mod golden_events;
mod golden_feed;
mod golden_flows;
mod golden_labels;
mod golden_late;
mod golden_names;
mod golden_pools;
mod golden_pubkeys;
mod golden_transfers;
mod golden_tweaks;
mod identity;
mod observations;
mod page;
mod registry;
mod sums;
mod values;

use std::fmt::Debug;

use cairn_tables::Table;
use proptest::strategy::BoxedStrategy;

/// A table with what its tests need.
pub(crate) trait Tested: Table<Key: Ord + Clone + Debug, Value: PartialEq + Clone + Debug> {
    /// Any key.
    fn keys() -> BoxedStrategy<Self::Key>;
    /// Any value.
    fn values() -> BoxedStrategy<Self::Value>;
    /// Rows with their bytes in hexadecimal: (key, value, key bytes, value bytes).
    fn golden() -> Vec<(Self::Key, Self::Value, &'static str, &'static str)>;
    /// Bytes of values of an earlier form, in hexadecimal, with what they are read as.
    fn earlier() -> Vec<(&'static str, Self::Value)> {
        Vec::new()
    }

    /// Bytes that decoding may take however short the row is.
    const FREE_BYTES: u64 = 2_048;
}

macro_rules! table_tests {
    ($($file:ident: $($table:ident),+;)*) => {
        $(mod $file {
            $(#[allow(non_snake_case)]
            mod $table {
                use crate::checks;
                type T = cairn_tables::$file::$table;

                #[test]
                fn rows_read_back() {
                    checks::rows_read_back::<T>();
                }

                #[test]
                fn keys_sort_as_their_bytes() {
                    checks::keys_sort_as_their_bytes::<T>();
                }

                #[test]
                fn random_bytes_are_errors_or_rows() {
                    checks::random_bytes_are_errors_or_rows::<T>();
                }

                #[test]
                fn damaged_rows_are_errors_or_rows() {
                    checks::damaged_rows_are_errors_or_rows::<T>();
                }

                #[test]
                fn short_rows_take_little_memory() {
                    checks::short_rows_take_little_memory::<T>();
                }

                #[test]
                fn bytes_do_not_change() {
                    checks::bytes_do_not_change::<T>();
                }
            })+
        })*
    };
}

// A table without golden rows does not compile here.
cairn_tables::for_each_table!(table_tests);
