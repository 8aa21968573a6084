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
mod sources;
mod spread;
mod tally;

use cairn_model::{Outpoint, Sats};

pub use chain::{Chain, Role, Source, TracedInput, TracedOutput, TracedTx};
pub use destinations::trace_destinations;
use flows::Flows;
pub use flows::Step;
pub use sources::trace_sources;
pub use spread::{MILLIONTHS, Origin, Part, Spread, Stop};
pub use tally::{Amounts, Reach, Tally};

/// Transactions that are announced together.
const CHUNK: usize = 128;

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
        self.left_out_coins > 0 || caps.iter().any(|stop| self.tally.stops.contains_key(stop))
    }
}
