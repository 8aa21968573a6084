//! Tools that the tests of every area share: a naive ledger to compare the index with, naive clusters and coin ages,
//! the folder of real chain data, block files of a custom signet, tests that skip themselves by name, and folders that
//! vanish.
//!
//! This is test code: an impossible case (a block that spends a coin that does not exist, say) panics and says why.

mod ages;
mod b_cubed;
mod clusters;
mod data;
mod ledger;
mod oracle;
mod signet;
mod skip;

pub use ages::{AGE_BANDS, AgeBand, BalanceBand, BlockAges, CoinSum, DayMetrics, LONG_TERM_DAYS, TxSums};
pub use b_cubed::{BCubed, b_cubed};
pub use clusters::{
    ClusterId, Clusters, PaidByTx, anyone_can_pay, clusters_of_perfect_eligibility, needs_key, paid_by_transaction,
    paid_to_others,
};
pub use data::{crate_folder, files_in, read_block_file, shared_data, temp_dir, workspace_root};
pub use ledger::{Coin, HeaderRow, HistoryRow, Spender, Totals, TxRow};
pub use oracle::{DayRow, Oracle};
pub use signet::{SIGNET_CHALLENGE, SIGNET_HEIGHT, SIGNET_TIP, write_signet};
pub use skip::note_skipped;
