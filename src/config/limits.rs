//! Limits on memory and on work that a crash may lose.

use cairn_pipeline::{Engine, verify::LEAST_AUDIT_MEMORY};
use clap::Args;

use super::whole;

/// Least memory that indexing can work with.
pub(crate) const LEAST: u64 = 256 << 20;
const LEAST_CACHE: u64 = 8 << 20;

/// Limits on memory and lost work.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Memory limit of indexing: a number of bytes, or a number with K, M, G or T (KiB, MiB, GiB, TiB). At least 256M.
    /// Data that does not fit is sorted on disk.
    #[arg(long, env = "CAIRN_MEMORY", value_name = "SIZE", default_value = "4G",
        value_parser = |text: &str| bytes(text, LEAST))]
    pub(crate) memory: u64,
    /// Interval in seconds at which the first indexing, or a rebuild, makes its work durable. A process that is killed
    /// loses at most this much work.
    #[arg(long, env = "CAIRN_SAVE_EVERY", value_name = "SECONDS", default_value = "20",
        value_parser = whole::<u64>(0..=3600))]
    pub(crate) save_every: u64,
}

/// Limit on memory of an audit.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct AuditLimit {
    /// Memory limit of the audit: a number of bytes, or a number with K, M, G or T. At least 128M; more makes it hardly
    /// faster, but a large index needs more for the lists of its files and blocks.
    #[arg(long, value_name = "SIZE", default_value = "256M",
        value_parser = |text: &str| bytes(text, LEAST_AUDIT_MEMORY))]
    pub(crate) memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { memory: cairn_pipeline::DEFAULT_MEMORY, save_every: 20 }
    }
}

impl Limits {
    pub(crate) fn apply(self, engine: &mut Engine) {
        engine.set_save_seconds(self.save_every);
    }
}

/// Memory of all that indexing takes, and of what requests read through its handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// Memory of indexing.
    pub(crate) limits: Limits,
    /// Memory for reading, besides.
    pub(crate) cache: u64,
    pub(crate) mempool: u64,
}

impl From<Limits> for Memory {
    fn from(limits: Limits) -> Self {
        Memory { limits, cache: 0, mempool: DEFAULT_MEMPOOL }
    }
}

/// Memory of serving.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ReadCache {
    /// Memory for reading the index while serving: a number of bytes, or a number with K, M, G or T. It includes
    /// indexes and filters of the tables, open files, and the list of blocks. At least 8M, and more for a large index.
    #[arg(long, env = "CAIRN_CACHE", value_name = "SIZE", default_value = "1G",
        value_parser = |text: &str| bytes(text, LEAST_CACHE))]
    pub(crate) cache: u64,
}

const DEFAULT_MEMPOOL: u64 = 512 << 20;
const LEAST_MEMPOOL: u64 = 32 << 20;

/// Memory of the mempool.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MempoolMemory {
    /// Memory limit of the mempool: a number of bytes, or a number with K, M, G or T. At least 32M. The default has
    /// room for what a node with its default limit has (maxmempool=300). Beyond it, the transactions with the lowest
    /// feerates are left out, and answers say so. A server beside an indexer has its own copy.
    #[arg(long, env = "CAIRN_MEMPOOL_MEMORY", value_name = "SIZE", default_value = "512M",
        value_parser = |text: &str| bytes(text, LEAST_MEMPOOL))]
    pub(crate) mempool_memory: u64,
}

/// Parses a size of at least one byte.
///
/// # Errors
/// Returns the expected form.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    match bytes(text, 0)? {
        0 => Err("too small; the minimum is 1".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Parses a size and checks the minimum.
pub(super) fn bytes(text: &str, least: u64) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("expected a number of bytes, or a number followed by K, M, G or T".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a number, for example 4G".to_owned())?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes <= 1 << 46);
    match bytes.ok_or("too large; the maximum is 64T")? {
        bytes if bytes < least => Err(format!("too small; the minimum is {}M", least >> 20)),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let good =
            [("256M", 256 << 20), ("4G", 4 << 30), ("4gib", 4 << 30), ("1GB", 1 << 30), ("300000000", 300_000_000)];
        for (text, expected) in good {
            assert_eq!(bytes(text, LEAST), Ok(expected), "{text}");
        }
        for text in ["", "G", "255M", "4 G", "4X", "-1G", "1.5G", "99999999999999999999", "18446744073709551615T"] {
            assert!(bytes(text, LEAST).is_err(), "{text}");
        }
    }
}
