//! The stand-in as its users see it: through its sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod client;
mod faults;
mod listener;
mod mempool;
mod rest;
mod rpc;
mod wallet;
mod zmq;

use cairn_standin::{StandIn, StandInOptions};

/// A node whose wallet has mature coins.
pub(crate) fn node(premine: u32) -> StandIn {
    StandIn::start(StandInOptions { premine, time: Some(1_700_000_000), ..StandInOptions::default() }).unwrap()
}
