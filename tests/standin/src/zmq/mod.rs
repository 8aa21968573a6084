//! ZMQ publishing as Bitcoin Core does it, and what can go wrong with it on command.

mod faults;
mod publisher;
mod wire;

pub use faults::{ZmqFault, ZmqRule};
pub(crate) use publisher::{Command, Publisher};
