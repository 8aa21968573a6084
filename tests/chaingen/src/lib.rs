//! Makes Bitcoin chains for tests: seeded, the same on every machine, and valid by consensus.
//!
//! * [`ChainBuilder`], [`Chain`], [`corefiles`] and [`demo`] are those of the crate `cairn-demo`, which `cairn demo`
//!   uses too.
//! * [`everything`] (or [`Everything`], step by step) is a random chain in which every kind of output, spend, coinbase
//!   and fork occurs. [`owned_everything`] is the same with several owners, and returns the owner of each script.
//! * [`mainnet`] streams gigabytes with the proportions of the real chain.

mod everything;
pub mod mainnet;

pub use cairn_demo as demo;
pub use cairn_demo::{
    BlockSpec, COINBASE_MATURITY, Chain, ChainBuilder, Coin, Commitment, Error, Event, HALVING_INTERVAL, KeyForm,
    Keyring, Lock, MAX_SCRIPT_SIZE, Mined, Style, corefiles, is_unspendable, subsidy,
};
pub use everything::{Everything, EverythingOptions, Joint, Owners, Truth, everything, owned_everything};
