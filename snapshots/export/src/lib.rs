//! The index as Parquet datasets: the data of the stages, as of one tip, in files that any engine reads. The rows come
//! from a copy of the index by hard links, so that the writer goes on meanwhile. The manifest is written last.

mod buckets;
mod columns;
mod dataset;
mod datasets;
mod destination;
mod dictionary;
mod error;
mod first_seen;
mod forms;
mod grid;
mod manifest;
mod options;
mod part;
mod plan;
mod rows;
mod run;
mod sink;
mod spent;
mod verify;
mod work;

pub use cairn_store::Difference;
pub use columns::{Column, Extra, Kind};
pub use dataset::Dataset;
pub use destination::Destination;
pub use dictionary::dictionary;
pub use error::ExportError;
pub use forms::{Amounts, Format, Hashes};
pub use grid::{Grid, Part};
pub use manifest::{ColumnEntry, DatasetEntry, FileEntry, MANIFEST, Manifest, SCHEMA_VERSION, Since};
pub use options::ExportOptions;
pub use run::{ExportStep, Exported, export};
pub use verify::{Checked, verify};
