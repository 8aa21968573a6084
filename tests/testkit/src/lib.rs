//! What the tests of every area share: a naive ledger to compare the index with, the folder of real chain data, tests
//! that skip themselves by name, and folders that vanish.
//!
//! This is test code: what cannot be (a block that spends a coin that does not exist, say) panics and says why.

mod data;
mod ledger;
mod oracle;
mod skip;

pub use data::{read_block_file, shared_data, temp_dir, workspace_root};
pub use ledger::{Coin, HeaderRow, HistoryRow, Spender, Totals, TxRow};
pub use oracle::{DayRow, Oracle};
pub use skip::note_skipped;
