//! The network as a whole: pace of the chain, difficulty, halving, pressure on the mempool.

mod pace;
mod samples;
pub(crate) mod stress;
pub(crate) mod summary;
