//! The client and the providers, against servers on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod client;
mod live;
mod providers;
