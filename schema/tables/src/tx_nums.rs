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
    table::{Home, Origin, Table, Tuning},
};

/// txid to number.
pub struct TxNums;

impl Table for TxNums {
    const NAME: &'static str = "tx_nums";
    // Look-ups include txids that do not exist: the filter on the 8 prefix bytes answers these from memory.
    const HOME: Home = Home::Own(Tuning { filter_bits: 10, filter_prefix: 8, ..Tuning::SHORT });
    const ORIGIN: Origin = Origin::Stage("chain");
    type Key = (HashPrefix, TxNum);
    type Value = ();
}
