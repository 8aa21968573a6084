//! Detectors of CoinJoins: precision and recall on documented transactions, the rate in real blocks, and properties.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod blocks;
mod corpus;
mod properties;
mod shapes;
mod synthetic;
