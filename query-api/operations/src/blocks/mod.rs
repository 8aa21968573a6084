//! Blocks.

mod facts;

crate::area::area! {
    detail::BlockDetail,
}

pub(crate) use facts::{CoinbaseClaim, CoinbaseTag, FeeRange, coinbase_tag, fee_range, tx_facts};
