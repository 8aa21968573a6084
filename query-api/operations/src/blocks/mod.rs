//! Blocks.

mod facts;

crate::area::area! {
    detail::BlockDetail,
}

pub(crate) use facts::{CoinbaseClaim, CoinbaseTag, FeeRange, block_rates, coinbase_tag, fee_range};
