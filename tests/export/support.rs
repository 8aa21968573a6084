//! Indexes, exports of them, and their rows.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use cairn_chaingen::{
    Chain, EverythingOptions,
    corefiles::{FileOptions, Layout, write_chain},
    everything,
};
use cairn_export::{Dataset, ExportError, ExportOptions, Exported, Grid, export};
use cairn_model::{CancelToken, Network};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_testkit::{Oracle, temp_dir};
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::{Field, Row},
};
use tempfile::TempDir;

/// An index of a chain, and its block files.
pub struct World {
    pub engine: Engine,
    pub dir: TempDir,
}

impl World {
    pub fn of(chain: &Chain) -> Self {
        let dir = temp_dir();
        let blocks = dir.path().join("blocks");
        write_chain(&blocks, chain, &Layout::tidy(FileOptions::new(bitcoin::Network::Regtest, [7; 8]))).unwrap();
        let facts = Facts { blocks_dir: Some(blocks), ..Facts::of(Network::Regtest) };
        let engine = Engine::open(&dir.path().join("data"), &facts).unwrap();
        let mut world = World { engine, dir };
        world.sync(None);
        world
    }

    /// Brings the index to the tip of the block files, or to a height.
    pub fn sync(&mut self, to: Option<u32>) {
        let files = BlockFiles::open(&self.dir.path().join("blocks"), Network::Regtest).unwrap();
        let survey = files.survey(&|_| {}).unwrap();
        let options = SyncOptions { to, ..SyncOptions::default() };
        self.engine.sync(&files, &survey, &options, &NoProgress).unwrap();
        self.settle();
    }

    pub fn settle(&self) {
        self.engine.follow_up(&NoProgress, true).unwrap();
        self.engine.settle().unwrap();
    }

    pub fn unwind(&mut self, blocks: u32) {
        let to = self.engine.tip().unwrap().unwrap().0 - blocks;
        self.engine.unwind(to, &NoProgress).unwrap();
        self.settle();
    }

    pub fn height(&self) -> u32 {
        self.engine.tip().unwrap().unwrap().0
    }

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

/// Small parts, two files at a time, little memory.
pub fn options() -> ExportOptions {
    ExportOptions { grid: Grid::Blocks(10), workers: 2, memory: 64 << 20, ..ExportOptions::default() }
}

pub fn only(names: &[&str]) -> ExportOptions {
    ExportOptions { datasets: names.iter().map(|name| Dataset::named(name).unwrap()).collect(), ..options() }
}

/// A chain in which everything occurs.
pub fn chain(seed: u64, blocks: u32) -> Chain {
    everything(seed, &EverythingOptions { blocks, max_txs: 8, forks: vec![1, 5], showpieces: true }).unwrap()
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

/// All files below a folder with their bytes; of the manifest only what does not tell the time.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            let mut bytes = fs::read(&path).unwrap();
            if name == "manifest.json" {
                let mut manifest: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
                manifest["made_at"] = serde_json::Value::Null;
                manifest["since"] = serde_json::Value::Null;
                bytes = serde_json::to_vec(&manifest).unwrap();
            }
            found.insert(name, bytes);
        }
    }
    found
}
