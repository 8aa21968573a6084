//! Blocks.

pub(crate) mod detail;
mod facts;

pub(crate) use facts::{CoinbaseTag, FeeRange, block_rates, coinbase_tag, fee_range};
