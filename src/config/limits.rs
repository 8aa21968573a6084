//! How much memory indexing may take, and how much work it may lose.

use cairn_pipeline::Engine;
use clap::Args;

/// The least that indexing gets by with.
const LEAST: u64 = 256 << 20;
/// The least cache that is one.
const LEAST_CACHE: u64 = 8 << 20;

/// Limits on memory and lost work.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most memory that indexing takes: a number of bytes, or with K, M, G or T of KiB, MiB, GiB or TiB. At least 256M.
    /// What does not fit is sorted on the disk.
    #[arg(long, env = "CAIRN_MEMORY", value_name = "SIZE", default_value = "4G",
        value_parser = |text: &str| bytes(text, LEAST))]
    pub(crate) memory: u64,
    /// Seconds of work that indexing from nothing, or rebuilding, loses at most when it is killed. What is finished by
    /// then is made durable.
    #[arg(long, env = "CAIRN_SAVE_EVERY", value_name = "SECONDS", default_value = "20",
        value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) save_every: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { memory: cairn_pipeline::DEFAULT_MEMORY, save_every: 20 }
    }
}

impl Limits {
    /// For an engine.
    pub(crate) fn apply(self, engine: &mut Engine) {
        engine.set_save_seconds(self.save_every);
    }
}

/// Memory of who only serves.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ReadCache {
    /// Memory for what was read of the index, to answer from it the next time: a number of bytes, or with K, M, G or T.
    /// The tables' own indexes and filters come on top: less than 2 % of the index.
    #[arg(long, env = "CAIRN_CACHE", value_name = "SIZE", default_value = "1G",
        value_parser = |text: &str| bytes(text, LEAST_CACHE))]
    pub(crate) cache: u64,
}

/// Reads a size that is at least so much.
fn bytes(text: &str, least: u64) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("expected a number, and K, M, G or T behind it".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a number, as in 4G".to_owned())?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes <= 1 << 46);
    match bytes.ok_or("more memory than there is")? {
        bytes if bytes < least => Err(format!("at least {}M", least >> 20)),
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
