//! The fuzz targets: functions of bytes that panic when a parser breaks its word. Each is one file, and one line of a
//! table: [`parsers`] need no index, [`served`] asks a router over one.
//!
//! Two worlds run them: the tests beside this folder (on stable, over the corpus and over mutations of it), and
//! libFuzzer (`make fuzz`), which includes the files of [`parsers`] by path. For [`served`] RocksDB would compile once
//! more, under flags of its own: the mutations of the tests are all that drives those.

pub mod parsers;
pub mod served;

use parsers::Target;

/// All targets.
pub fn all() -> impl Iterator<Item = Target> {
    parsers::TARGETS.iter().chain(served::TARGETS).copied()
}
