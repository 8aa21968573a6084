//! Indexes, exports of them, and their rows.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use cairn_chaingen::Chain;
use cairn_export::{Checked, Dataset, Destination, ExportError, ExportOptions, ExportStep, Exported, Grid};
use cairn_model::{CancelToken, Network};
use cairn_testkit::{Oracle, files_in};
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::{Field, Row},
};

pub use crate::world::{World, chain};

impl World {
    pub fn out(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn work(&self, name: &str) -> PathBuf {
        self.dir.path().join("data/exports").join(name)
    }

    pub fn try_export(
        &self,
        name: &str,
        options: &ExportOptions,
        cancel: &CancelToken,
    ) -> Result<Exported, ExportError> {
        export(&self.dir.path().join("data/index"), &self.out(name), &self.work(name), options, cancel, &|_| {})
    }

    pub fn export(&self, name: &str, options: &ExportOptions) -> Exported {
        let made = self.try_export(name, options, &CancelToken::never()).unwrap();
        assert!(!self.work(name).exists(), "nothing is left of the work");
        made
    }
}

/// Exports to a folder.
pub fn export(
    index: &Path,
    out: &Path,
    work: &Path,
    options: &ExportOptions,
    cancel: &CancelToken,
    progress: &(dyn Fn(ExportStep) + Sync),
) -> Result<Exported, ExportError> {
    cairn_export::export(index, Destination::Folder(out), work, options, cancel, progress)
}

/// Compares an export in a folder.
pub fn verify(out: &Path, cancel: &CancelToken, seen: &dyn Fn(u64, u64)) -> Result<Checked, ExportError> {
    cairn_export::verify(Destination::Folder(out), cancel, seen)
}

/// Small parts, two files at a time, little memory.
pub fn options() -> ExportOptions {
    ExportOptions { grid: Grid::Blocks(10), workers: 2, memory: 64 << 20, ..ExportOptions::default() }
}

pub fn only(names: &[&str]) -> ExportOptions {
    ExportOptions { datasets: names.iter().map(|name| Dataset::named(name).unwrap()).collect(), ..options() }
}

pub fn oracle_of(chain: &Chain) -> Oracle {
    Oracle::of(Network::Regtest, chain.active().iter().map(|mined| &mined.block))
}

/// The rows of a dataset in the order of the manifest, each by the names of its columns.
pub struct Rows(pub Vec<Row>);

impl Rows {
    pub fn read(out: &Path, made: &Exported, dataset: &str) -> Self {
        let entry = made.manifest.datasets.iter().find(|entry| entry.name == dataset).unwrap();
        let mut rows = Vec::new();
        for file in &entry.files {
            let reader = SerializedFileReader::new(fs::File::open(out.join(&file.path)).unwrap()).unwrap();
            let found: Vec<Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
            assert_eq!(found.len() as u64, file.rows, "{}", file.path);
            rows.extend(found);
        }
        assert_eq!(rows.len() as u64, entry.rows);
        Rows(rows)
    }
}

/// A value of a row.
pub fn at<'r>(row: &'r Row, column: &str) -> &'r Field {
    row.get_column_iter().find(|(name, _)| *name == column).unwrap_or_else(|| panic!("no column {column}: {row}")).1
}

/// A whole number: also a time in microseconds, a day, or an unscaled decimal.
pub fn number(row: &Row, column: &str) -> i128 {
    match at(row, column) {
        Field::Int(value) => (*value).into(),
        Field::Date(value) => (*value).into(),
        Field::Long(value) | Field::TimestampMicros(value) => (*value).into(),
        Field::Decimal(value) => {
            let negative = value.data().first().is_some_and(|byte| byte & 0x80 != 0);
            let mut bytes = [if negative { 0xff } else { 0 }; 16];
            bytes[16 - value.data().len()..].copy_from_slice(value.data());
            i128::from_be_bytes(bytes)
        }
        other => panic!("{column}: {other}"),
    }
}

pub fn bytes(row: &Row, column: &str) -> Vec<u8> {
    match at(row, column) {
        Field::Bytes(value) => value.data().to_vec(),
        other => panic!("{column}: {other}"),
    }
}

pub fn text(row: &Row, column: &str) -> String {
    match at(row, column) {
        Field::Str(value) => value.clone(),
        other => panic!("{column}: {other}"),
    }
}

pub fn is_null(row: &Row, column: &str) -> bool {
    *at(row, column) == Field::Null
}

pub fn flag(row: &Row, column: &str) -> bool {
    match at(row, column) {
        Field::Bool(value) => *value,
        other => panic!("{column}: {other}"),
    }
}

/// All files below a folder with their bytes; the manifest without its time and without `since`.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files_in(folder);
    if let Some(bytes) = found.get_mut("manifest.json") {
        let mut manifest: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        manifest["made_at"] = serde_json::Value::Null;
        manifest["since"] = serde_json::Value::Null;
        *bytes = serde_json::to_vec(&manifest).unwrap();
    }
    found
}
