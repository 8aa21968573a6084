//! The live mempool and its derived data: projected blocks, recommended fees, the fee histogram, stress.
//!
//! [`Mempool`] is built from deltas and answers by transaction, by spent coin and by script in a bounded number of
//! steps. A clone of it takes constant time, so each batch of deltas makes a version that readers hold while the next
//! one is applied. [`Projection`] is computed once after a batch of deltas, from an [`Outline`], and is immutable:
//! requests read it without walking the mempool. Times come in as arguments, feerates are integers, and no delta,
//! however wrong, can make it panic.
//!
//! # Memory
//!
//! [`MempoolLimits::max_bytes`] bounds a version. Beyond the current version, a reader holds what deltas removed or
//! changed since: removed transactions, and the nodes of the indexes on the way to them. A reader ends at the deadline
//! of its request. So all versions together take at most the limit and the data that the deltas of that time took out
//! or changed. That is twice the limit if they replaced the whole mempool, and a few megabytes as nodes relay.

mod changes;
mod check;
mod chunks;
mod departed;
mod entry;
mod fees;
mod graph;
mod histogram;
mod inflow;
mod linearize;
mod outline;
mod params;
mod pool;
mod projection;
mod relatives;
mod scripts;
mod select;
mod shared;
mod snapshot;
mod stats;
mod stress;
#[cfg(test)]
mod tests;
mod usage;
mod walk;

pub use check::{Applied, Refusal};
pub use departed::Departed;
pub use fees::{RECOMMENDED_FEES, RecommendedFees, recommended_fees};
pub use histogram::{BUCKET_EDGES, Bucket, FEE_DISTRIBUTION};
pub use inflow::Inflow;
pub use outline::Outline;
pub use params::{Congestion, CongestionThresholds, MEMPOOL_CONGESTION, MempoolLimits, Selection, Template};
pub use pool::Mempool;
pub use projection::{Eta, FeeRange, MEMPOOL_ETA, PROJECTED_BLOCKS, ProjectedBlock, ProjectedPosition, Projection};
pub use relatives::{RelatedTxs, Relatives};
pub use scripts::{ScriptEffect, ScriptHash, ScriptTotals};
pub use stats::{MempoolTip, Stats};
pub use stress::{MEMPOOL_STRESS, Stress, StressInput, StressParams, feerate_percentile, sample, stress};
