//! Transactions.

mod decoded;
mod found;
mod io;
mod pending;
mod submitted;
mod verdict;

crate::area::area! {
    lookup::TxLookup,
    status::TxStatus,
    op_return::OpReturnOutputs,
    verify::TxVerify,
    broadcast::TxBroadcast,
}

use found::{FoundTx, find, wanted};
