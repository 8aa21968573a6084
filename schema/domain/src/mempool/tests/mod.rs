//! The mempool against a naive model of it.
#![allow(clippy::unwrap_used)]

mod bounds;
mod chunks;
mod hostile;
mod linearize;
mod mining;
mod model;
mod sequences;
mod snapshot;
mod versions;
mod world;
