//! Blocks.

mod facts;

crate::area::area! {
    detail::BlockDetail,
}

pub(crate) use facts::{Claimed, CoinbaseTag, FeeRange, block_rates, coinbase_tag, fee_range};
