//! The anchorer over a node with a wallet, and over SQL.
#![allow(clippy::unwrap_used, clippy::panic)]

mod decisions;
mod faults;
mod kills;
mod rig;
mod troubles;
mod way;
