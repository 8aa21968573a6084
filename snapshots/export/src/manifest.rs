//! The manifest of an export. It is written last, so a folder with a manifest is complete.

use serde::{Deserialize, Serialize};

use crate::{Destination, ExportError, Part};

/// Name of the manifest in the folder of an export.
pub const MANIFEST: &str = "manifest.json";

/// Version of the manifest and of the datasets' columns. Another one means that files are not kept.
pub const SCHEMA_VERSION: u32 = 1;

/// Content of an export.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this form and of the columns.
    pub schema_version: u32,
    /// The program that made it.
    pub program: String,
    /// When it was made (UTC, RFC 3339).
    pub made_at: String,
    /// The network.
    pub network: String,
    /// The challenge of a custom signet in hexadecimal digits; absent for all other networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signet_challenge: Option<String>,
    /// Height of the block that all rows are as of.
    pub tip_height: u32,
    /// Its hash.
    pub tip_hash: String,
    /// Its header's time (UTC, RFC 3339).
    pub tip_time: String,
    /// Number of transactions in the chain.
    pub transactions: u64,
    /// Number of the newest input event (labels, prices) that the rows have; 0 if there is none.
    pub event_seq: u64,
    /// `binary` or `hex`: how hashes, ids and scripts are written.
    pub hashes: String,
    /// `sats` or `btc`: how amounts are written.
    pub amounts: String,
    /// True if inputs have the txid of the coin that they spend.
    pub txids: bool,
    /// True if inputs and outputs have addresses.
    pub addresses: bool,
    /// How rows that belong to blocks are divided: `1000 blocks`, or `days`.
    pub partitions: String,
    /// The blocks of each part.
    pub parts: Vec<Part>,
    /// The datasets.
    pub datasets: Vec<DatasetEntry>,
    /// The export that this one continues; null for a whole one.
    pub since: Option<Since>,
}

/// A dataset of an export.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DatasetEntry {
    /// Its name, which is that of its folder.
    pub name: String,
    /// Rows in all files.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Columns that rows of a file are sorted by, ascending.
    pub sorted_by: Vec<String>,
    /// The columns.
    pub columns: Vec<ColumnEntry>,
    /// The files.
    pub files: Vec<FileEntry>,
}

/// A column of a dataset.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ColumnEntry {
    /// Its name.
    pub name: String,
    /// Its type in Arrow's words.
    pub r#type: String,
    /// True if it may be null.
    pub nullable: bool,
}

/// A file of a dataset.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path from the folder of the export, with `/`.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Height of the block that its rows are as of; absent if that is the tip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of_height: Option<u32>,
    /// Facts that a reader needs about its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The export that this one continues.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Since {
    /// Height of the block that the export before was as of.
    pub tip_height: u32,
    /// Its hash.
    pub tip_hash: String,
    /// Files that were kept.
    pub kept: u64,
    /// Parts that were there and were written again because their blocks changed: by a reorganization, or since blocks
    /// were added to the last one.
    pub rewritten: Vec<String>,
}

impl Manifest {
    /// Reads the manifest of the export at a place; `None` if there is none.
    ///
    /// # Errors
    /// Fails if the manifest is of another version, names a path outside of the place, or cannot be read.
    pub fn read(place: Destination<'_>) -> Result<Option<Self>, ExportError> {
        let Some(text) = place.read(MANIFEST)? else { return Ok(None) };
        let wrong = |what: String| ExportError::Manifest { place: place.shown(MANIFEST), what };
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|e| wrong(format!("not a manifest of an export: {e}")))?;
        let found = manifest.schema_version;
        if found != SCHEMA_VERSION {
            return Err(wrong(format!("it has version {found}, this program reads {SCHEMA_VERSION}")));
        }
        // Lengths and rows are added up.
        let sum = |of: fn(&FileEntry) -> u64| manifest.files().try_fold(0u64, |sum, file| sum.checked_add(of(file)));
        if sum(|file| file.bytes).and(sum(|file| file.rows)).is_none() {
            return Err(wrong("its files have more bytes or rows than a number holds".to_owned()));
        }
        // The next export reads and replaces the files that it names.
        let is_inside = |path: &str| {
            let parts = || path.split('/');
            !path.starts_with('/') && parts().all(|part| !matches!(part, "" | "." | ".."))
        };
        let mut paths = manifest.datasets.iter().map(|dataset| dataset.name.as_str());
        let outside = paths.find(|name| !is_inside(name) || name.contains('/'));
        match outside.or_else(|| manifest.files().map(|file| file.path.as_str()).find(|path| !is_inside(path))) {
            Some(path) => Err(wrong(format!("it names a path outside of the folder: {path:?}"))),
            None => Ok(Some(manifest)),
        }
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &FileEntry> {
        self.datasets.iter().flat_map(|dataset| &dataset.files)
    }

    pub(crate) fn text(&self) -> Result<String, ExportError> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|_| ExportError::Defect("the manifest has no JSON"))
    }
}
