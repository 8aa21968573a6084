//! The first run of Cairn on a machine, before an index exists.
//!
//! [`measure`] and [`Machine`] gather facts; [`Sheet`] computes disk, memory and time from them. Each number names its
//! source: counted or measured on this machine now, configured, or recorded by a benchmark. A [`Finding`] is a fault
//! with the line that mends it. A value that could not be found out is unknown, with the reason.

mod disk;
mod finding;
mod line;
mod machine;
mod measure;
mod open;
mod sheet;
mod units;

pub use disk::Disk;
pub use finding::{Finding, Severity};
pub use line::{Line, Source, Value};
pub use machine::{Machine, MemoryBound};
pub use measure::{DecodeSample, MeasureLimits, Measured, ReadSample, measure};
pub use open::open_blocks;
pub use sheet::{Plan, Sheet};
pub use units::{duration, size};
