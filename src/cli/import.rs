//! The command line of imports: what they have in common.

use std::{path::PathBuf, time::Duration};

use cairn_events::Slug;
use clap::Args;

use crate::config::{Addresses, IndexDir, StateDb, size};

/// A file or URL, and the limits within which it is read.
#[derive(Args, Debug)]
pub(crate) struct Import {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// The licence of the data: an SPDX identifier in small letters, or a short name. Default: what the file says.
    #[arg(long, value_name = "NAME")]
    pub(crate) licence: Option<Slug>,
    /// Reads the file and says what is in it; writes nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) addresses: Addresses,
    /// Most bytes of a download, and of a ZIP archive: a number of bytes, or a number with K, M, G or T.
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    pub(crate) max_size: u64,
    /// Most bytes that a packed file unpacks to.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    pub(crate) max_unpacked: u64,
    /// Most seconds of a download.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    pub(crate) max_time: Duration,
    /// The file, or its URL (http:// or https://). It may be packed with gzip, or as the only file in a ZIP archive.
    #[arg(value_name = "FILE|URL")]
    pub(crate) file: PathBuf,
}

/// Parses a time of one second to an hour.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..=3_600) => Ok(Duration::from_secs(seconds)),
        _ => Err("expected a number of seconds from 1 to 3600".to_owned()),
    }
}
