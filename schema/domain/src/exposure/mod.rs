//! Exposure: which part of a script's coins came from scripts with claims, or went to them. Evidence of paths on the
//! chain, not a score.
//!
//! A hop is a transaction. Amounts move through a transaction by two conventions, haircut and FIFO (see [`Spread`]);
//! poison counts every coin that a path reaches wholly, a bound for this coin alone. A trace ends at sources (scripts
//! with a claim that counts), at coinbases, services, busy scripts, CoinJoins and at its limits. A source comes before
//! a stop. Where a trace ends without a source, the amount keeps the reason: it is not resolved, and nothing more.

mod chain;
mod destinations;
mod flows;
mod levels;
mod shared;
mod sources;
mod spread;
mod tally;

use cairn_model::{Outpoint, Sats, ScriptId, TxNum};

pub use chain::{Chain, Role, Source, TracedInput, TracedOutput, TracedTx};
use destinations::trace_destinations;
use flows::Flows;
pub use flows::Step;
pub use shared::SharedTraces;
use sources::trace_sources;
pub use spread::{MILLIONTHS, Origin, Part, Spread, Stop};
pub use tally::{Amounts, Reach, Tally};

/// Transactions that are announced together.
const CHUNK: usize = 128;

/// Coins that a trace looks at.
pub const MAX_COINS: usize = 5_000;
/// Transactions that a trace reads.
pub const MAX_TXS: usize = 5_000;
/// Inputs and outputs that a trace reads; a [`Chain`] holds to it.
pub const MAX_PARTS: usize = 200_000;
/// Amounts that a trace computes.
const MAX_STEPS: usize = 300_000;
/// Transactions of a script beyond which it is busy; as many are examined, the newest.
pub const MAX_TRANSACTIONS: u64 = 1_000;

/// Direction of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    /// Where received coins came from.
    Sources,
    /// Where spent coins went.
    Destinations,
}

/// Bounds of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Transactions between a source and the subject.
    pub hops: u8,
    /// Coins that are looked at.
    pub coins: usize,
    /// Transactions that are read.
    pub txs: usize,
    /// Amounts that are computed.
    pub steps: usize,
}

impl Limits {
    /// The bounds of exposure over this many transactions.
    #[must_use]
    pub const fn at_depth(hops: u8) -> Self {
        Limits { hops, coins: MAX_COINS, txs: MAX_TXS, steps: MAX_STEPS }
    }
}

/// Traces the coins of a script that some of its transactions moved: those that paid it for [`Way::Sources`], those
/// that spent from it for [`Way::Destinations`]. The first of the transactions are read first, if not all can be.
pub fn trace<C: Chain>(
    chain: &mut C,
    way: Way,
    subject: ScriptId,
    txs: &[TxNum],
    limits: Limits,
) -> Result<Trace, C::Error> {
    match way {
        Way::Sources => trace_sources(chain, subject, txs, limits),
        Way::Destinations => trace_destinations(chain, subject, txs, limits),
    }
}

/// A part of a coin that came from a source, or went to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    /// The coin: the subject's, or that of the source where coins are followed forward.
    pub coin: Outpoint,
    /// The source.
    pub source: Source,
    /// The part of the coin.
    pub part: Part,
    /// Value of the coin.
    pub value: Sats,
    /// Haircut in millionths of a satoshi.
    pub haircut: u128,
    /// FIFO in satoshis.
    pub fifo: Sats,
}

/// The result of a trace.
#[derive(Debug)]
pub struct Trace {
    /// Its sums.
    pub tally: Tally,
    /// Parts of coins with a source, in the order of the coins.
    pub reached: Vec<Reached>,
    flows: Flows,
    /// Transactions of the subject whose coins were examined.
    pub transactions: u64,
    /// Transactions of the subject that were not examined: too large, or too many.
    pub left_out_transactions: u64,
    /// Coins that were looked at.
    pub coins: u64,
    /// Coins that were not looked at since there would be too many.
    pub left_out_coins: u64,
    /// Coins whose parts were not computed since there would be too many.
    pub left_out_paths: u64,
}

impl Trace {
    /// The way of a part, one transaction after the other in the order of the chain. Where several inputs bring a
    /// part, the largest one is taken.
    #[must_use]
    pub fn way(&self, reached: &Reached) -> Vec<Step> {
        self.flows.way(reached.coin, reached.part)
    }

    /// True if a limit left something out; the limit of hops does not count.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        let caps = [Stop::CoinCap, Stop::TransactionCap, Stop::WorkCap];
        self.left_out_transactions > 0
            || self.left_out_coins > 0
            || caps.iter().any(|stop| self.tally.stops.contains_key(stop))
    }
}
