//! Helpers that several test programs and benches share.
//!
//! * [`Program`], [`World`] and [`Running`] run the program in a folder of a small chain; [`Cast`] runs indexer and
//!   server over a stand-in node, in one process or in two.
//! * [`get`], [`get_json`], [`Client`] and [`loopback`] are clients of a server.
//! * [`forge`] makes blocks by hand; [`cospending`] has the reference clusters by the rule of the index.
//! * [`server`] is a server that tests control; [`exchanges`] are servers that behave like exchanges.
//! * [`SmallDisk`] is a file system that can be full; [`setting`] reads a number from the environment.
//! * [`table`] and [`disk_bytes`] are for benches.
//!
//! This is test code: if a step fails, it panics, and the test fails. Helpers that need the indexer or the query API
//! are not here, but are included by path: `tests/README.md` lists them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cast;
mod client;
pub mod cospending;
mod disk;
pub mod exchanges;
pub mod forge;
mod http;
pub mod loopback;
mod program;
mod running;
pub mod server;
mod setting;
mod small_disk;
pub mod table;
mod world;

pub use cast::{Cast, Form, ServedAddress};
pub use client::{Client, name_of};
pub use disk::disk_bytes;
pub use http::{get, get_json};
pub use program::{Program, fails};
pub use running::{Running, wait_until};
pub use setting::setting;
pub use small_disk::{SmallDisk, succeeds};
pub use world::{KEY, World, grown, layout};
