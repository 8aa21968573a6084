//! Makes Bitcoin chains for tests and for `cairn demo`: seeded, the same on every machine, and valid by consensus.
//!
//! * [`ChainBuilder`] mines regtest blocks on any parent, transaction by transaction, with real signatures:
//!   ```
//!   use bitcoin::{Amount, TxOut};
//!   use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};
//!
//!   # fn main() -> Result<(), cairn_chaingen::Error> {
//!   let mut builder = ChainBuilder::new(7);
//!   let miner = builder.keyring().script(&Lock::P2wpkh { key: 0 })?;
//!   for _ in 0..101 {
//!       builder.mine(&BlockSpec::paying(miner.clone()))?;
//!   }
//!   let coin = builder.spendable()[0];
//!   let payee = builder.keyring().script(&Lock::P2trKey { key: 1 })?;
//!   let output = TxOut { value: Amount::from_sat(4_999_990_000), script_pubkey: payee };
//!   let tx = builder.spend(&[coin], vec![output], &Style::default())?;
//!   builder.add(tx)?;
//!   builder.mine(&BlockSpec::paying(miner))?;
//!   // A fork: back by two blocks, then three on.
//!   let base = builder.ancestor(2);
//!   builder.checkout(&base)?;
//!   for _ in 0..3 {
//!       builder.mine(&BlockSpec::default())?;
//!   }
//!   assert_eq!(builder.chain().tip().height, 103);
//!   assert_eq!(builder.chain().stale()[0].len(), 2);
//!   # Ok(()) }
//!   ```
//! * [`everything`] (or [`Everything`], step by step) is a random chain in which every kind of output, spend, coinbase
//!   and fork occurs.
//! * [`Chain`] gives the blocks in order of arrival, the active chain, the stale branches, and the connects and
//!   disconnects that a node goes through. Every block carries the coins it spends.
//! * [`demo`] is the chain behind `cairn demo`: named actors, fixed addresses, fifteen years.
//! * [`mainnet`] streams gigabytes with the proportions of the real chain.
//! * [`corefiles`] writes Bitcoin Core's block files, tidy or with the irregularities of real folders.

mod builder;
mod chain;
mod coin;
pub mod corefiles;
pub mod demo;
mod error;
mod everything;
mod keyring;
mod lock;
pub mod mainnet;
mod spec;

pub use builder::{COINBASE_MATURITY, ChainBuilder, HALVING_INTERVAL, subsidy};
pub use chain::{Chain, Event, Mined};
pub use coin::{Coin, MAX_SCRIPT_SIZE, is_unspendable};
pub use error::Error;
pub use everything::{Everything, EverythingOptions, everything};
pub use keyring::Keyring;
pub use lock::{KeyForm, Lock};
pub use spec::{BlockSpec, Commitment, Style};
