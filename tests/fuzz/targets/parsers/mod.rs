//! Targets that need no index: files, messages of the node and of strangers, rows.

mod addresses;
mod block_files;
pub mod blocks;
pub mod bounds;
mod chain;
mod event_files;
mod labels;
mod quotes;
pub mod rows;
mod rpc;
mod signatures;
mod timestamps;
mod transactions;
pub mod undo;
mod undo_files;
mod zmq;

/// A target: its name, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("addresses", addresses::run),
    ("block_files", block_files::run),
    ("blocks", blocks::run),
    ("event_files", event_files::run),
    ("labels", labels::run),
    ("quotes", quotes::run),
    ("rows", rows::run),
    ("rpc", rpc::run),
    ("signatures", signatures::run),
    ("timestamps", timestamps::run),
    ("transactions", transactions::run),
    ("undo", undo::run),
    ("undo_files", undo_files::run),
    ("zmq", zmq::run),
];

pub use chain::{Chain, REGTEST_MAGIC};
