//! The command line of `cairn snapshot`.

use std::{path::PathBuf, str::FromStr, time::Duration};

use cairn_export::{Amounts, Dataset, Grid, Hashes};
use cairn_store::{Location, LocationError, Options};
use clap::{Args, Subcommand, ValueEnum};

use crate::config::{AuditLimit, IndexDir, StateDb, size, whole};

#[derive(Args, Debug)]
pub(crate) struct SnapshotArgs {
    #[command(subcommand)]
    pub(crate) what: SnapshotCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SnapshotCommand {
    /// Writes the index as Parquet files that other programs read, as of one block. Works while another process writes
    /// the index. An export that was stopped goes on with the same command.
    Export(SnapshotExport),
    /// Copies the index itself: to a folder, by hard links where that is possible, or to a store, which gets only what
    /// it lacks. Works while another process writes the index.
    Checkpoint(SnapshotCheckpoint),
    /// Lists the checkpoints of a store, oldest first.
    List(SnapshotList),
    /// Compares the files of an export or a checkpoint with its manifest. Reads all of them.
    Verify(SnapshotVerify),
    /// Restores an index from a checkpoint and verifies every file.
    Restore(SnapshotRestore),
}

/// A folder, or a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SnapshotLocation {
    Folder(PathBuf),
    Store(Location),
}

impl FromStr for SnapshotLocation {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        match Location::has_scheme(text) {
            true => text.parse().map(SnapshotLocation::Store),
            false => Ok(SnapshotLocation::Folder(PathBuf::from(text))),
        }
    }
}

/// How patient Cairn is with stores.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StoreArgs {
    /// How long to retry a failed request to the store. Credentials and address of a store come from the environment:
    /// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = whole::<u32>(1..=3600))]
    retry_for: u32,
}

impl StoreArgs {
    pub(crate) fn options(self) -> Options {
        Options::of_environment(Duration::from_secs(self.retry_for.into()))
    }
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotCheckpoint {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// New or empty folder to write to, or a store: s3://BUCKET/PREFIX or file:///FOLDER. In a folder on the file
    /// system of the data folder, table files take no space of their own. A store has many checkpoints, and each piece
    /// once.
    #[arg(long, value_name = "DIR|STORE")]
    pub(crate) out: SnapshotLocation,
    /// Adds a backup of the database of keys, sessions, feedback and approvals, which cannot be rebuilt (state.sqlite).
    #[arg(long)]
    pub(crate) with_state: bool,
    /// Adds the documents that were imported, as `cairn events export` writes them (events.cairn). The index has them,
    /// too.
    #[arg(long)]
    pub(crate) with_events: bool,
    /// Signs the manifest with this secret key of minisign. Its password, if it has one, comes from
    /// CAIRN_SIGNING_PASSWORD.
    #[arg(long, value_name = "FILE")]
    pub(crate) sign_with: Option<PathBuf>,
    /// Removes all but the newest checkpoints of the store afterwards, and what none of them needs if it is older than
    /// a day.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=100_000))]
    pub(crate) keep: Option<u32>,
    /// Files that are sent to a store at a time. Each takes some 32 MiB of memory.
    #[arg(long, value_name = "N", default_value = "4", value_parser = whole::<u32>(1..=64))]
    pub(crate) threads: u32,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotList {
    /// The store: s3://BUCKET/PREFIX or file:///FOLDER.
    #[arg(value_name = "STORE")]
    pub(crate) location: Location,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Which checkpoint is used, and whose.
#[derive(Args, Debug)]
pub(crate) struct Chosen {
    /// Name of the checkpoint in the store, as `cairn snapshot list` prints it. Default: the newest.
    #[arg(long, value_name = "NAME", value_parser = checkpoint_name)]
    pub(crate) name: Option<String>,
    /// Refuses a checkpoint whose manifest is not signed by this public key of minisign: the key itself, or the file
    /// that has it.
    #[arg(long, value_name = "KEY")]
    pub(crate) public_key: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotRestore {
    /// Folder of the checkpoint, or the store that has it.
    #[arg(value_name = "DIR|STORE")]
    pub(crate) from: SnapshotLocation,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Makes the data folder a replica: the same command, run again, replaces its index by the newest checkpoint while
    /// servers go on. Nothing else writes to it.
    #[arg(long)]
    pub(crate) replica: bool,
    /// Makes hard links to the table files of a folder instead of copying them. Both must be on one file system.
    #[arg(long)]
    pub(crate) link: bool,
    /// Reads every row of the restored index before it takes its place, as `cairn verify` does. Takes longer.
    #[arg(long)]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) limit: AuditLimit,
    /// Writes what is in the checkpoint beside the index to this folder (state.sqlite, events.cairn).
    #[arg(long, value_name = "DIR")]
    pub(crate) beside: Option<PathBuf>,
    /// Files that are fetched at a time. Each takes some 32 MiB of memory.
    #[arg(long, value_name = "N", default_value = "4", value_parser = whole::<u32>(1..=64))]
    pub(crate) threads: u32,
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotExport {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    /// Folder to write to, or a store: s3://BUCKET/PREFIX or file:///FOLDER. A new or empty one, or one with an export
    /// that was stopped, or that --since names.
    #[arg(long, value_name = "DIR|STORE")]
    pub(crate) out: SnapshotLocation,
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
    pub(crate) since: Option<String>,
    /// Memory for rows that are not in files yet: a number of bytes, or a number with K, M, G or T. At least 64M.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = memory)]
    pub(crate) memory: u64,
    /// Files that are written at a time. Default: one for each processor.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=256))]
    pub(crate) threads: Option<u32>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotVerify {
    /// Folder of the export or the checkpoint, or the store that has it.
    #[arg(value_name = "DIR|STORE")]
    pub(crate) from: SnapshotLocation,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
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

/// Names of checkpoints become names of objects.
fn checkpoint_name(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| "not the name of a checkpoint; `cairn snapshot list` prints them".to_owned())
}
