//! What every table promises of its rows, stamped onto each by one macro: what is written reads back, keys sort as they
//! should, no bytes make a decoder panic or take much memory, a row has one form, and that form does not change unseen.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod checks;
mod golden;
mod mempool;
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
    /// Bytes that decoding may take however short the row is.
    const FREE_BYTES: u64 = 2_048;
}

macro_rules! table_tests {
    ($($module:ident: $table:ty;)*) => {
        $(mod $module {
            use crate::checks;
            type T = $table;

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
        })*

        /// Names of the tables that are tested here.
        const TESTED: &[&str] = &[$(<$table as Table>::NAME),*];
    };
}

table_tests! {
    headers: cairn_tables::headers::Headers;
    block_log: cairn_tables::block_log::BlockLog;
    prevouts: cairn_tables::prevouts::Prevouts;
    tx_nums: cairn_tables::lookups::TxNums;
    spenders: cairn_tables::spenders::Spenders;
    coins: cairn_tables::coins::Coins;
    coins_by_script: cairn_tables::coins::CoinsByScript;
    history: cairn_tables::history::History;
    history_index: cairn_tables::history::HistoryIndex;
    totals: cairn_tables::totals::TotalsTable;
    height_by_hash: cairn_tables::lookups::HeightByHash;
    height_by_time: cairn_tables::lookups::HeightByTime;
    collisions: cairn_tables::journal::Collisions;
    overwritten: cairn_tables::journal::OverwrittenCoins;
    checkpoints: cairn_tables::journal::Checkpoints;
    facts: cairn_tables::journal::Facts;
    kept_mempool: cairn_tables::mempool::KeptMempool;
    mempool_samples: cairn_tables::mempool::MempoolSamples;
}
