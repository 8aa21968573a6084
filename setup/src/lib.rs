//! The first run of Cairn on a machine: facts about the machine, the block files and the node, and what follows.
//!
//! [`measure`] and [`Machine`] gather facts; [`Sheet`] computes disk, memory and time from them. Each number names its
//! source: counted or measured on this machine now, configured, or recorded by a benchmark. [`NodeConf`] reads a node's
//! `bitcoin.conf`, [`Candidates`] finds the nodes of a machine, and [`examine`] looks at a whole set-up. A [`Finding`]
//! is a fault with the line that mends it. A value that could not be found out is unknown, with the reason. No text has
//! a password or a cookie.

mod block_findings;
mod candidates;
mod conf_findings;
mod disk;
mod examine;
mod finding;
mod line;
mod listeners;
mod machine;
mod measure;
mod node_answers;
mod node_conf;
mod node_findings;
mod node_folder;
mod open;
mod settings_file;
mod sheet;
mod units;

pub use candidates::{Candidate, Candidates, folder_around, usual_dirs};
pub use disk::Disk;
pub use examine::{Checked, Examination, SetUp, examine, index_bytes};
pub use finding::{Finding, Severity};
pub use line::{Line, Source, Value};
pub use machine::{Machine, MemoryBound};
pub use measure::{DecodeSample, MeasureLimits, Measured, ReadSample, measure};
pub use node_conf::{ConfError, NodeConf};
pub use node_folder::NodeFolder;
pub use open::open_blocks;
pub use settings_file::{Credentials, FirstSettings};
pub use sheet::{Plan, Sheet};
pub use units::{duration, size};
