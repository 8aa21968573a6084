//! Blocks.

mod facts;

crate::operation::area! {
    detail::BlockDetail,
}

pub(crate) use facts::{CoinbaseTag, FeeRange, block_rates, coinbase_tag, fee_range};
