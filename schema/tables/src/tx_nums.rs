//! Numbers of transactions by their ids.
//!
//! ```text
//! tx_nums  txid prefix (8) ‖ TxNum (5) → ∅
//! ```
//!
//! A prefix is a hint: several rows may share one, so the full txid is compared.

use cairn_model::TxNum;

use crate::{
    keys::HashPrefix,
    table::{Home, Origin, Tuning, table},
};

table! {
    /// txid to number.
    // Look-ups include txids that do not exist: the filter on the 8 prefix bytes answers these from memory.
    pub struct TxNums("tx_nums": (HashPrefix, TxNum) => ())
        in Home::Own(Tuning { filter_bits: 10, filter_prefix: 8, ..Tuning::SHORT }), from Origin::Stage("chain");
}
