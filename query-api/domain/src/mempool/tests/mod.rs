//! The mempool against a naive model of it.
#![allow(clippy::unwrap_used)]

mod bounds;
mod hostile;
mod load;
mod mining;
mod model;
mod sequences;
mod world;
