//! The chain behind `cairn demo`, and what makes it: seeded, the same on every machine, and valid by consensus.
//!
//! * [`chain_and_mempool`] generates the demo: named [`actors`], fixed addresses, fifteen years, and unconfirmed
//!   transactions over the tip.
//! * [`chain_and_cases`] names addresses of it that show something: each a [`RiskCase`].
//! * [`ChainBuilder`] mines regtest blocks on any parent, transaction by transaction, with real signatures.
//! * [`Chain`] gives the blocks in order of arrival, the active chain, the stale branches, and the connects and
//!   disconnects that a node goes through. Every block carries the coins it spends.
//! * [`DemoWallet`] pays and anchors in blocks that are added to the demo chain later.
//! * [`corefiles`] writes Bitcoin Core's block files, tidy or with the irregularities of real folders.
//!
//! Nothing here shares code with the indexer or the API, so that tests can use it to check both.
//!
//! ```
//! use bitcoin::{Amount, TxOut};
//! use cairn_demo::{BlockSpec, ChainBuilder, Lock, Style};
//!
//! # fn main() -> Result<(), cairn_demo::Error> {
//! let mut builder = ChainBuilder::new(7);
//! let miner = builder.keyring().script(&Lock::P2wpkh { key: 0 })?;
//! for _ in 0..101 {
//!     builder.mine(&BlockSpec::paying(miner.clone()))?;
//! }
//! let coin = builder.spendable()[0];
//! let payee = builder.keyring().script(&Lock::P2trKey { key: 1 })?;
//! let output = TxOut { value: Amount::from_sat(4_999_990_000), script_pubkey: payee };
//! let tx = builder.spend(&[coin], vec![output], &Style::default())?;
//! builder.add(tx)?;
//! builder.mine(&BlockSpec::paying(miner))?;
//! // A fork: back by two blocks, then three on.
//! let base = builder.ancestor(2);
//! builder.checkout(&base)?;
//! for _ in 0..3 {
//!     builder.mine(&BlockSpec::default())?;
//! }
//! assert_eq!(builder.chain().tip().height, 103);
//! assert_eq!(builder.chain().stale()[0].len(), 2);
//! # Ok(()) }
//! ```

mod build;
pub mod corefiles;
mod economy;
mod error;

pub use build::{
    Bip84Key, BlockSpec, COINBASE_MATURITY, Chain, ChainBuilder, Coin, Commitment, Event, HALVING_INTERVAL, KeyForm,
    Keyring, Lock, MAX_SCRIPT_SIZE, Mined, Parent, Style, block_on, is_unspendable, subsidy,
};
pub use economy::{
    Actor, DEMO_BLOCKS, DemoCoin, DemoDraft, DemoPrice, DemoRate, DemoWallet, END_TIME, Payee, Question, RECENT_BLOCKS,
    RiskCase, SAVER_ACCOUNT_KEY, STOLEN_SATS, Showcase, Unconfirmed, WAITING_SPAN, actors, chain, chain_and_cases,
    chain_and_mempool, chain_and_owners, coin, labelled_cases, prices, script_of, showcase,
};
pub use error::Error;
