//! Names of processes in leases.

use std::{
    hash::{BuildHasher, RandomState},
    process,
};

use cairn_clock::now_secs;

/// Returns a name that no other process has.
pub(crate) fn holder() -> String {
    // The keys of a hasher are random.
    format!("{}-{:016x}", process::id(), RandomState::new().hash_one(now_secs()))
}
