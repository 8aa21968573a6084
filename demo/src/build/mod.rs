//! Builds chains of consensus-valid regtest blocks, transaction by transaction, with real signatures.

mod account;
mod block;
mod builder;
mod chain;
mod coin;
mod keyring;
mod lock;
mod spec;

pub use account::Bip84Key;
pub use block::{HALVING_INTERVAL, Parent, block_on, subsidy};
pub use builder::{COINBASE_MATURITY, ChainBuilder};
pub use chain::{Chain, Event, Mined};
pub use coin::{Coin, MAX_SCRIPT_SIZE, is_unspendable};
pub use keyring::Keyring;
pub use lock::{KeyForm, Lock};
pub use spec::{BlockSpec, Commitment, Style};
