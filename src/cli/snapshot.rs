//! The command line of `cairn snapshot`.

use std::path::PathBuf;

use cairn_export::{Amounts, Dataset, Grid, Hashes};
use clap::{Args, Subcommand, ValueEnum};

use crate::config::{IndexDir, size};

#[derive(Args, Debug)]
pub(crate) struct SnapshotArgs {
    #[command(subcommand)]
    pub(crate) what: SnapshotCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SnapshotCommand {
    /// Writes the index as Parquet files that other programs read, as of one block. Works while another process writes the
    /// index. An export that was stopped goes on with the same command.
    Export(SnapshotExport),
    /// Compares the files of an export with its manifest: bytes, SHA-256 and rows. Reads all of them.
    Verify(SnapshotVerify),
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotExport {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Folder to write to. A new or empty one, or one with an export that was stopped, or that --since names.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Datasets to write, with commas in between. Default: all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = dataset)]
    pub(crate) datasets: Vec<&'static Dataset>,
    /// How rows that belong to blocks are divided into files: a number of blocks, or `day`.
    #[arg(long, value_name = "BLOCKS|day", default_value = "1000", value_parser = grid)]
    pub(crate) partition: Grid,
    /// How hashes, ids of scripts and scripts are written.
    #[arg(long, value_name = "FORM", value_enum, default_value = "binary")]
    pub(crate) hashes: HashForm,
    /// How amounts are written: whole satoshis, or decimals in bitcoin.
    #[arg(long, value_name = "UNIT", value_enum, default_value = "sats")]
    pub(crate) amounts: AmountUnit,
    /// Adds the txid of what they spend to inputs. Takes another two walks over the chain.
    #[arg(long)]
    pub(crate) txids: bool,
    /// Adds addresses to inputs and outputs. Takes another two walks over the chain.
    #[arg(long)]
    pub(crate) addresses: bool,
    /// Manifest of an earlier export in the same folder. Files of blocks that have not changed are kept.
    #[arg(long, value_name = "MANIFEST")]
    pub(crate) since: Option<PathBuf>,
    /// Memory for rows that are not in files yet: a number of bytes, or a number with K, M, G or T. At least 64M.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = memory)]
    pub(crate) memory: u64,
    /// Files that are written at a time. Default: one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotVerify {
    /// Folder of the export.
    pub(crate) folder: PathBuf,
}

/// How hashes are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HashForm {
    /// As bytes: the smallest files.
    Binary,
    /// As hexadecimal digits.
    Hex,
}

impl From<HashForm> for Hashes {
    fn from(form: HashForm) -> Self {
        match form {
            HashForm::Binary => Hashes::Binary,
            HashForm::Hex => Hashes::Hex,
        }
    }
}

/// How amounts are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AmountUnit {
    /// Whole satoshis.
    Sats,
    /// Bitcoin, with 8 digits after the point.
    Btc,
}

impl From<AmountUnit> for Amounts {
    fn from(unit: AmountUnit) -> Self {
        match unit {
            AmountUnit::Sats => Amounts::Sats,
            AmountUnit::Btc => Amounts::Btc,
        }
    }
}

/// Least memory of an export.
const LEAST_MEMORY: u64 = 64 << 20;

fn memory(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes if bytes < LEAST_MEMORY => Err(format!("too small; the minimum is {}M", LEAST_MEMORY >> 20)),
        bytes => Ok(bytes),
    }
}

fn dataset(name: &str) -> Result<&'static Dataset, String> {
    Dataset::named(name.trim()).ok_or_else(|| {
        let names: Vec<&str> = Dataset::all().iter().map(|dataset| dataset.name).collect();
        format!("not a dataset; use {}", names.join(", "))
    })
}

fn grid(text: &str) -> Result<Grid, String> {
    match text {
        "day" => Ok(Grid::Days),
        number => match number.parse() {
            Ok(blocks @ 1..) => Ok(Grid::Blocks(blocks)),
            _ => Err("expected a number of blocks, for example 1000, or day".to_owned()),
        },
    }
}
