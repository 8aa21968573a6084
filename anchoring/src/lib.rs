//! Anchors hashes in the chain: collects those that wait into batches, puts the root of each batch into a transaction
//! of the node's wallet, and follows that transaction until it is final. No key is in this process.
//!
//! [`next_step`] decides what to do for a batch, from what is stored and what the node and the index say: a pure
//! function. [`Anchorer::round`] does it. Each step is stored before it has an effect outside, so that a process that
//! is killed at any point goes on with the same transaction: signed bytes are stored, then sent. Everything outside
//! comes through traits: [`Ledger`] (the service state), [`Node`] (node and wallet), [`Chain`] (the index).

mod chain;
mod coins;
mod decide;
mod error;
mod figures;
mod funding;
mod ledger;
mod node;
mod proof;
mod round;
mod settings;
mod transaction;
mod wallet;

pub use chain::{Chain, Found};
pub use coins::{CoinsError, choose_coins};
pub use decide::{BatchView, CandidateView, FINAL_CONFIRMATIONS, Place, Reason, Refusal, Step, next_step};
pub use error::AnchorError;
pub use figures::Figures;
pub use ledger::{Ledger, SqlLedger};
pub use node::{Node, WalletNode};
pub use round::{Anchorer, LEASE_SECS, RoundEnd};
pub use settings::AnchorSettings;
pub use transaction::{ANCHOR_VSIZE, MAX_STRIPPED_BYTES, SignedAnchor, TransactionFlaw, UnsignedAnchor};
